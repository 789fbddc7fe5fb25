//! A network whose frames flow through a schedule, as it is given to the simulation.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::Schedule;

/// A network whose frames flow through a schedule.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedNetwork<'a> {
    /// The schedule that they flow through.
    pub schedule: &'a Schedule,
    /// The network.
    pub graph: &'a Graph,
    /// Times and transfers of its operators when nothing disturbs them.
    pub table: &'a CostTable,
    /// How many frames pass through.
    pub frames: usize,
    /// How many frames may be between the start of the first stage and the end of the last one, as in
    /// [`SimulationSettings::frames_in_flight`](crate::SimulationSettings::frames_in_flight).
    pub frames_in_flight: Option<usize>,
    /// Time between the arrivals of frames, as from a camera; `None` if there is always another frame.
    pub interval: Option<Nanoseconds>,
    /// Frames in a round: as many of this stream pass for each frame of a stream of weight 1. Above 0.
    pub weight: f64,
    /// Whether it lets the other streams that take turns keep up: it is never more than a round ahead of them.
    pub takes_turns: bool,
    /// What the frames that are left flow through once a stage has lost all its replicas.
    pub fallback: Option<&'a Schedule>,
}

impl<'a> SimulatedNetwork<'a> {
    /// Frames without pause, as many in flight as the engine has, and nothing to fall back on.
    pub fn new(schedule: &'a Schedule, graph: &'a Graph, table: &'a CostTable, frames: usize) -> Self {
        Self {
            schedule,
            graph,
            table,
            frames,
            frames_in_flight: None,
            interval: None,
            weight: 1.0,
            takes_turns: false,
            fallback: None,
        }
    }
}
