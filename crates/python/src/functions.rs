//! What needs no session: plans, profiles and simulations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use millstream_api::bindings::SessionRequest;
use millstream_api::{
    Control, CostSource, Error, Machine, MemoryCompetition, PROFILE_BUDGET, Scheduled, SimulateOptions, Simulated,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::board::Board;
use crate::documents::{Document, to_python};
use crate::errors;
use crate::events::followed;
use crate::numbers::Whole;
use crate::planning::{Wanted, aim, duration, scheduled};

/// Finds the best schedule of a network and returns it, as it stands in a file.
///
/// With `profile` or `costs`, the path of a profile, and that of cost models or the name of a built-in board, the board
/// need not be here. The other arguments are those of Session.
#[pyfunction]
#[pyo3(signature = (
    model, *, objective="throughput", max_latency=None, min_throughput=None, max_power=None, margin=0.0, profile=None, costs=None,
    fresh=false, profile_seconds=None, dimensions=None, batch=None, frames=None, board=None, on_event=None
))]
#[expect(clippy::too_many_arguments, reason = "in Python they have names and defaults")]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    objective: &str,
    max_latency: Option<f64>,
    min_throughput: Option<f64>,
    max_power: Option<f64>,
    margin: f64,
    profile: Option<PathBuf>,
    costs: Option<PathBuf>,
    fresh: bool,
    profile_seconds: Option<f64>,
    dimensions: Option<BTreeMap<String, Whole>>,
    batch: Option<Whole>,
    frames: Option<&Bound<'py, PyAny>>,
    board: Option<&Bound<'py, PyAny>>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let wanted = Wanted::new(Some(model), dimensions, batch)?.with_frames(frames);
    let aim = aim(objective, (max_latency, min_throughput, max_power), margin)?;
    let budget = profile_seconds.map(|seconds| duration("profile_seconds", seconds)).transpose()?;
    let request = SessionRequest { aim, profile, costs, is_fresh: fresh, budget };
    let machine = Board::machine_or_this(py, board)?;
    let (_, scheduled) = scheduled(py, machine, wanted, None, request, on_event)?;
    to_python(py, &scheduled.document)
}

/// Measures a network on this machine and returns the profile, as it stands in a file. It is kept for later plans.
///
/// seconds: time to spend on it, 20 by default, unless it was measured before. The other arguments are those of
/// Session.
#[pyfunction]
#[pyo3(signature = (model, *, seconds=None, dimensions=None, batch=None, frames=None, board=None, on_event=None))]
#[expect(clippy::too_many_arguments, reason = "in Python they have names and defaults")]
pub(crate) fn profile<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    seconds: Option<f64>,
    dimensions: Option<BTreeMap<String, Whole>>,
    batch: Option<Whole>,
    frames: Option<&Bound<'py, PyAny>>,
    board: Option<&Bound<'py, PyAny>>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let wanted = Wanted::new(Some(model), dimensions, batch)?.with_frames(frames);
    let budget = seconds.map(|seconds| duration("seconds", seconds)).transpose()?.unwrap_or(PROFILE_BUDGET);
    let machine = Board::machine_or_this(py, board)?;
    let profile = followed(py, on_event, move |control| machine.profile(&wanted.open(None)?, budget, control))?;
    to_python(py, &profile)
}

/// What a simulation showed.
#[derive(Serialize)]
struct Report {
    network: String,
    configuration: String,
    frames: usize,
    unfinished: usize,
    frames_per_second: f64,
    predicted_frames_per_second: f64,
    worst_latency_seconds: f64,
    predicted_latency_seconds: f64,
    joules_per_frame: Option<f64>,
}

impl Report {
    fn of(scheduled: &Scheduled, simulated: &Simulated) -> Self {
        let Simulated { simulation, expected, table } = simulated;
        Self {
            network: scheduled.network.name().to_owned(),
            configuration: scheduled.schedule.to_string(),
            frames: simulation.frames.len(),
            unfinished: simulation.unfinished,
            frames_per_second: 1.0 / simulation.period_seconds(),
            predicted_frames_per_second: 1.0 / expected.evaluation.period.seconds(),
            worst_latency_seconds: simulation.worst_latency().seconds(),
            predicted_latency_seconds: expected.evaluation.latency.seconds(),
            joules_per_frame: simulation.joules_per_frame(&scheduled.schedule, table),
        }
    }
}

