//! Each operator where it is fastest, whatever its transfers (MET; Braun et al., JPDC 2001).

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::published::lists::heuristic;

/// Each operator where it is fastest.
#[derive(Debug, Clone, Copy, Default)]
pub struct FastestFirst;

impl Mapper for FastestFirst {
    fn name(&self) -> &'static str {
        "MET"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let mut order = vec![Vec::new(); problem.processor_count()];
        // Nodes are numbered in an order in which they can run.
        for node in problem.nodes() {
            let fastest = problem.supporting(node).min_by_key(|&processor| problem.time(node, processor));
            order[fastest.ok_or(MappingError::NoMapping)?.index()].push(node);
        }
        heuristic(problem, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::published_example;

    /// Whatever waiting for values then takes.
    #[test]
    fn every_node_is_where_it_is_fastest() -> Result<(), MappingError> {
        let problem = published_example();
        let mapping = FastestFirst.map(&problem, &MapperLimits::default())?;
        for node in problem.nodes() {
            let least = problem.supporting(node).map(|processor| problem.time(node, processor)).min();
            assert_eq!(Some(problem.time(node, mapping.placement[node.index()])), least);
        }
        Ok(())
    }
}
