//! How a schedule is put on the board: at the start, and when a fallback takes over.

use millstream_cost::Nanoseconds;
use millstream_schedule::{Crossing, Schedule, ScheduleError};

use crate::replica_plan::{SchedulePlan, plan};
use crate::state::board::BoardState;
use crate::state::crossing::CrossingState;
use crate::state::ids::StreamId;
use crate::state::streams::Streams;

/// Adds a schedule's replicas to the board, and sends a stream's frames through them from now on.
pub(crate) fn install(
    stream: StreamId,
    schedule: &Schedule,
    board: &mut BoardState,
    streams: &mut Streams<'_>,
) -> Result<(), ScheduleError> {
    let network = streams.flows[stream].network;
    let SchedulePlan { stages, crossings } = plan(schedule, network.graph, network.table)?;
    let evaluation = schedule.evaluate(network.graph, network.table)?;
    let period = evaluation.period;
    let crossing_state = |crossing: Option<Crossing>| crossing.map(|crossing| CrossingState::new(crossing, period));

    let stages = board.add(stream, stages, network.table);
    let crossings = crossings.into_iter().map(crossing_state).collect();
    streams.flows[stream].set_stages(stages, crossings, schedule.frames_in_flight());
    let first_stage_period = evaluation.stages.first().map_or(Nanoseconds::ZERO, |stage| stage.period);
    streams.flows[stream].first_stage_period = first_stage_period;
    board.find_rivals(|replica_index| streams.uses(replica_index));
    Ok(())
}
