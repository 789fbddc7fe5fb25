use crate::lists::heuristic;
use crate::mapping::{Mapper, MapperLimits, Mapping};
use crate::{MappingError, MappingProblem, ProcessorId, TaskId};

/// One node after the other, each on the processor that suits it, switching where that pays for the transfer: a dynamic
/// program over the nodes in order whose state is the processor of the node before.
#[derive(Debug, Clone, Copy, Default)]
pub struct LayerSwitched;

impl Mapper for LayerSwitched {
    fn name(&self) -> &'static str {
        "layer-switched"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let processors = problem.processor_count();
        // Per node and processor, the cost up to there and the processor of the node before.
        let mut best: Vec<Vec<Option<(u64, ProcessorId)>>> = Vec::with_capacity(problem.len());
        let mut previous: Option<TaskId> = None;
        for node in problem.nodes() {
            let mut row = vec![None; processors];
            for processor in problem.supporting(node) {
                let time = problem.time(node, processor).unwrap_or(0);
                let switch = |before: ProcessorId| {
                    problem.incoming(node).map(|edge| edge.transfer(before, processor)).max().unwrap_or(0)
                };
                row[processor.index()] = match previous.zip(best.last()) {
                    None => Some((problem.release(node, processor) + time, processor)),
                    Some((previous, costs)) => problem
                        .supporting(previous)
                        .filter_map(|before| Some((costs[before.index()]?.0 + switch(before) + time, before)))
                        .min(),
                };
            }
            best.push(row);
            previous = Some(node);
        }

        let mut order = vec![Vec::new(); processors];
        let last = best.last().into_iter().flat_map(|costs| problem.processors().zip(costs));
        let end = last.filter_map(|(processor, cost)| Some((cost.as_ref()?.0, processor))).min();

        let mut processor = end.map(|(_, processor)| processor);
        for (node, costs) in problem.nodes().zip(&best).rev() {
            let Some(own) = processor else { break };
            order[own.index()].push(node);
            processor = costs[own.index()].map(|(_, before)| before);
        }
        order.iter_mut().for_each(|nodes| nodes.reverse());
        heuristic(problem, order)
    }
}
