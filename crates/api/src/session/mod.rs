//! A network at work for programs that come and go as they like: what the interfaces for other languages are made of.

mod delivery;
mod report;
mod request;
mod submissions;
mod waiting;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream_backend::Tensor;
use millstream_graph::Value;
use millstream_runtime::{EngineOptions, FrameError, FrameResult};

use crate::error::Error;
use crate::machine::Machine;
use crate::run::Stream;
use crate::schedules::Scheduled;

use delivery::Delivery;
pub use delivery::{Owner, Submitted};
pub use report::SessionReport;
pub use request::{Limits, SessionRequest, positive_seconds};
pub use submissions::Submissions;
pub use waiting::{not_within, wait_for};

/// How long closing waits for threads that are inside.
const CLOSING: Duration = Duration::from_secs(1);

/// A pipeline that any number of callers share, each with frames of its own, until it is closed. There is no thread for
/// it: of those who wait, one takes results and hands them to their owners.
///
/// Whatever takes a `time` returns after that time at the latest, or earlier with nothing, so that the caller can look
/// at signals and limits of its own before it calls again.
pub struct Session {
    scheduled: Arc<Scheduled>,
    delivery: Mutex<Option<Arc<Delivery>>>,
    /// Threads do not come along into a process that was forked off.
    process: u32,
}

impl Session {
    /// Starts a schedule.
    ///
    /// # Errors
    /// As [`Stream::start`].
    pub fn start(machine: &Machine, scheduled: Scheduled, options: &EngineOptions) -> Result<Self, Error> {
        let scheduled = Arc::new(scheduled);
        let replicas: usize = scheduled.schedule.stages.iter().map(|stage| stage.replicas.len()).sum();
        let most = options.frames_outstanding.unwrap_or(replicas * EngineOptions::OUTSTANDING_PER_WORKER).max(1);
        let stream = Stream::start_shared(machine, Arc::clone(&scheduled), options)?;
        let delivery = Mutex::new(Some(Arc::new(Delivery::new(stream, most))));
        Ok(Self { scheduled, delivery, process: std::process::id() })
    }

    /// The network with its schedule.
    pub fn scheduled(&self) -> &Scheduled {
        &self.scheduled
    }

    /// A new owner of frames, until it [leaves](Session::leave).
    ///
    /// # Errors
    /// [`Error::Closed`], or [`Error::Forked`] in another process than that which started the session.
    pub fn join(&self) -> Result<Owner, Error> {
        Ok(self.delivery()?.join())
    }

    /// An owner is gone: results of its frames are dropped, also those that are still to come.
    pub fn leave(&self, owner: Owner) {
        if let Ok(delivery) = self.delivery() {
            delivery.leave(owner);
        }
    }

    /// Does something as an owner of frames that leaves afterwards, also if it fails.
    ///
    /// # Errors
    /// As [`Session::join`], and whatever `work` fails with.
    pub fn as_owner<T, E: From<Error>>(&self, work: impl FnOnce(Owner) -> Result<T, E>) -> Result<T, E> {
        let owner = self.join()?;
        let done = work(owner);
        self.leave(owner);
        done
    }

    /// Submits a frame if there is room for it now: one tensor for each input of the network, in the order of its
    /// graph's inputs.
    ///
    /// # Errors
    /// As [`Session::join`], and [`Error::Runtime`] if the pipeline has stopped.
    pub fn try_submit(&self, owner: Owner, frame: Vec<Tensor>) -> Result<Submitted, Error> {
        self.delivery()?.try_submit(owner, frame)
    }

    /// Submits the frame that is `held`, or waits for room for it. Returns its number once it is on its way; it is no
    /// longer held then.
    ///
    /// # Errors
    /// As [`Session::try_submit`].
    pub fn submit_within(
        &self,
        owner: Owner,
        held: &mut Option<Vec<Tensor>>,
        time: Duration,
    ) -> Result<Option<u64>, Error> {
        let Some(frame) = held.take() else { return Ok(None) };
        let delivery = self.delivery()?;
        match delivery.try_submit(owner, frame)? {
            Submitted::Yes(sequence) => return Ok(Some(sequence)),
            Submitted::TooMany(frame) => {
                *held = Some(frame);
                delivery.await_fewer(owner, time);
            }
            Submitted::Full(frame) => {
                *held = Some(frame);
                delivery.advance(None, time);
            }
        }
        Ok(None)
    }

    /// The owner's next result, if it is there.
    ///
    /// # Errors
    /// As [`Session::join`].
    pub fn take(&self, owner: Owner) -> Result<Option<FrameResult>, Error> {
        Ok(self.delivery()?.take(owner))
    }

    /// The owner's next result, or `Some(None)` if all of its results were taken. Waits for it.
    ///
    /// # Errors
    /// As [`Session::join`].
    pub fn receive_within(&self, owner: Owner, time: Duration) -> Result<Option<Option<FrameResult>>, Error> {
        let delivery = self.delivery()?;
        if let Some(result) = delivery.take(owner) {
            return Ok(Some(Some(result)));
        }
        if delivery.outstanding(owner) == 0 {
            return Ok(Some(None));
        }
        delivery.advance(Some(owner), time);
        Ok(delivery.take(owner).map(Some))
    }

    /// Waits until some result has come, whose ever it is: there may be room for another frame then. Does not wait if
    /// there is one of `wanted` already.
    ///
    /// # Errors
    /// As [`Session::join`].
    pub fn advance(&self, wanted: Option<Owner>, time: Duration) -> Result<(), Error> {
        self.delivery()?.advance(wanted, time);
        Ok(())
    }

    /// What was measured so far.
    ///
    /// # Errors
    /// As [`Session::try_submit`].
    pub fn report(&self) -> Result<SessionReport, Error> {
        SessionReport::of(&self.scheduled, &*self.delivery()?)
    }

    /// Whether [`Session::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Ends the pipeline: waiting callers get an error, and frames in flight are dropped.
    pub fn close(&self) {
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

    fn delivery(&self) -> Result<Arc<Delivery>, Error> {
        if self.process != std::process::id() {
            return Err(Error::Forked);
        }
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::Closed)
    }
}

/// That a frame has something else for an input than what that takes.
pub fn misfit(value: &Value, found: impl Into<String>) -> FrameError {
    let unknown = || "?".to_owned();
    let data_type = value.data_type.map_or_else(unknown, |data_type| data_type.to_string());
    let shape = value.shape.as_ref().map_or_else(unknown, ToString::to_string);
    FrameError::Input { value: value.name.clone(), expected: format!("{data_type} {shape}"), found: found.into() }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}
