//! Para-Pipe's integer programs, subgraph by subgraph.

use std::time::Duration;

use millstream_mapping::{CoarseIlp, FineIlp, Mapper, MapperLimits, Mapping, MappingError, MappingProblem, compose};
use millstream_partition::{Subgraph, reachability, subgraphs};

use super::found_plan::SearchWork;
use super::instance::{Found, Instance};
use super::mapped::{refused, stage};
use crate::control::Control;
use crate::error::Error;
use crate::published_algorithm::PublishedAlgorithm;

/// Time that the solver may take for the fine programs of a network together, about, and for each of them at least.
const PROGRAM_TIME: Duration = Duration::from_secs(30);
const LEAST_TIME: Duration = Duration::from_millis(500);
/// Larger fine programs are not begun: pairs of operators that may run at once, each of which is a variable.
const MOST_PAIRS: usize = 2000;

/// The network as one stage on all processors.
pub(super) fn map(instance: &Instance<'_>, algorithm: PublishedAlgorithm) -> Result<Found, Error> {
    let graph = instance.network.graph();
    let parts = subgraphs(graph);
    let places = instance.places()?;
    let is_fine = algorithm == PublishedAlgorithm::FineIlp;
    if is_fine {
        check_size(algorithm, &parts, instance)?;
    }
    // A program for each pair of processors on which a subgraph may begin and end.
    let programs = parts.len().saturating_mul(places.len() * places.len()).max(1);
    let program_time = (PROGRAM_TIME / u32::try_from(programs).unwrap_or(u32::MAX)).max(LEAST_TIME);
    let limits = MapperLimits { program_time, ..MapperLimits::default() };
    let fine = FineAlone { control: instance.control };
    let mapper: &(dyn Mapper + Sync) = if is_fine { &fine } else { &CoarseIlp };
    let composed = compose(graph, &parts, &instance.searched, &places, mapper, &limits, 1);
    if instance.control.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let mapped = composed.map_err(|error| refused(instance, algorithm, &error))?;
    let orders: Vec<_> =
        parts.iter().zip(&mapped.subgraphs).map(|(part, subgraph)| (part, &subgraph.mapping.order)).collect();
    let work = SearchWork { count: mapped.problem_count as u64, unit: "programs" };
    Ok(Found { schedule: stage(instance, &orders), work })
}

fn check_size(algorithm: PublishedAlgorithm, parts: &[Subgraph], instance: &Instance<'_>) -> Result<(), Error> {
    let pairs = |part: &Subgraph| {
        let count = part.nodes.len();
        let reaches = reachability(count, part.edges.iter().copied());
        let ordered = reaches.iter().flatten().filter(|&&is_after| is_after).count();
        count * count.saturating_sub(1) / 2 - ordered
    };
    let Some(largest) = parts.iter().max_by_key(|part| pairs(part)) else { return Ok(()) };
    if pairs(largest) <= MOST_PAIRS {
        return Ok(());
    }
    let first = largest.operators().next().map_or("", |id| instance.network.graph().operator(id).name.as_str());
    let reason = format!(
        "is too large a program for the subgraph that begins with '{first}': {} pairs of its {} operators may run at once, and the solver \
         gets along with {MOST_PAIRS} at the most; take `coarse-ilp` or `millstream`",
        pairs(largest),
        largest.nodes.len()
    );
    Err(Error::Algorithm { algorithm, reason })
}

/// The fine program, without anything that stands in for a solution that is not found in time.
struct FineAlone<'a> {
    control: &'a Control,
}

impl Mapper for FineAlone<'_> {
    fn name(&self) -> &'static str {
        FineIlp.name()
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let failed = |detail: String| Err(MappingError::Solver { detail });
        if self.control.is_cancelled() {
            return failed("it was interrupted".to_owned());
        }
        let first = problem.nodes().next().map_or("", |node| problem.name(node));
        match FineIlp.solution(problem, limits)? {
            Some(mapping) => Ok(mapping),
            None => failed(format!(
                "within {:.1} s there was no solution of the program that begins with '{first}'; take `coarse-ilp` or `millstream`",
                limits.program_time.as_secs_f64()
            )),
        }
    }
}
