//! A baseline: one node at a time, switching processors where that pays.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::published::lists::heuristic;

/// One node after the other, each on the processor that suits it, switching where that pays for the transfer: a dynamic
/// program over the nodes in order whose state is the processor of the node before.
#[derive(Debug, Clone, Copy, Default)]
pub struct LayerSwitched;

/// The cheapest way to run all nodes up to one that is on a certain processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Prefix {
    cost: Nanoseconds,
    /// The processor of the node before.
    before: ProcessorId,
}

impl Mapper for LayerSwitched {
    fn name(&self) -> &'static str {
        "layer-switched"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let processors = problem.processor_count();
        // Per node and processor.
        let mut best: Vec<Vec<Option<Prefix>>> = Vec::with_capacity(problem.len());
        let mut previous: Option<TaskId> = None;
        for node in problem.nodes() {
            let mut row = vec![None; processors];
            for processor in problem.supporting(node) {
                let time = problem.time(node, processor).unwrap_or_default();
                let switch = |before: ProcessorId| {
                    problem.incoming(node).map(|edge| edge.transfer(before, processor)).max().unwrap_or_default()
                };
                row[processor.index()] = match previous.zip(best.last()) {
                    None => Some(Prefix { cost: problem.release(node, processor) + time, before: processor }),
                    Some((previous, prefixes)) => problem
                        .supporting(previous)
                        .filter_map(|before| {
                            let cost = prefixes[before.index()]?.cost + switch(before) + time;
                            Some(Prefix { cost, before })
                        })
                        .min(),
                };
            }
            best.push(row);
            previous = Some(node);
        }

        let mut order = vec![Vec::new(); processors];
        let last = best.last().into_iter().flat_map(|prefixes| problem.processors().zip(prefixes));
        let end = last.filter_map(|(processor, prefix)| Some((prefix.as_ref()?.cost, processor))).min();
        let mut processor = end.map(|(_, processor)| processor);
        for (node, prefixes) in problem.nodes().zip(&best).rev() {
            let Some(at) = processor else { break };
            order[at.index()].push(node);
            processor = prefixes[at.index()].map(|prefix| prefix.before);
        }
        order.iter_mut().for_each(|nodes| nodes.reverse());
        heuristic(problem, order)
    }
}
