//! List scheduling by upward rank: HEFT.

use millstream_schedule::execution::TaskId;

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::published::lists::{GapSchedule, Ranks};

/// HEFT: by upward rank, with insertion into gaps (Topcuoglu et al., TPDS 2002).
#[derive(Debug, Clone, Copy, Default)]
pub struct Heft;

impl Mapper for Heft {
    fn name(&self) -> &'static str {
        "HEFT"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let ranks = Ranks::new(problem);
        let mut nodes: Vec<TaskId> = problem.nodes().collect();
        let up = |node: &TaskId| ranks.up[node.index()];
        nodes.sort_by(|left, right| up(right).total_cmp(&up(left)).then(left.cmp(right)));
        let mut schedule = GapSchedule::new(problem);
        for node in nodes {
            schedule.place_best(node, problem.supporting(node));
        }
        schedule.finish()
    }
}
