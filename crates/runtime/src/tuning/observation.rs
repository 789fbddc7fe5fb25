//! What watching a schedule for a while shows.

use std::time::Duration;

use millstream_machine::CoreLoad;
use millstream_schedule::Schedule;

/// What a while of running showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The schedule at work.
    pub schedule: Schedule,
    /// Mean time of a frame in each replica, stage by stage; `None` for one that got no frame.
    pub replica_times: Vec<Vec<Option<Duration>>>,
    /// Time between two frames that the slowest stage allows, if frames are always there.
    pub period: Duration,
    /// Time of a frame through all stages, by their slowest replicas.
    pub latency: Duration,
    /// What the cores were used for; empty if the system does not tell.
    pub cores: Vec<CoreLoad>,
}
