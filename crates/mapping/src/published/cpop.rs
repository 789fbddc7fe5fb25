//! List scheduling with the critical path on one processor: CPOP.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::published::lists::{GapSchedule, Ranks};

/// CPOP: by upward plus downward rank, the critical path on one processor (Topcuoglu et al., TPDS 2002).
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpop;

impl Mapper for Cpop {
    fn name(&self) -> &'static str {
        "CPOP"
    }

    fn map(&self, problem: &MappingProblem, _: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let ranks = Ranks::new(problem);
        let priority: Vec<f64> = ranks.up.iter().zip(&ranks.down).map(|(up, down)| up + down).collect();
        let longest = priority.iter().copied().fold(0.0, f64::max);
        let is_critical = |node: TaskId| priority[node.index()] >= longest * (1.0 - 1e-9);

        // The processor that runs the whole critical path fastest, if one can run all of it.
        let path_time = |processor: ProcessorId| -> Option<Nanoseconds> {
            problem.nodes().filter(|&node| is_critical(node)).map(|node| problem.time(node, processor)).sum()
        };
        let timed = problem.processors().filter_map(|processor| Some((path_time(processor)?, processor)));
        let chosen = timed.min().map(|(_, processor)| processor);

        let mut schedule = GapSchedule::new(problem);
        let mut waiting: Vec<usize> = problem.nodes().map(|node| problem.incoming(node).len()).collect();
        let mut ready: Vec<TaskId> = problem.nodes().filter(|node| waiting[node.index()] == 0).collect();
        while let Some(index) = (0..ready.len()).max_by(|&left, &right| {
            let (left, right) = (ready[left], ready[right]);
            priority[left.index()].total_cmp(&priority[right.index()]).then(right.cmp(&left))
        }) {
            let node = ready.swap_remove(index);
            match chosen.filter(|_| is_critical(node)) {
                Some(processor) => schedule.place_best(node, std::iter::once(processor)),
                None => schedule.place_best(node, problem.supporting(node)),
            }
            for edge in problem.outgoing(node) {
                waiting[edge.to.index()] -= 1;
                if waiting[edge.to.index()] == 0 {
                    ready.push(edge.to);
                }
            }
        }
        schedule.finish()
    }
}
