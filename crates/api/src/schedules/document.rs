//! The files of schedules.

use millstream_board::Board;
use millstream_cost::Clocks;
use millstream_pipeline::Objective;
use millstream_schedule::{
    BoardReference, Prediction, SCHEDULE_FORMAT, SCHEDULE_VERSION, Schedule, ScheduleDocument, StatedConstraints,
};

use crate::network::Network;
use crate::provenance;

/// The file of a schedule that `algorithm` found.
pub fn document(
    schedule: &Schedule,
    predicted: Prediction,
    algorithm: &str,
    objective: Objective,
    network: &Network,
    board: &Board,
) -> ScheduleDocument {
    ScheduleDocument {
        format: SCHEDULE_FORMAT.to_owned(),
        version: SCHEDULE_VERSION,
        provenance: provenance(),
        model: network.reference(),
        board: BoardReference::of(board),
        algorithm: algorithm.to_owned(),
        objective,
        configuration: schedule.to_string(),
        constraints: StatedConstraints::default(),
        predicted,
        clocks: Clocks::new(),
        stages: schedule.to_stages(network.graph()),
    }
}
