//! What every engine of cores can do.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_backend::{Backend, Observed};
use millstream_graph::Family;

/// An engine on cores, for one model.
pub(super) trait CoreEngine: Send + Sync {
    /// What runs operators.
    fn backend(&self) -> Arc<dyn Observed>;

    /// Sets how many threads the operators of each family use on a cluster, in parts of the network.
    fn choose_threads(&self, cluster: &str, threads: BTreeMap<Family, usize>);

    /// Keeps no more of what it made for the next start.
    fn stop_keeping(&self) {}
}

/// A way to use an engine plainly, without a schedule.
pub(crate) struct Plain {
    /// What its users would call it.
    pub(crate) name: String,
    pub(crate) backend: Arc<dyn Backend>,
    /// How many frames it works on at once.
    pub(crate) requests: usize,
    /// Whether it takes all cores that it sees, whatever it is given.
    pub(crate) sees_all: bool,
}

/// What the threads of a session of ONNX Runtime do while they wait for work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionThreads {
    Spin,
    SpinWhileRunning,
    Sleep,
}
