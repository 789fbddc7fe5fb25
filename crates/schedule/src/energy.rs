use std::collections::HashSet;

use millstream_cost::{BlockedEnd, CostTable, Nanoseconds};
use millstream_graph::Graph;

use crate::{Replica, Schedule, ScheduleError, task_time};

/// What frames cost in energy while they flow without pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// Energy of a frame.
    pub joules_per_frame: f64,
    /// Mean power of the schedule's processors; processors that it leaves out count as switched off.
    pub watts: f64,
}

impl Energy {
    /// Frames per joule.
    pub fn frames_per_joule(&self) -> f64 {
        1.0 / self.joules_per_frame
    }
}

impl Schedule {
    /// Energy under the execution semantics: every processor draws its idle power all the time and the difference to its active power
    /// while it works (Para-Pipe, section V-A: static power, and dynamic power in proportion to utilisation). `None` if the table does
    /// not know the power of some processor.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn energy(&self, graph: &Graph, table: &CostTable) -> Result<Option<Energy>, ScheduleError> {
        let evaluation = self.evaluate(graph, table)?;
        let period = evaluation.period.seconds();
        let mut joules = 0.0;
        for (index, (stage, evaluated)) in self.stages.iter().zip(&evaluation.stages).enumerate() {
            let rate = |time: &Nanoseconds| 1.0 / time.seconds().max(1e-9);
            let rates: f64 = evaluated.replica_times.iter().map(rate).sum();
            for (replica, time) in stage.replicas.iter().zip(&evaluated.replica_times) {
                // Replicas take frames in proportion to their speed.
                let share = rate(time) / rates;
                for (assignment, busy) in replica.assignments.iter().zip(replica.busy(index, graph, table)?) {
                    let power = table.find(&assignment.processor.class()).and_then(|processor| table.power(processor));
                    let Some(power) = power else { return Ok(None) };
                    let dynamic = power.active_watts - power.idle_watts;
                    joules += power.idle_watts * period + dynamic * share * busy.seconds();
                }
            }
        }
        Ok(Some(Energy { joules_per_frame: joules, watts: joules / period.max(1e-12) }))
    }
}

impl Replica {
    /// How long each processor works for a frame that the replica takes: taking it over, its operators, and transfers that
    /// occupy it.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`]; `stage` counts from 0.
    pub fn busy(&self, stage: usize, graph: &Graph, table: &CostTable) -> Result<Vec<Nanoseconds>, ScheduleError> {
        let classes: Vec<_> =
            self.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
        let mut busy = vec![self.hand_over(stage, graph, table); self.assignments.len()];
        let tasks = self.tasks(graph);
        let mut transferred = HashSet::new();
        for task in &tasks {
            let time = classes[task.processor].and_then(|processor| task_time(task, processor, table));
            busy[task.processor] += time.ok_or_else(|| ScheduleError::Unsupported {
                operator: graph.operator(task.operator).name.clone(),
                class: self.assignments[task.processor].processor.class(),
            })?;
            for input in &task.inputs {
                let from = tasks[input.maker].processor;
                let is_new = from != task.processor && transferred.insert((input.value, input.maker, task.processor));
                if let (true, Some(sender), Some(receiver)) = (is_new, classes[from], classes[task.processor]) {
                    let time = table.transfer(sender, receiver, input.bytes);
                    match table.blocks(sender, receiver) {
                        Some(BlockedEnd::Sender) => busy[from] += time,
                        Some(BlockedEnd::Receiver) => busy[task.processor] += time,
                        None => {}
                    }
                }
            }
        }
        Ok(busy)
    }
}
