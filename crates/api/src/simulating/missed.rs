//! Constraints that a simulation missed.

use millstream_cost::CostTable;
use millstream_schedule::{Achieved, Constrained, MissedConstraint};
use millstream_sim::Simulation;

use crate::schedules::Scheduled;
use crate::simulating::options::SimulateOptions;

impl Scheduled {
    /// Constraints that the schedule was planned for and that a simulation of it, by these costs, missed.
    pub fn missed(
        &self,
        simulation: &Simulation,
        table: &CostTable,
        options: &SimulateOptions<'_>,
    ) -> Vec<MissedConstraint> {
        let period = simulation.period_seconds();
        let joules = simulation.joules_per_frame(&self.schedule, table);
        let mut missed = self.document.constraints.missed(&Achieved {
            latency_seconds: simulation.worst_time_in_stages().seconds(),
            // A camera's rate says nothing of what the pipeline could do.
            period_seconds: Some(period).filter(|_| options.frame_rate_hertz.is_none() && simulation.frames.len() > 1),
            watts: joules.map(|joules| joules / period.max(1e-12)),
        });
        let longest = if self.takes_turns { simulation.worst_latency() } else { simulation.worst_time_in_stages() };
        let deadline = || MissedConstraint::over(Constrained::Deadline, self.deadline_seconds?, longest.seconds());
        missed.extend(deadline());
        missed
    }
}
