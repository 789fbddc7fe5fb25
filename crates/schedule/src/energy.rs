//! Energy of a frame under the execution rules.

use millstream_cost::CostTable;
use millstream_graph::Graph;

use crate::error::ScheduleError;
use crate::schedule::Schedule;

/// Energy of frames that flow without pause.
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
    /// Energy under the rules of execution: every processor draws its idle power all the time and the difference to its
    /// active power while it works (Para-Pipe, section V-A: static power, and dynamic power in proportion to
    /// utilisation). `None` if the table does not know the power of some processor.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn energy(&self, graph: &Graph, table: &CostTable) -> Result<Option<Energy>, ScheduleError> {
        let evaluation = self.evaluate(graph, table)?;
        let period = evaluation.period.seconds();
        let crossing = self.host_costs(graph, table, &self.crossings(graph, table)?)?;

        let mut joules = 0.0;
        for ((id, stage), evaluated) in self.numbered_stages().zip(&evaluation.stages) {
            let entry = self.entry(id);
            for (replica, share) in stage.replicas.iter().zip(evaluated.shares()) {
                for (assignment, busy) in replica.assignments.iter().zip(replica.busy(&entry, graph, table)?) {
                    let power = table.find(&assignment.processor.class()).and_then(|processor| table.power(processor));
                    let Some(power) = power else { return Ok(None) };
                    let dynamic = power.active_watts - power.idle_watts;
                    joules += power.idle_watts * period + dynamic * share * (busy + crossing[id.index()]).seconds();
                }
            }
        }
        Ok(Some(Energy { joules_per_frame: joules, watts: joules / period.max(1e-12) }))
    }
}
