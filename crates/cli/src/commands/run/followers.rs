//! Files that are written while frames flow.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use millstream::files::Growing;
use millstream::{Error, FrameLog, Scheduled, Taken};

use crate::arguments::RunCommand;
use crate::output;
use crate::run_trace::RunTrace;

/// What is written of each frame: a line of a table, and its part of a trace.
pub(super) struct Followers<'a> {
    command: &'a RunCommand,
    open: Mutex<Open<'a>>,
}

/// Files that have begun: with the first frame, as what was there before should stay where there is none.
#[derive(Default)]
struct Open<'a> {
    log: Option<FrameLog<Growing>>,
    trace: Option<RunTrace<'a>>,
}

impl<'a> Followers<'a> {
    pub(super) fn new(command: &'a RunCommand) -> Self {
        Self { command, open: Mutex::default() }
    }

    /// Writes what is wanted of a frame.
    pub(super) fn take(&self, scheduled: &'a Scheduled, sizes: Option<&str>, frame: &Taken) -> Result<(), Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Open { log, trace } = &mut *open;
        if let Some(path) = &self.command.csv {
            let deadline = self.command.deadline.map(|deadline| deadline.0.as_secs_f64());
            let log = begun(log, || FrameLog::new(Growing::create(path)?, deadline).map_err(failed(path)))?;
            log.add(sizes, frame).map_err(failed(path))?;
        }
        if let Some(path) = &self.command.trace {
            let trace = begun(trace, || {
                let file = Growing::create(path)?;
                RunTrace::begin(file, &scheduled.schedule, scheduled.network.graph(), frame).map_err(failed(path))
            })?;
            trace.add(frame).map_err(failed(path))?;
        }
        Ok(())
    }

    /// Ends the files, and says where they are.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Open { log, trace } = self.open.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Some(path), Some(trace)) = (&self.command.trace, trace) {
            trace.finish().map_err(failed(path))?;
            output::remark(format!("wrote {}; open it with https://ui.perfetto.dev", path.display()));
        }
        if let (Some(path), Some(log)) = (&self.command.csv, log) {
            log.finish().map_err(failed(path))?;
            output::remark(format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// What is there, or is made now.
fn begun<T>(place: &mut Option<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&mut T, Error> {
    let made = match place.take() {
        Some(made) => made,
        None => make()?,
    };
    Ok(place.insert(made))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { action: "write", path: path.to_owned(), source }
}
