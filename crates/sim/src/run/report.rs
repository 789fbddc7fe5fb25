//! What is reported of a simulation that has ended: its last state in the form of an outcome.

use millstream_cost::Nanoseconds;

use crate::outcome::{FrameTimes, Simulation};
use crate::state::board::BoardState;
use crate::state::ids::FrameId;
use crate::state::replica::ReplicaState;
use crate::state::streams::{Flow, FrameState, Streams};

/// What every stream showed, after so many events of all of them.
pub(crate) fn outcomes(mut streams: Streams<'_>, board: &BoardState, events: u64) -> Vec<Simulation> {
    let flows = std::mem::take(&mut streams.flows);
    flows.into_iter().map(|flow| outcome(flow, &streams, board, events)).collect()
}

fn outcome(flow: Flow<'_>, streams: &Streams<'_>, board: &BoardState, events: u64) -> Simulation {
    // Extra frames count only if they ended before the last stream was through.
    let counts = |frame: FrameId, end: Nanoseconds| !flow.is_extra(frame) || streams.is_within(end);
    let times = |(frame, &FrameState { start, end, in_stages }): (FrameId, &FrameState)| {
        let end = end.filter(|&end| counts(frame, end))?;
        Some(FrameTimes { start, end, in_stages })
    };

    let stages = &flow.first_stages;
    let replica_times = stages.iter().map(|&replicas| {
        let replicas = &board.replicas[replicas];
        replicas.iter().map(ReplicaState::mean_time).collect()
    });
    Simulation {
        frames: flow.frames.enumerate().filter_map(times).collect(),
        ended: flow.frames.iter().filter(|frame| frame.end.is_some()).count(),
        unfinished: flow.left,
        fell_back: flow.fell_back,
        replica_times: replica_times.collect(),
        busy: board.of_processors(stages, |processor| processor.busy),
        active_joules: board.of_processors(stages, |processor| processor.joules),
        spans: flow.spans,
        events,
        speeds: board.speed_changes.clone(),
    }
}
