//! The iterator over the results of frames that are streamed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use millstream_api::Tensor;
use millstream_api::bindings::{Owner, Submitted};
use pyo3::exceptions::{PyBaseException, PyException};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::core::Core;
use crate::errors;
use crate::frame::Ports;
use crate::waiting::wait_for;

/// Results of Session.stream(), in the order of the frames.
#[pyclass(frozen, module = "millstream")]
pub(crate) struct Results(Mutex<Stream>);

/// Frames on their way, and what is to come of them.
struct Stream {
    core: Arc<Core>,
    ports: Ports,
    owner: Owner,
    /// `None` once the frames have ended.
    frames: Option<Py<PyIterator>>,
    /// A frame that found no room.
    held: Option<Vec<Tensor>>,
    /// What is to come, in order.
    pending: VecDeque<Pending>,
}

enum Pending {
    /// The result of a frame that was submitted.
    Frame,
    /// Why there is none: an exception. With its traceback, it knows the frames, and often these results.
    Error(Py<PyBaseException>),
}

#[pymethods]
impl Results {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        match self.0.try_lock() {
            Ok(mut stream) => stream.next(py),
            Err(TryLockError::Poisoned(stream)) => stream.into_inner().next(py),
            Err(TryLockError::WouldBlock) => Err(errors::Error::new_err(
                "these results are being waited for already, by another thread or by the frames themselves: one at a time may ask for the next",
            )),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Whoever has it is waiting for a result, and so it is no garbage.
        let Ok(stream) = self.0.try_lock() else { return Ok(()) };
        visit.call(&stream.frames)?;
        stream.pending.iter().try_for_each(|pending| match pending {
            Pending::Frame => Ok(()),
            Pending::Error(error) => visit.call(error),
        })
    }

    fn __clear__(&self) {
        let cleared = self.0.try_lock().map(|mut stream| (stream.frames.take(), std::mem::take(&mut stream.pending)));
        drop(cleared);
    }
}

impl Results {
    pub(crate) fn new(core: Arc<Core>, ports: Ports, frames: &Bound<'_, PyAny>) -> PyResult<Self> {
        let frames = Some(frames.try_iter()?.unbind());
        let owner = core.join()?;
        Ok(Self(Mutex::new(Stream { core, ports, owner, frames, held: None, pending: VecDeque::new() })))
    }
}

impl Stream {
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let core = Arc::clone(&self.core);
        loop {
            // Before a frame is asked for, which may take time.
            if matches!(self.pending.front(), Some(Pending::Frame))
                && let Some(result) = core.session.take(self.owner).map_err(|error| errors::of(&error))?
            {
                self.pending.pop_front();
                return self.ports.outputs(py, result).map(Some);
            }
            if self.submit_one(py)? {
                // What came meanwhile gets into its box.
                core.session.advance(Some(self.owner), Duration::ZERO).map_err(|error| errors::of(&error))?;
                continue;
            }
            match self.pending.pop_front() {
                Some(Pending::Error(error)) => return Err(PyErr::from_value(error.into_bound(py).into_any())),
                Some(Pending::Frame) => self.pending.push_front(Pending::Frame),
                None if self.held.is_none() => return Ok(None),
                None => {}
            }
            let wanted = Some(self.owner).filter(|_| !self.pending.is_empty());
            // Whatever leaves the pipeline makes room for another frame.
            wait_for(py, None, "result", |time| {
                core.session.advance(wanted, time).map(Some).map_err(|error| errors::of(&error))
            })?;
        }
    }

    /// Submits the frame that is held, or asks for one. Returns whether to go on like that.
    fn submit_one(&mut self, py: Python<'_>) -> PyResult<bool> {
        if self.held.is_none() {
            self.held = self.next_frame(py)?;
        }
        let Some(frame) = self.held.take() else { return Ok(false) };
        match self.core.session.try_submit(self.owner, frame).map_err(|error| errors::of(&error))? {
            Submitted::Yes(_) => {
                self.pending.push_back(Pending::Frame);
                Ok(true)
            }
            Submitted::TooMany(frame) | Submitted::Full(frame) => {
                self.held = Some(frame);
                Ok(false)
            }
        }
    }

    /// Asks for a frame. An error waits for its turn; one that ends programs, such as Ctrl-C, does not.
    fn next_frame(&mut self, py: Python<'_>) -> PyResult<Option<Vec<Tensor>>> {
        // An error that waits is the last thing to come.
        if matches!(self.pending.back(), Some(Pending::Error(_))) {
            return Ok(None);
        }
        let Some(frames) = &self.frames else { return Ok(None) };
        let error = match frames.bind(py).clone().next() {
            Some(Ok(frame)) => match self.ports.frame(&frame) {
                Ok(frame) => return Ok(Some(frame)),
                // The next frame may fit again.
                Err(error) => error,
            },
            Some(Err(error)) => {
                self.frames = None;
                error
            }
            None => {
                self.frames = None;
                return Ok(None);
            }
        };
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        self.pending.push_back(Pending::Error(error.into_value(py)));
        Ok(None)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.core.session.leave(self.owner);
    }
}
