//! What one thread of a replica can run.

use std::sync::Arc;

use millstream_backend::{Canceller, PreparedSegment};
use millstream_schedule::execution::ProcessorId;

use crate::program::StepId;

/// Segments that are ready on a processor: those of its own steps, and those of others' steps that it may take over.
pub(crate) struct Prepared {
    /// By the processor whose step it is, and the step's position in that one's track.
    pub(super) tracks: Vec<Vec<Option<Box<dyn PreparedSegment>>>>,
}

impl Prepared {
    /// The segment of a step, if it is ready here.
    pub(super) fn segment(&mut self, step: StepId) -> Option<&mut dyn PreparedSegment> {
        Some(&mut **self.tracks[step.processor.index()][step.index].as_mut()?)
    }

    /// Whether a step can be run here.
    pub(super) fn has(&self, step: StepId) -> bool {
        self.tracks[step.processor.index()][step.index].is_some()
    }

    /// Whether any step of a processor can be run here.
    pub(super) fn has_any_of(&self, processor: ProcessorId) -> bool {
        self.tracks[processor.index()].iter().any(Option::is_some)
    }

    /// What ends these segments while they run, where the backend can do that.
    pub(super) fn cancellers(&self) -> impl Iterator<Item = Arc<dyn Canceller>> {
        self.tracks.iter().flatten().flatten().filter_map(|segment| segment.canceller())
    }
}
