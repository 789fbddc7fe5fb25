//! What it takes to make up a replica's team, as often as it is needed.

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_graph::Graph;
use millstream_schedule::Replica;

use crate::memory_release::MemoryRelease;
use crate::options::EngineOptions;
use crate::replica_id::ReplicaId;
use crate::sync::AtomicU64;

/// What it takes to make up a replica's team, as often as it is needed.
pub(crate) struct TeamFactory {
    pub(crate) id: ReplicaId,
    pub(crate) replica: Replica,
    /// That of each processor of the replica.
    pub(crate) backends: Vec<Arc<dyn Backend>>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) options: EngineOptions,
    /// How long each processor has worked, in nanoseconds.
    pub(crate) busy: Arc<[AtomicU64]>,
    /// The same for all replicas of a schedule.
    pub(crate) memory_release: Arc<MemoryRelease>,
}
