//! What it takes to make up a replica's team, as often as it is needed.

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_graph::Graph;
use millstream_schedule::Replica;

use crate::EngineOptions;
use crate::memory_release::MemoryRelease;
use crate::sync::AtomicU64;

/// What it takes to make up a replica's team, as often as it is needed.
pub(crate) struct TeamFactory {
    /// Stage and replica, counted from 0.
    pub(crate) place: (usize, usize),
    pub(crate) replica: Replica,
    pub(crate) backends: Vec<Arc<dyn Backend>>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) options: EngineOptions,
    pub(crate) busy: Arc<[AtomicU64]>,
    /// The same for all replicas of a schedule.
    pub(crate) memory_release: Arc<MemoryRelease>,
}
