//! A processor of a replica while frames flow, and the task that it runs.

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::execution::{Fetch, ProcessorId, TaskId};

use crate::input::conditions::Unit;
use crate::state::ids::{BoardProcessorIndex, ClusterIndex, ReplicaIndex};

/// One processor of one replica.
pub(crate) struct ProcessorState {
    pub(crate) replica_index: ReplicaIndex,
    /// Its number in the replica's plan.
    pub(crate) number: ProcessorId,
    pub(crate) cluster: ClusterIndex,
    pub(crate) units: Vec<Unit>,
    /// Processors of other replicas that need some of the same cores.
    pub(crate) rivals: Vec<BoardProcessorIndex>,
    /// Since when it waits for its cores, with something to do.
    pub(crate) waits_since: Option<Nanoseconds>,
    pub(crate) is_busy: bool,
    pub(crate) idle_watts: Option<f64>,
    /// What it draws while it works, beyond its idle power; 0 if its power is not known.
    pub(crate) dynamic_watts: f64,
    /// How long it has worked.
    pub(crate) busy: Nanoseconds,
    /// Energy beyond idle power of what it has done.
    pub(crate) joules: f64,
    /// The task that it runs or ran last; `None` before the first.
    pub(crate) task: Option<StartedTask>,
    /// The value that it fetches.
    pub(crate) fetch: Option<Fetch>,
    /// How far its task is, if speeds can change.
    pub(crate) progress: Option<Progress>,
    /// How often the end of its task was scheduled anew: ends that were scheduled before are void.
    pub(crate) version: u32,
}

impl ProcessorState {
    /// An idle processor.
    pub(crate) fn new(
        replica_index: ReplicaIndex,
        number: ProcessorId,
        processor: &Processor,
        cluster: ClusterIndex,
        table: &CostTable,
    ) -> Self {
        let power = table.find(&processor.class()).and_then(|class| table.power(class));
        Self {
            replica_index,
            number,
            cluster,
            units: units(processor),
            rivals: Vec::new(),
            waits_since: None,
            is_busy: false,
            idle_watts: power.map(|power| power.idle_watts),
            dynamic_watts: power.map_or(0.0, |power| power.active_watts - power.idle_watts),
            busy: Nanoseconds::ZERO,
            joules: 0.0,
            task: None,
            fetch: None,
            progress: None,
            version: 0,
        }
    }

    /// Drops what it is doing.
    pub(crate) fn stop(&mut self) {
        (self.progress, self.fetch, self.is_busy, self.waits_since) = (None, None, false, None);
    }

    /// Whether it needs one of the units that another one needs.
    pub(crate) fn shares_units_with(&self, rival: &Self) -> bool {
        rival.units.iter().any(|unit| self.units.contains(unit))
    }
}

/// A task that a processor has started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartedTask {
    pub(crate) task: TaskId,
    /// When it started.
    pub(crate) start: Nanoseconds,
}

/// A running task whose speed may change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Nanoseconds that it still took at full speed, at the time `since`.
    pub(crate) left: f64,
    /// When `left` was brought up to date.
    pub(crate) since: Nanoseconds,
    /// Its speed since then, as a part of the full one.
    pub(crate) rate: f64,
    /// Bytes per nanosecond that it moves to and from memory at full speed.
    pub(crate) wanted: f64,
}

fn units(processor: &Processor) -> Vec<Unit> {
    if processor.is_accelerator() {
        return vec![Unit::Accelerator(processor.cluster.clone())];
    }
    processor.cores.iter().map(|&core| Unit::Core(core)).collect()
}
