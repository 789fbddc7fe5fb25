//! Small task graphs on a few processors. The best makespan is the same by exact search and by trying everything; the
//! schedule that reaches it takes as long by evaluation and by simulation; and the engine's results are those of
//! running one operator after the other.

mod best;
mod case;
mod engine;

use arbitrary::Unstructured;
use case::Case;
use millstream_mapping::{BoundedMapper, Mapper, MapperLimits, Mapping, MappingProblem, Outcome, TaskId};
use millstream_partition::{Subgraph, joined};
use millstream_schedule::Schedule;
use millstream_sim::{SimulationSettings, simulate};

/// More than small problems need.
const STEPS: u64 = 2_000_000;

pub(crate) fn run(data: &[u8]) {
    let Ok(case) = Case::of(&mut Unstructured::new(data)) else { return };
    let whole = joined(&case.graph);
    let processors: Vec<_> = case.table.class_ids().collect();
    let Ok(problem) = MappingProblem::of_subgraph(&case.graph, &whole, &case.table, &processors) else { return };
    let limits = MapperLimits { steps: STEPS, ..MapperLimits::default() };
    let mapping = match BoundedMapper.map(&problem, &limits) {
        Ok(mapping) => mapping,
        Err(error) => unreachable!("every operator has a processor: {error}"),
    };
    check_mapping(&problem, &mapping);
    let schedules = [case.team(&of_subgraph(&mapping, &whole)), case.pipeline(&mapping, &whole)];
    for (schedule, makespan) in schedules.iter().zip([Some(mapping.makespan), None]) {
        check_schedule(&case, schedule, makespan);
        engine::check(&case, schedule);
    }
}

fn check_mapping(problem: &MappingProblem, mapping: &Mapping) {
    let best = best::makespan(problem);
    assert!(mapping.lower_bound.0 <= best && best <= mapping.makespan.0, "{mapping:?}, but the best is {best}");
    if mapping.outcome == Outcome::Optimal {
        assert_eq!(mapping.makespan.0, best, "{mapping:?}");
    }
    assert_eq!(problem.makespan(&mapping.order), Some(mapping.makespan));
}

/// The operators of each processor, in the order of the mapping.
fn of_subgraph(mapping: &Mapping, whole: &Subgraph) -> Vec<Vec<millstream_graph::OperatorId>> {
    let operators = |nodes: &Vec<TaskId>| nodes.iter().flat_map(|node| whole.nodes[node.index()].clone()).collect();
    mapping.order.iter().map(operators).collect()
}

fn check_schedule(case: &Case, schedule: &Schedule, makespan: Option<millstream_cost::Nanoseconds>) {
    let evaluation = match schedule.evaluate(&case.graph, &case.table) {
        Ok(evaluation) => evaluation,
        Err(error) => unreachable!("{schedule}: {error}"),
    };
    assert!(makespan.is_none_or(|makespan| makespan == evaluation.latency), "{makespan:?} {evaluation:?}");
    let frames = |frames| {
        let frames_in_flight = Some(schedule.frames_in_flight() + case.more_in_flight);
        let settings = SimulationSettings { frames, frames_in_flight, ..SimulationSettings::default() };
        simulate(schedule, &case.graph, &case.table, &settings)
    };
    match (frames(1), frames(31)) {
        (Ok(one), Ok(many)) => {
            assert_eq!(one.worst_latency(), evaluation.latency, "one frame alone, {schedule}");
            let difference = (many.period_seconds() - evaluation.period.seconds()).abs();
            assert!(
                difference <= 1e-12 * evaluation.period.seconds() + 1e-15,
                "{} {evaluation:?}",
                many.period_seconds()
            );
        }
        (one, many) => unreachable!("{schedule}: {:?} {:?}", one.err(), many.err()),
    }
}
