//! The entry points: one schedule, or several streams on one board.

use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_schedule::{Schedule, ScheduleError};

use crate::error::SimulationError;
use crate::input::checks::check;
use crate::input::conditions::Conditions;
use crate::input::settings::SimulationSettings;
use crate::input::simulated_network::SimulatedNetwork;
use crate::outcome::Simulation;
use crate::run::event_loop::EventLoop;

/// Simulates frames through a schedule: every replica of a stage works on one frame at a time, takes over its inputs,
/// and runs its operators self-timed on its processors, with transfers beside computation. Frames are always there for
/// the first stage, which begins another one when fewer are in flight than may be.
///
/// # Errors
/// What [`Schedule::evaluate`] returns.
pub fn simulate(
    schedule: &Schedule,
    graph: &Graph,
    table: &CostTable,
    settings: &SimulationSettings,
) -> Result<Simulation, ScheduleError> {
    let stream = SimulatedNetwork {
        frames_in_flight: settings.frames_in_flight,
        ..SimulatedNetwork::new(schedule, graph, table, settings.frames)
    };
    let SimulationSettings { noise, seed, keeps_spans, .. } = *settings;
    let conditions = Conditions { noise, seed, keeps_spans, ..Conditions::default() };
    let streams = [stream];
    let mut event_loop = EventLoop::new(&streams, &conditions)?;
    event_loop.run(&|| false);
    Ok(event_loop.outcomes().pop().unwrap_or_default())
}

/// Simulates streams of frames that share a board, each through a schedule of its own, under conditions that may
/// change. Processors that several streams name take turns, operator by operator. Times of operators follow memory
/// bandwidth and clocks; those of transfers and of taking frames over do not.
///
/// The result has one simulation per stream, in their order.
///
/// # Errors
/// [`SimulationError::Schedule`] for what can't be evaluated, [`SimulationError::UnknownPower`] if a temperature can't
/// be simulated, [`SimulationError::Condition`] for conditions without a meaning.
pub fn simulate_streams(
    streams: &[SimulatedNetwork<'_>],
    conditions: &Conditions,
) -> Result<Vec<Simulation>, SimulationError> {
    simulate_streams_until(streams, conditions, &|| false)
}

/// Simulates streams as [`simulate_streams`] does, and ends early once `is_cancelled` is true, which is asked often.
///
/// # Errors
/// As [`simulate_streams`], and [`SimulationError::Cancelled`] if it was ended.
pub fn simulate_streams_until(
    streams: &[SimulatedNetwork<'_>],
    conditions: &Conditions,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Simulation>, SimulationError> {
    check(streams, conditions)?;
    let mut event_loop = EventLoop::new(streams, conditions)?.with_temperatures()?;
    if event_loop.run(is_cancelled) { Ok(event_loop.outcomes()) } else { Err(SimulationError::Cancelled) }
}
