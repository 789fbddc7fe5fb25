//! From a network to a schedule for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millstream_api::bindings::{Limits, SessionRequest, positive_seconds};
use millstream_api::frames::{Frame, FrameSet};
use millstream_api::schedule::ScheduleDocument;
use millstream_api::{Aim, Error, Machine, Network, ReadOptions, Scheduled};
use pyo3::prelude::*;

use crate::documents::{Document, Model};
use crate::errors::{self, InputError};
use crate::events::followed;
use crate::frame::Ports;
use crate::numbers::Whole;

/// A network as it is read.
pub(crate) struct Wanted {
    pub(crate) model: Option<Model>,
    pub(crate) options: ReadOptions,
    /// Frames that it is measured and tried with, if not made-up ones: dictionaries of arrays.
    frames: Option<Py<PyAny>>,
}

impl Wanted {
    pub(crate) fn new(
        model: Option<&Bound<'_, PyAny>>,
        dimensions: Option<BTreeMap<String, Whole>>,
        batch: Option<Whole>,
    ) -> PyResult<Self> {
        let sized = |(name, size): (String, Whole)| {
            let size = size.at_least_one(&format!("dimensions['{name}']"))?;
            Ok((name, size))
        };
        let dimensions = dimensions.unwrap_or_default().into_iter().map(sized).collect::<PyResult<Vec<_>>>()?;
        let usual = ReadOptions::default();
        let batch = batch.map_or(Ok(usual.batch), |batch| batch.at_least_one("batch"))?;
        Ok(Self {
            model: model.map(Model::read).transpose()?,
            options: usual.with_dimensions(dimensions).with_batch(batch),
            frames: None,
        })
    }

    /// The same with frames of the caller's.
    pub(crate) fn with_frames(self, frames: Option<&Bound<'_, PyAny>>) -> Self {
        Self { frames: frames.map(|frames| frames.clone().unbind()), ..self }
    }

    /// The network, or that of a schedule if none is named.
    pub(crate) fn open(self, document: Option<&ScheduleDocument>) -> Result<Network, Error> {
        let network = match (self.model, document) {
            (Some(Model::At(source)), _) => Network::open(&source, self.options),
            (Some(Model::Bytes(bytes)), _) => Network::from_bytes(bytes, "bytes", self.options),
            (None, Some(document)) => Network::of_schedule(&document.model),
            (None, None) => Err(Error::Unfit("name a model or a schedule".to_owned())),
        }?;
        match self.frames {
            Some(frames) => with_frames(network, &frames),
            None => Ok(network),
        }
    }
}

/// The network with frames to measure and to try with.
fn with_frames(network: Network, frames: &Py<PyAny>) -> Result<Network, Error> {
    let ports = Ports { graph: Arc::clone(network.graph()) };
    let frames = Python::attach(|py| {
        let all = frames.bind(py).try_iter()?.map(|frame| ports.frame(&frame?)).collect::<PyResult<Vec<_>>>();
        all.map_err(|error| InputError::new_err(format!("frames: {}", error.value(py))))
    });
    let frames = frames.map_err(|error| Error::Unfit(Python::attach(|py| error.value(py).to_string())))?;
    if frames.is_empty() {
        return Err(Error::Unfit("frames must hold a frame at least".to_owned()));
    }
    let named = |(place, tensors)| Frame { label: format!("frame-{place}"), tensors };
    Ok(network.with_frames(FrameSet { frames: frames.into_iter().enumerate().map(named).collect() }))
}

/// Constraints in seconds, frames per second and watts.
pub(crate) fn aim(
    objective: &str,
    (max_latency, min_throughput, max_power): (Option<f64>, Option<f64>, Option<f64>),
    margin: f64,
) -> PyResult<Aim> {
    let limits = Limits { max_latency, min_throughput, max_power };
    Aim::named(objective, limits, margin).map_err(|error| errors::of(&error))
}

/// A time that a caller gave in seconds.
pub(crate) fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    positive_seconds(name, seconds).map_err(|error| errors::of(&error))
}

/// How long a caller waits, in seconds: not at all with 0, without end with infinity.
pub(crate) fn limit(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    match timeout {
        Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
            Err(InputError::new_err("timeout must be a number of seconds that is not negative"))
        }
        // What no clock reaches is no limit.
        other => Ok(other.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())),
    }
}

/// A network with its schedule: the given one, or a new one.
pub(crate) fn scheduled(
    py: Python<'_>,
    machine: Machine,
    wanted: Wanted,
    schedule: Option<&Document>,
    request: SessionRequest,
    observer: Option<Py<PyAny>>,
) -> PyResult<(Machine, Scheduled)> {
    let document = schedule.map(|text| text.parse(ScheduleDocument::from_json)).transpose();
    let document = document.map_err(|error| errors::of(&error))?;
    followed(py, observer, move |control| {
        let has_frames = wanted.frames.is_some();
        let network = if wanted.model.is_some() || has_frames { Some(wanted.open(document.as_ref())?) } else { None };
        request.scheduled(&machine, network, document, control)
    })
}