/// Simulates frames through a schedule on a board that need not be here, and returns what that shows.
///
/// schedule: a path, JSON or a dictionary; model: the network, if it is somewhere else than that says; board: as for
/// Session. costs: the path of cost models or the name of a built-in board; profile: a path; by default the profile
/// that was made last here. frames: how many. frame_rate: frames that arrive per second; by default there is always
/// another one. frames_in_flight: frames in the pipeline at most. noise: relative deviation of times, drawn by `seed`.
/// memory: whether processors compete for it; heat: whether clocks go down with it.
#[pyfunction]
#[pyo3(
    signature = (
        schedule, *, model=None, board=None, profile=None, costs=None, frames=Whole::Fits(1000), frame_rate=None, frames_in_flight=None,
        noise=0.0, seed=Whole::Fits(0), memory=true, heat=false
    ),
    text_signature = "(schedule, *, model=None, board=None, profile=None, costs=None, frames=1000, frame_rate=None, frames_in_flight=None, \
        noise=0.0, seed=0, memory=True, heat=False)"
)]
#[expect(clippy::too_many_arguments, reason = "in Python they have names and defaults")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    schedule: &Bound<'py, PyAny>,
    model: Option<&Bound<'py, PyAny>>,
    board: Option<&Bound<'py, PyAny>>,
    profile: Option<PathBuf>,
    costs: Option<PathBuf>,
    frames: Whole,
    frame_rate: Option<f64>,
    frames_in_flight: Option<Whole>,
    noise: f64,
    seed: Whole,
    memory: bool,
    heat: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (frames, seed) = (frames.of("frames")?, seed.of("seed")?);
    let frames_in_flight = frames_in_flight.map(|count| count.of("frames_in_flight")).transpose()?;
    let numbers = Numbers { frames, frame_rate, frames_in_flight, noise, seed };
    // Before anything is read.
    numbers.options(CostSource::Cached).check().map_err(|error| errors::of(&error))?;
    let wanted = Wanted::new(model, None, None)?;
    let document = Document::read(schedule)?;
    let machine = Board::machine_or_this(py, board)?;

    let report = followed(py, None, move |control| {
        let costs = CostSource::named(profile.as_deref(), costs.as_deref())?.unwrap_or(CostSource::Cached);
        let mut options = numbers.options(costs);
        options.memory = if memory { MemoryCompetition::IfStated } else { MemoryCompetition::Never };
        options.has_heat = heat;

        simulated(&machine, wanted, &document, &options, control)
    })?;
    to_python(py, &report)
}

/// The numbers of a simulation, by the names that callers know.
#[derive(Clone, Copy)]
struct Numbers {
    frames: u32,
    frame_rate: Option<f64>,
    frames_in_flight: Option<usize>,
    noise: f64,
    seed: u64,
}

impl Numbers {
    fn options(self, costs: CostSource<'_>) -> SimulateOptions<'_> {
        let mut options = SimulateOptions::new(costs, self.frames);
        options.frames_in_flight = self.frames_in_flight;
        options.frame_rate_hertz = self.frame_rate;
        options.noise = self.noise;
        options.seed = self.seed;
        options
    }
}

fn simulated(
    machine: &Machine,
    wanted: Wanted,
    document: &Document,
    options: &SimulateOptions<'_>,
    control: &Control,
) -> Result<Option<Report>, Error> {
    let document = document.parse(millstream_api::schedule::ScheduleDocument::from_json)?;
    let network = wanted.open(Some(&document))?;
    let set = [Scheduled::alone(network, document, machine.board())?.with_engines_of(machine)];
    let simulated = millstream_api::simulate(machine, &set, options, control)?;
    Ok(set.iter().zip(&simulated).map(|(scheduled, simulated)| Report::of(scheduled, simulated)).next())
}
