//! A baseline: all nodes on the one processor that is fastest for all of them.

use std::cmp::Reverse;

use millstream_schedule::execution::ProcessorId;

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::published::lists::heuristic;

/// Everything on the one processor that is fastest for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SingleProcessor;

impl Mapper for SingleProcessor {
    fn name(&self) -> &'static str {
        "single processor"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let alone = |processor: ProcessorId| {
            let mut order = vec![Vec::new(); problem.processor_count()];
            order[processor.index()] = problem.nodes().collect();
            problem.makespan(&order).map(|makespan| (makespan, Reverse(processor), order))
        };
        let best =
            problem.processors().filter_map(alone).min_by_key(|(makespan, processor, _)| (*makespan, *processor));
        match best {
            Some((_, _, order)) => heuristic(problem, order),
            None if problem.is_empty() => heuristic(problem, vec![Vec::new(); problem.processor_count()]),
            None => {
                let misfit = problem.nodes().find(|&node| problem.supporting(node).count() < problem.processor_count());
                Err(MappingError::Unsupported {
                    operator: misfit.map_or(String::new(), |node| problem.name(node).to_owned()),
                })
            }
        }
    }
}
