//! Pipe-it and Para-Pipe's strategies.

use millstream_board::{Board, BoardDocument};
use millstream_cost::{CostTable, PartCost};
use millstream_pipeline::{
    ParaPipe, ParaPipeStrategy, PipeIt, PipelineError, Problem, ProblemInputs, Search, para_pipe_points,
};

use super::found_plan::SearchWork;
use super::instance::{Found, Instance};
use super::processors::names;
use crate::error::Error;
use crate::published_algorithm::PublishedAlgorithm;

/// Ways to deal more processors out to stages are too many.
const MOST_PROCESSORS: usize = 5;

/// A pipeline on the cores of the board's clusters.
pub(super) fn pipe_it(instance: &Instance<'_>) -> Result<Found, Error> {
    let refused = |error: PipelineError| {
        let reason = format!("uses the cores of clusters alone, one stage after the other: {error}");
        Error::Algorithm { algorithm: PublishedAlgorithm::PipeIt, reason }
    };
    let network = instance.network;
    let cores = without_accelerators(instance.board)?;
    let problem = Problem::new(network.graph(), network.chain(), &cores, &instance.searched).map_err(refused)?;
    let plan = PipeIt.search(&problem).map_err(refused)?;
    let work = SearchWork { count: PipeIt::steps(&problem).len() as u64, unit: "states" };
    Ok(Found { schedule: problem.schedule(&plan), work })
}

fn without_accelerators(board: &Board) -> Result<Board, Error> {
    let document = board.to_document();
    let is_core = |label: &str| board.cluster(label).is_ok();
    let links = document.links.iter().filter(|link| is_core(&link.from) && is_core(&link.to)).cloned().collect();
    Ok(Board::try_from(BoardDocument { accelerators: Vec::new(), links, ..document })?)
}

/// One of Para-Pipe's pipelines on whole processors.
pub(super) fn para_pipe(instance: &Instance<'_>, strategy: ParaPipeStrategy) -> Result<Found, Error> {
    let algorithm = PublishedAlgorithm::ParaPipe(strategy);
    let refused = |reason: String| Err(Error::Algorithm { algorithm, reason });
    let (count, known) = (instance.processors.len(), names(&instance.processors));
    let is_hybrid = matches!(
        strategy,
        ParaPipeStrategy::HybridLatency | ParaPipeStrategy::HybridThroughput | ParaPipeStrategy::Balanced
    );
    if is_hybrid && count < 3 {
        return refused(format!(
            "has several stages, one of them of several processors, so it needs three processors or more, and there are only {known}; name \
             others, each some cores of a cluster, such as B2-B2-s4"
        ));
    }
    if count > MOST_PROCESSORS {
        return refused(format!(
            "deals processors out to stages in every way, which are too many with {count} ({known}); name {MOST_PROCESSORS} or fewer"
        ));
    }

    let problem = match instance.para_pipe.get() {
        Some(known) => known,
        None => {
            let made = problem_of(instance)?;
            instance.para_pipe.get_or_init(|| made)
        }
    };

    let plan = match (ParaPipe { processors: instance.classes(), strategy }).search(problem) {
        Err(PipelineError::Infeasible) => {
            return refused(format!(
                "finds no pipeline on {known}: each stage must run all its operators; name other processors"
            ));
        }
        other => other?,
    };

    let points = para_pipe_points(problem.blocks() as u64, count as u32);
    let work = SearchWork { count: u64::try_from(points).unwrap_or(u64::MAX), unit: "pipelines" };
    Ok(Found { schedule: problem.schedule(&plan), work })
}

/// The network on the processors and all sets of them.
fn problem_of(instance: &Instance<'_>) -> Result<Problem, PipelineError> {
    let table = keeping_whole(&instance.searched);
    let network = instance.network;
    let inputs = ProblemInputs { graph: network.graph(), chain: network.chain(), board: instance.board, table: &table };
    Problem::with_teams_and_effort(inputs, &ParaPipe::teams(&instance.classes()), instance.effort)
}

/// The costs with parts of operators that save nothing: Para-Pipe does not divide operators, which teams do otherwise.
fn keeping_whole(table: &CostTable) -> CostTable {
    let mut whole = table.clone().without_tiles();
    let part = PartCost { fixed_fraction: 1.0, ..PartCost::default() };
    for processor in table.class_ids() {
        for operator in table.operator_ids() {
            whole.set_part(processor, operator, part);
        }
    }
    whole
}
