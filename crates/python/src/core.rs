//! What sessions and their iterators share.

use std::sync::{Arc, Mutex, Weak};

use millstream_api::bindings::Owner;
use millstream_api::runtime::FrameResult;
use millstream_api::{EngineOptions, Machine, Scheduled, Session, Tensor};
use pyo3::prelude::*;

use crate::errors;
use crate::lock::lock;
use crate::waiting::{end_work, wait_for};

/// A pipeline at work, until it is closed.
pub(crate) struct Core {
    pub(crate) session: Session,
}

/// Pipelines that are to be closed before the interpreter ends.
static ALL: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

impl Core {
    /// Starts a schedule.
    pub(crate) fn start(
        machine: &Machine,
        scheduled: Scheduled,
        options: &EngineOptions,
    ) -> Result<Arc<Self>, millstream_api::Error> {
        let core = Arc::new(Self { session: Session::start(machine, scheduled, options)? });
        let mut all = lock(&ALL);
        all.retain(|core| core.strong_count() > 0);
        all.push(Arc::downgrade(&core));
        Ok(core)
    }

    /// A new owner of frames.
    pub(crate) fn join(&self) -> PyResult<Owner> {
        self.session.join().map_err(|error| errors::of(&error))
    }

    /// Runs one frame, whose result nobody else gets.
    pub(crate) fn run(&self, py: Python<'_>, frame: Vec<Tensor>) -> PyResult<Option<FrameResult>> {
        let mut held = Some(frame);
        let session = &self.session;
        let done = session.as_owner(|owner| {
            wait_for(py, None, "room for the frame", |time| {
                session.submit_within(owner, &mut held, time).map_err(|error| errors::of(&error))
            })
            .and_then(|_| {
                wait_for(py, None, "result", |time| {
                    session.receive_within(owner, time).map_err(|error| errors::of(&error))
                })
            })
            .map_err(Raised::Exception)
        });
        done.map_err(PyErr::from)
    }
}

/// An error of the library's, or of Python's.
enum Raised {
    Library(millstream_api::Error),
    Exception(PyErr),
}

impl From<millstream_api::Error> for Raised {
    fn from(error: millstream_api::Error) -> Self {
        Self::Library(error)
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        match raised {
            Raised::Library(error) => errors::of(&error),
            Raised::Exception(error) => error,
        }
    }
}

impl Drop for Core {
    /// Workers are waited for, and other threads of Python's go on meanwhile.
    fn drop(&mut self) {
        let session = &self.session;
        if Python::try_attach(|py| py.detach(|| session.close())).is_none() {
            // The interpreter has ended, and with it those threads.
            session.close();
        }
    }
}

/// Closes all sessions, also those that are being started: threads of the pipelines must not be at work when the
/// libraries that they use are torn down.
#[pyfunction]
pub(crate) fn _close_all(py: Python<'_>) {
    end_work(py);
    let all = std::mem::take(&mut *lock(&ALL));
    py.detach(|| all.iter().filter_map(Weak::upgrade).for_each(|core| core.session.close()));
}
