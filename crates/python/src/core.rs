//! What sessions and their iterators share.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use millstream::runtime::FrameResult;
use millstream::{EngineOptions, Machine, Scheduled, Stream, Tensor};
use pyo3::prelude::*;

use crate::delivery::{Delivery, Owner, Submitted};
use crate::errors;
use crate::waiting::wait_for;

/// How long closing waits for threads that are inside.
const CLOSING: Duration = Duration::from_secs(1);

/// A pipeline at work, until it is closed.
pub(crate) struct Core {
    pub(crate) scheduled: Arc<Scheduled>,
    delivery: Mutex<Option<Arc<Delivery>>>,
    /// Threads do not come along into a process that was forked off.
    process: u32,
}

/// Pipelines that are to be closed before the interpreter ends.
static ALL: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

impl Core {
    /// Starts a schedule.
    pub(crate) fn start(
        machine: &Machine,
        scheduled: Scheduled,
        options: &EngineOptions,
    ) -> Result<Arc<Self>, millstream::Error> {
        let scheduled = Arc::new(scheduled);
        let replicas: usize = scheduled.schedule.stages.iter().map(|stage| stage.replicas.len()).sum();
        let most = options.frames_outstanding.unwrap_or(replicas * EngineOptions::OUTSTANDING_PER_WORKER).max(1);
        let stream = Stream::start_shared(machine, Arc::clone(&scheduled), options)?;
        let delivery = Mutex::new(Some(Arc::new(Delivery::new(stream, most))));
        let core = Arc::new(Self { scheduled, delivery, process: std::process::id() });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|core| core.strong_count() > 0);
        all.push(Arc::downgrade(&core));
        Ok(core)
    }

    /// The pipeline.
    pub(crate) fn delivery(&self) -> PyResult<Arc<Delivery>> {
        if self.process != std::process::id() {
            let message = "the session was started in another process, whose threads do not come along; start one here";
            return Err(errors::Error::new_err(message));
        }
        let delivery = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        delivery.clone().ok_or_else(errors::closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Ends the pipeline: whoever waits in it is told, and frames on their way are dropped.
    pub(crate) fn close(&self) {
        let delivery = self.delivery.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut delivery) = delivery else { return };
        if self.process != std::process::id() {
            std::mem::forget(delivery);
            return;
        }
        let begin = Instant::now();
        while Arc::get_mut(&mut delivery).is_none() && begin.elapsed() < CLOSING {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Submits a frame, waiting for room.
    pub(crate) fn submit(
        &self,
        py: Python<'_>,
        owner: Owner,
        frame: Vec<Tensor>,
        limit: Option<Duration>,
    ) -> PyResult<u64> {
        let mut held = Some(frame);
        wait_for(py, limit, "room for the frame", |time| {
            let Some(frame) = held.take() else { return Ok(None) };
            let delivery = self.delivery()?;
            match delivery.try_submit(owner, frame).map_err(|error| errors::of(&error))? {
                Submitted::Yes(sequence) => return Ok(Some(sequence)),
                Submitted::TooMany(frame) => {
                    held = Some(frame);
                    delivery.await_fewer(owner, time);
                }
                Submitted::Full(frame) => {
                    held = Some(frame);
                    delivery.advance(None, time);
                }
            }
            Ok(None)
        })
    }

    /// The next result of an owner; `None` if all were taken.
    pub(crate) fn receive(
        &self,
        py: Python<'_>,
        owner: Owner,
        limit: Option<Duration>,
    ) -> PyResult<Option<FrameResult>> {
        wait_for(py, limit, "result", |time| {
            let delivery = self.delivery()?;
            if let Some(result) = delivery.take(owner) {
                return Ok(Some(Some(result)));
            }
            if delivery.outstanding(owner) == 0 {
                return Ok(Some(None));
            }
            delivery.advance(Some(owner), time);
            Ok(delivery.take(owner).map(Some))
        })
    }

    /// An owner is gone.
    pub(crate) fn leave(&self, owner: Owner) {
        if let Ok(delivery) = self.delivery() {
            delivery.leave(owner);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.close();
    }
}

/// Closes all sessions: threads of the pipelines must not be at work when the libraries that they use are torn down.
#[pyfunction]
pub(crate) fn _close_all(py: Python<'_>) {
    let all = std::mem::take(&mut *ALL.lock().unwrap_or_else(PoisonError::into_inner));
    py.detach(|| all.iter().filter_map(Weak::upgrade).for_each(|core| core.close()));
}
