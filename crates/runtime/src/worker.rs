//! The loop that a processor's thread runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use millstream_backend::{Backend, BackendError, PreparedSegment, Tensor};
use millstream_board::Processor;

use crate::packet::{Packet, StageSpan};
use crate::route::StageRoute;
use crate::{FrameError, RuntimeError, metrics::Recorder};

/// Everything a worker needs.
pub(crate) struct Worker {
    pub(crate) stage: usize,
    pub(crate) replica: usize,
    pub(crate) processor: Processor,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) route: StageRoute,
    pub(crate) incoming: Receiver<Packet>,
    pub(crate) outgoing: Sender<Packet>,
    /// The tokens of frames in flight, if this is the first stage: it adds one per frame, and waits for room.
    pub(crate) starting: Option<Sender<()>>,
    /// The same, if this is the last stage: it takes one away per frame.
    pub(crate) finished: Option<Receiver<()>>,
    pub(crate) recorder: Arc<Recorder>,
}

/// What a worker says once it is ready: a warning if it could not be pinned.
pub(crate) type Ready = Result<Option<String>, RuntimeError>;

impl Worker {
    /// Pins the thread, prepares the segment, and works until no more frames can come.
    pub(crate) fn run(self, ready: &Sender<Ready>) {
        let warning = self.pin();
        let prepared = catch_unwind(AssertUnwindSafe(|| self.backend.prepare(&self.route.segment, &self.processor)));
        let prepared = prepared.unwrap_or_else(|panic| Err(BackendError::Failed { detail: message(&*panic) }));
        let mut segment = match prepared {
            Ok(segment) => segment,
            Err(source) => {
                let error = RuntimeError::Prepare { stage: self.stage + 1, processor: self.processor.clone(), source };
                // The engine may have given up already because of another worker.
                let _ = ready.send(Err(error));
                return;
            }
        };
        if ready.send(Ok(warning)).is_err() {
            return;
        }
        let mut lost = false;
        let mut free_since = Instant::now();
        while let Some((mut packet, available)) = self.next(free_since) {
            if packet.failure.is_none() {
                if lost {
                    packet.failure = Some(FrameError::Lost { stage: self.stage + 1 });
                } else {
                    lost = self.work(&mut *segment, &mut packet, available);
                }
            }
            if packet.failure.is_some() {
                packet.values.fill(None);
            }
            packet.queued = Instant::now();
            if let Some(tokens) = &self.finished {
                let _ = tokens.try_recv();
            }
            if self.outgoing.send(packet).is_err() {
                return;
            }
            free_since = Instant::now();
        }
    }

    /// The next frame, once there is one and it may be in flight, and since when it could have been worked on; `None` if no
    /// more can come.
    fn next(&self, free_since: Instant) -> Option<(Packet, Instant)> {
        let packet = self.incoming.recv().ok()?;
        let mut available = packet.queued.max(free_since);
        if let Some(tokens) = &self.starting
            && tokens.try_send(()).is_err()
        {
            tokens.send(()).ok()?;
            available = Instant::now();
        }
        Some((packet, available))
    }

    fn pin(&self) -> Option<String> {
        let core = self.processor.cores.first()?;
        let pinned = core.pin_current_thread();
        let warning = || format!("stage {}: the system refused to pin a thread to core {core}", self.stage + 1);
        (!pinned).then(warning)
    }

    /// Runs the segment on a frame; true if the worker must not be used any more.
    ///
    /// The frame's time starts when it was `available` and the worker was free. What the system then takes to wake the
    /// worker is part of what the stage costs; on a core that is shared with other load it is a good part.
    fn work(&self, segment: &mut dyn PreparedSegment, packet: &mut Packet, available: Instant) -> bool {
        let start = available;
        let inputs: Vec<Tensor> =
            self.route.inputs.iter().filter_map(|&slot| packet.values.get(slot).cloned().flatten()).collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| segment.run(&inputs)));
        let stage = self.stage + 1;
        let mut lost = false;
        match outcome {
            Ok(Ok(outputs)) if outputs.len() == self.route.outputs.len() => {
                for (&slot, tensor) in self.route.outputs.iter().zip(outputs) {
                    packet.values[slot] = Some(tensor);
                }
            }
            Ok(Ok(outputs)) => {
                let detail = format!("the backend returned {} of {} values", outputs.len(), self.route.outputs.len());
                packet.failure = Some(FrameError::Stage { stage, source: BackendError::Failed { detail } });
            }
            Ok(Err(source)) => packet.failure = Some(FrameError::Stage { stage, source }),
            Err(panic) => {
                lost = true;
                packet.failure = Some(FrameError::Panicked { stage, message: message(&*panic) });
            }
        }
        for &slot in &self.route.release {
            packet.values[slot] = None;
        }
        drop(inputs);
        let end = Instant::now();
        // Waiting for admission is the caller's doing, not the pipeline's.
        let queued = if self.starting.is_some() { start } else { packet.queued };
        self.recorder.record(queued, start, end, packet.failure.is_some());
        packet.spans.push(StageSpan { stage: self.stage, replica: self.replica, start, end });
        lost
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
