//! A board that need not be here, as something that measures schedules.

use std::collections::BTreeSet;

use millstream_board::{CoreId, Processor};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_machine::CoreLoad;
use millstream_schedule::{Schedule, StageId};
use millstream_sim::{SimulationSettings, simulate};
use millstream_tune::{Oracle, Trial, TuneError, with_slowdowns};

use crate::contest::SlowCore;
use crate::tuning::recorded::failed;

/// Frames of a trial.
const FRAMES: usize = 40;

/// Simulates schedules on costs, on cores of which some are slower.
pub(crate) struct SimulatedOracle<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) table: &'a CostTable,
    pub(crate) slow_cores: &'a [SlowCore],
    /// Relative standard deviation of operators' times.
    pub(crate) noise: f64,
    /// Of the noise; each trial has its own.
    pub(crate) seed: u64,
}

impl SimulatedOracle<'_> {
    fn slowdown(&self, core: CoreId) -> f64 {
        self.slow_cores.iter().find(|slow| slow.core == core).map_or(1.0, |slow| slow.factor)
    }
}

impl Oracle<Schedule> for SimulatedOracle<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        // A processor waits for its slowest core.
        let slowest =
            |processor: &Processor| processor.cores.iter().map(|&core| self.slowdown(core)).fold(1.0, f64::max);
        let (slowed, costs) = with_slowdowns(schedule, self.table, slowest);
        self.seed = self.seed.wrapping_add(1);
        let settings = SimulationSettings {
            frames: FRAMES,
            noise: self.noise,
            seed: self.seed,
            keeps_spans: true,
            ..SimulationSettings::default()
        };
        let simulation = simulate(&slowed, self.graph, &costs, &settings).map_err(|error| failed(schedule, error))?;

        let frames = |stage: StageId, replica: usize| {
            let spans = simulation.spans.iter().filter(|span| (span.stage, span.replica) == (stage, replica));
            spans.map(|span| span.frame).collect::<BTreeSet<_>>().len().max(1) as u64
        };
        let mut stage_times = Vec::new();
        for (stage, replicas) in StageId::all(simulation.busy.len()).zip(&simulation.busy) {
            for (replica, processors) in replicas.iter().enumerate() {
                let busy = processors.iter().copied().max().unwrap_or_default();
                stage_times.push(Nanoseconds(busy.0 / frames(stage, replica)));
            }
        }

        let used: Vec<CoreId> = schedule.processors().flat_map(|processor| processor.cores.iter().copied()).collect();
        // What a neighbour leaves: its share where we compete, a newcomer's elsewhere.
        let available = self.slow_cores.iter().map(|slow| {
            let left = if used.contains(&slow.core) { 1.0 / slow.factor } else { CoreLoad::SHARE_OF_A_NEWCOMER };
            (slow.core, left)
        });
        let spent = simulation.frames.iter().map(|frame| frame.end).max().unwrap_or_default();
        let period = Nanoseconds::from_seconds(simulation.period_seconds());
        Ok(Trial { stage_times, period, available: available.collect(), spent, ..Trial::default() })
    }
}
