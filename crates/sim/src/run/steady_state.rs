//! What a schedule achieves where its processors compete for memory, or its stages and replicas for links.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Energy, Evaluation, Schedule, StageEvaluation, shared_period};

use crate::error::SimulationError;
use crate::input::conditions::Conditions;
use crate::input::simulated_network::SimulatedNetwork;
use crate::input::wanted_memory::may_compete_for_memory;
use crate::run::entry_points::simulate_streams;

/// Period, latency and energy of a schedule through which frames flow without pause.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyState {
    /// Times of replicas, period and latency.
    pub evaluation: Evaluation,
    /// Energy of a frame; `None` if the power of some processor is not known.
    pub energy: Option<Energy>,
}

impl SteadyState {
    /// Frames after which periods hardly change any more.
    pub const FRAMES: usize = 1600;

    /// Period, latency and energy of a schedule whose processors share a memory that moves so many bytes a second, or
    /// whose stages or replicas wait for the same link ([`Evaluation::shares_board_links`]). They are simulated,
    /// because who competes with whom depends on when. Where nobody competes, since all processors together never want
    /// more than the memory moves and none shares a link, they are what [`Schedule::evaluate`] and [`Schedule::energy`]
    /// say.
    ///
    /// Simulated times of replicas are means; the latency is the longest that stages worked on a frame, and not below
    /// what [`Schedule::evaluate`] says.
    ///
    /// # Errors
    /// As [`simulate_streams`].
    pub fn of(
        schedule: &Schedule,
        graph: &Graph,
        table: &CostTable,
        memory_bytes_per_second: Option<f64>,
    ) -> Result<Self, SimulationError> {
        Self::over(Self::FRAMES, schedule, graph, table, memory_bytes_per_second)
    }

    /// What [`SteadyState::of`] gives, from a number of frames of the caller's choice: fewer show it sooner and less
    /// exactly.
    ///
    /// # Errors
    /// As [`simulate_streams`].
    pub fn over(
        frames: usize,
        schedule: &Schedule,
        graph: &Graph,
        table: &CostTable,
        memory_bytes_per_second: Option<f64>,
    ) -> Result<Self, SimulationError> {
        let alone = schedule.evaluate(graph, table)?;
        let network = SimulatedNetwork::new(schedule, graph, table, frames);
        let conditions = Conditions { memory_bytes_per_second, ..Conditions::default() };
        let alone_waits = alone.shares_board_links();
        let least_period = if alone_waits { alone.least_period() } else { Nanoseconds::ZERO };
        if !may_compete_for_memory(&[network], &conditions) && !alone_waits {
            return Ok(Self { evaluation: alone, energy: schedule.energy(graph, table)? });
        }

        let simulation = simulate_streams(&[network], &conditions)?.pop().unwrap_or_default();

        let of_stage = |(alone, times): (&StageEvaluation, &Vec<Option<Nanoseconds>>)| {
            let pairs = alone.replica_times.iter().zip(times);
            let replica_times: Vec<Nanoseconds> = pairs.map(|(alone, seen)| seen.unwrap_or(*alone)).collect();
            let period = shared_period(&replica_times, &alone.link_uses);
            StageEvaluation { replica_times, link_uses: alone.link_uses.clone(), period }
        };

        let stages = alone.stages.iter().zip(&simulation.replica_times).map(of_stage).collect();
        let period_seconds = simulation.period_seconds();
        let evaluation = Evaluation {
            stages,
            host_links: alone.host_links,
            board_links: alone.board_links,
            // Of few frames, a simulation may show a little less than links carry.
            period: Nanoseconds::from_seconds(period_seconds).max(least_period),
            // No frame of those that were simulated need have met the slowest replica of each stage.
            latency: simulation.worst_time_in_stages().max(alone.latency),
        };
        let energy = simulation.steady_energy(schedule, table);
        Ok(Self { evaluation, energy })
    }
}
