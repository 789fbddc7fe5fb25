//! Evaluation of orders: what happens when processors run the nodes of a problem.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, ProcessorId, TaskId, run_order};

use crate::problem::MappingProblem;

impl MappingProblem {
    /// What happens when processors run the nodes in given orders, by the rules of [`millstream_schedule::execution`].
    /// `None` if a node would wait for one that runs after it, is nowhere, or can't run where it is.
    pub fn execute(&self, order: &[Vec<TaskId>]) -> Option<Execution> {
        let mut home: Vec<Option<ProcessorId>> = vec![None; self.len()];
        for (processor, nodes) in ProcessorId::all(order.len()).zip(order) {
            for &node in nodes {
                self.time(node, processor)?;
                home[node.index()] = Some(processor);
            }
        }
        let home: Vec<ProcessorId> = home.into_iter().collect::<Option<_>>()?;

        let makers = |node: TaskId| self.incoming(node).map(|edge| edge.from);
        let run_order = run_order(self.len(), order, makers).ok()?;
        let mut execution = Execution::new(self);
        for node in run_order {
            execution.run(self, node, &home);
        }
        Some(execution)
    }

    /// The time until everything is done; `None` as for [`MappingProblem::execute`].
    pub fn makespan(&self, order: &[Vec<TaskId>]) -> Option<Nanoseconds> {
        Some(self.execute(order)?.makespan())
    }
}
