//! The workers of one schedule.

use std::sync::Arc;

use millstream_backend::Tensor;
use millstream_schedule::Schedule;

use crate::generation_id::GenerationId;
use crate::metrics::StageMetrics;
use crate::packet::Packet;
use crate::replica_state::ReplicaState;
use crate::route::Route;
use crate::sync::channel::Sender;
use crate::sync::{AtomicBool, Ordering};

/// A schedule at work. When the entrance is dropped, the frames in flight finish and the workers end.
pub(crate) struct Generation {
    pub(crate) id: GenerationId,
    pub(crate) schedule: Schedule,
    pub(crate) route: Arc<Route>,
    pub(crate) entrance: Sender<Packet>,
    /// Whether its frames can start again in another schedule. Only as long as there is a fallback when it begins.
    pub(crate) keeps_frames: Arc<AtomicBool>,
    pub(crate) replicas: Vec<Vec<Arc<ReplicaState>>>,
}

impl Generation {
    pub(crate) fn metrics(&self) -> Vec<StageMetrics> {
        let stage = |replicas: &Vec<Arc<ReplicaState>>| StageMetrics {
            replicas: replicas.iter().map(|replica| replica.recorder.metrics(replica.busy())).collect(),
        };
        self.replicas.iter().map(stage).collect()
    }

    pub(crate) fn reset_metrics(&self) {
        for replica in self.replicas.iter().flatten() {
            replica.recorder.reset();
            replica.reset_busy();
        }
    }

    /// A frame that is to enter.
    pub(crate) fn packet(&self, frame: Vec<Tensor>) -> Packet {
        Packet::new(&self.route, frame, self.replicas.len(), self.keeps_frames.load(Ordering::SeqCst))
    }
}
