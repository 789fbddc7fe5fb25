//! Sessions: a network that runs on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_api::EngineOptions;
use millstream_api::bindings::{SessionRequest, Submissions};
use millstream_api::schedule::ScheduleDocument;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::board::Board;
use crate::core::Core;
use crate::documents::{Document, to_python};
use crate::errors;
use crate::frame::Ports;
use crate::numbers::Whole;
use crate::planning::{Wanted, aim, duration, limit, scheduled};
use crate::results::Results;
use crate::waiting::{do_long, wait_for};

/// A network that runs on this machine, as a schedule says.
///
/// Session(model) measures the network if nobody did before, finds the best schedule for an objective, tries it out,
/// and starts it. Frames are dictionaries of arrays by the names of the network's inputs, results by those of its
/// outputs. Each input is copied once, as it is when it is handed over; outputs are arrays over the engine's memory,
/// which can't be written to (copy() makes one that can).
///
/// Any number of threads may use a session. It ends with close(), at the end of a `with` block, or when nobody has it
/// any more.
///
/// model: the path of an ONNX file, zoo:NAME for a built-in network, or the bytes of a file. It may be missing if there
/// is a schedule. objective: what the schedule should be best at: throughput, latency, balanced or energy. max_latency,
/// min_throughput, max_power: what it must keep to, in seconds, frames per second and watts; predictions by `margin`
/// better,
///     0.1 for a tenth.
/// schedule: a path, JSON or a dictionary. Then nothing is planned. profile, costs: the path of a profile, or that of
/// cost models or the name of a built-in board, to plan on without measuring or trying anything. fresh: measure even if
/// the network was measured before. profile_seconds: time to measure, where that is done; otherwise about 20.
/// dimensions, batch: sizes of open dimensions by name, or by input and position such as image.2, and of an open first
/// one. frames: a few frames that it is measured and tried with, such as a list of dictionaries; made-up ones by
/// default, which some networks refuse. board: a Board, or what Board.load() takes, if it is not the whole machine.
/// frames_in_flight: frames in the pipeline at most. frames_outstanding: frames of one stream, or submitted one by one,
/// at most whose
///     results were not taken; 16 for each replica by default.
/// frame_timeout: how many seconds a stage may work on a frame, which fails then. on_event: is called with a dictionary
/// that has `kind` and `text` when something goes on, from other threads as well. What it raises ends
///     the work.
#[pyclass(frozen, weakref, module = "millstream")]
pub(crate) struct Session {
    core: Arc<Core>,
    ports: Ports,
    /// Frames that are submitted one by one.
    submissions: Submissions,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (
        model=None, *, objective="throughput", max_latency=None, min_throughput=None, max_power=None, margin=0.0, schedule=None,
        profile=None, costs=None, fresh=false, profile_seconds=None, dimensions=None, batch=None, frames=None, board=None,
        frames_in_flight=None, frames_outstanding=None, frame_timeout=None, on_event=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "in Python they have names and defaults")]
    fn new(
        py: Python<'_>,
        model: Option<&Bound<'_, PyAny>>,
        objective: &str,
        max_latency: Option<f64>,
        min_throughput: Option<f64>,
        max_power: Option<f64>,
        margin: f64,
        schedule: Option<&Bound<'_, PyAny>>,
        profile: Option<PathBuf>,
        costs: Option<PathBuf>,
        fresh: bool,
        profile_seconds: Option<f64>,
        dimensions: Option<BTreeMap<String, Whole>>,
        batch: Option<Whole>,
        frames: Option<&Bound<'_, PyAny>>,
        board: Option<&Bound<'_, PyAny>>,
        frames_in_flight: Option<Whole>,
        frames_outstanding: Option<Whole>,
        frame_timeout: Option<f64>,
        on_event: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let wanted = Wanted::new(model, dimensions, batch)?.with_frames(frames);
        let aim = aim(objective, (max_latency, min_throughput, max_power), margin)?;
        let budget = profile_seconds.map(|seconds| duration("profile_seconds", seconds)).transpose()?;
        let request = SessionRequest { aim, profile, costs, is_fresh: fresh, budget };

        let frame_timeout = frame_timeout.map(|seconds| duration("frame_timeout", seconds)).transpose()?;
        let options = EngineOptions::default()
            .with_frames_in_flight(frames_in_flight.map(|frames| frames.at_least_one("frames_in_flight")).transpose()?)
            .with_frames_outstanding(
                frames_outstanding.map(|frames| frames.at_least_one("frames_outstanding")).transpose()?,
            )
            .with_frame_timeout(frame_timeout);
        let document = schedule.map(Document::read).transpose()?;

        let machine = Board::machine_or_this(py, board)?;
        let (machine, scheduled) = scheduled(py, machine, wanted, document.as_ref(), request, on_event)?;
        let start = move || {
            let core = Core::start(&machine, scheduled, &options).map_err(|error| errors::of(&error))?;
            let ports = Ports { graph: Arc::clone(core.session.scheduled().network.graph()) };
            let submissions = Submissions::new(&core.session).map_err(|error| errors::of(&error))?;
            Ok(Self { core, ports, submissions })
        };
        do_long(py, &Arc::default(), start)?
    }

    /// Runs one frame and returns its outputs.
    fn run<'py>(&self, py: Python<'py>, frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let frame = self.ports.frame(frame)?;
        let result = self.core.run(py, frame)?;
        self.ports.outputs(py, result.ok_or_else(errors::closed)?)
    }

    /// Streams frames: an iterator over their outputs, in order. It takes frames from `frames` as there is room for
    /// them, from the thread that asks it for results. An exception of `frames`, or a frame that does not fit, is
    /// raised after the results of the frames before.
    fn stream(&self, frames: &Bound<'_, PyAny>) -> PyResult<Results> {
        Results::new(Arc::clone(&self.core), self.ports.clone(), frames)
    }

    /// Submits a frame and returns its number. Waits while there is no room, for `timeout` seconds at most: results
    /// must be received meanwhile, by this thread or another one.
    #[pyo3(signature = (frame, *, timeout=None))]
    fn submit(&self, py: Python<'_>, frame: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<u64> {
        let frame = self.ports.frame(frame)?;
        let mut held = Some(frame);
        wait_for(py, limit(timeout)?, "room for the frame", |time| {
            let submitted = self.submissions.submit_within(&self.core.session, &mut held, time);
            submitted.map_err(|error| errors::of(&error))
        })
    }

    /// Says that no more frames will be submitted: receive(wait=True) returns None once the outputs of those before
    /// were received. run() and stream() go on.
    fn end(&self) {
        self.submissions.end();
    }

    /// The outputs of the next submitted frame, in order. Waits for them, for `timeout` seconds at most; None if there
    /// is no frame whose outputs were not received. With `wait`, another thread's next frame is waited for as well, and
    /// None is the end that end() tells. A frame that failed raises FrameFailed; the next call is about the next frame.
    #[pyo3(signature = (*, timeout=None, wait=false))]
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>, wait: bool) -> PyResult<Option<Bound<'py, PyDict>>> {
        let result = wait_for(py, limit(timeout)?, "result", |time| {
            let received = self.submissions.receive_within(&self.core.session, wait, time);
            received.map_err(|error| errors::of(&error))
        })?;
        result.map(|result| self.ports.outputs(py, result)).transpose()
    }

    /// The schedule, as it stands in a file: Session(schedule=...) takes it.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.document())
    }

    /// What was measured so far, times in seconds.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.core.session.report().map_err(|error| errors::of(&error))?)
    }

    /// Names, shapes and types of the inputs.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ports.inputs(py)
    }

    /// Names, shapes and types of the outputs.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ports.all_outputs(py)
    }

    /// The stages in short, such as B4-s2.
    #[getter]
    fn configuration(&self) -> &str {
        &self.document().configuration
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self) -> bool {
        self.core.session.is_closed()
    }

    /// Ends the session: frames on their way are dropped, and whoever waits for one gets an Error.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.core.session.close());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let state = if self.core.session.is_closed() { ", closed" } else { "" };
        format!(
            "<millstream.Session {}: {}{state}>",
            self.core.session.scheduled().network.name(),
            self.configuration()
        )
    }
}

impl Session {
    fn document(&self) -> &ScheduleDocument {
        &self.core.session.scheduled().document
    }
}
