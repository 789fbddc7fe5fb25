//! From a network to a schedule for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use millstream::schedule::ScheduleDocument;
use millstream::{
    Aim, Constraints, Control, CostSource, Error, Machine, Network, Objective, PlanOn, ReadOptions, Scheduled, plan,
};
use pyo3::prelude::*;

use crate::documents::{Document, Model};
use crate::errors::{self, InputError};
use crate::events::control;
use crate::waiting::do_long;

/// A network as it is read.
pub(crate) struct Wanted {
    pub(crate) model: Option<Model>,
    pub(crate) options: ReadOptions,
}

impl Wanted {
    pub(crate) fn new(
        model: Option<&Bound<'_, PyAny>>,
        dimensions: Option<BTreeMap<String, usize>>,
        batch: Option<usize>,
    ) -> PyResult<Self> {
        let usual = ReadOptions::default();
        let (dimensions, batch) = (dimensions.unwrap_or_default(), batch.unwrap_or(usual.batch));
        Ok(Self { model: model.map(Model::read).transpose()?, options: ReadOptions { dimensions, batch, ..usual } })
    }

    /// The network, or that of a schedule if none is named.
    pub(crate) fn open(self, document: Option<&ScheduleDocument>) -> Result<Network, Error> {
        match (self.model, document) {
            (Some(Model::At(source)), _) => Network::open(&source, self.options),
            (Some(Model::Bytes(bytes)), _) => Network::from_bytes(bytes, "bytes", self.options),
            (None, Some(document)) => Network::of_schedule(&document.model),
            (None, None) => Err(Error::Unfit("name a model or a schedule".to_owned())),
        }
    }
}

/// What a schedule should be, and what it is planned on.
pub(crate) struct Request {
    pub(crate) aim: Aim,
    pub(crate) profile: Option<PathBuf>,
    pub(crate) costs: Option<PathBuf>,
    pub(crate) fresh: bool,
    pub(crate) budget: Option<Duration>,
}

impl Request {
    /// The network with its schedule, and the machine with the engines that it is for.
    fn plan(&self, machine: &Machine, network: Network, control: &Control) -> Result<(Machine, Scheduled), Error> {
        let source = cost_source(self.profile.as_deref(), self.costs.as_deref())?;
        let machine = source.map_or_else(|| Ok(machine.clone()), |source| source.machine(machine))?;
        let on = match source {
            Some(source) => PlanOn::Costs(source),
            None if self.fresh => PlanOn::ThisMachineAnew,
            None => {
                if let Some(budget) = self.budget {
                    machine.profile(&network, budget, control)?;
                }
                PlanOn::ThisMachine
            }
        };
        let document = plan(&machine, &network, &self.aim, on, control)?.document;
        let scheduled = Scheduled::alone(network, document, machine.board())?;
        Ok((machine, scheduled))
    }
}

/// Where costs come from, if a caller says so.
pub(crate) fn cost_source<'a>(
    profile: Option<&'a Path>,
    costs: Option<&'a Path>,
) -> Result<Option<CostSource<'a>>, Error> {
    match (profile, costs) {
        (Some(path), None) => Ok(Some(CostSource::Profile(path))),
        (None, Some(path)) => Ok(Some(CostSource::Models(path))),
        (None, None) => Ok(None),
        _ => Err(Error::Unfit("name a profile or cost models, not both".to_owned())),
    }
}

/// Constraints in seconds, frames per second and watts.
pub(crate) fn aim(
    objective: &str,
    (max_latency, min_throughput, max_power): (Option<f64>, Option<f64>, Option<f64>),
    margin: f64,
) -> PyResult<Aim> {
    let objective = Objective::from_str(objective).map_err(|error| InputError::new_err(error.to_string()))?;
    let max_latency = max_latency.map(|seconds| duration("max_latency", seconds)).transpose()?.map(Into::into);
    let max_period = min_throughput.map(|hertz| duration("min_throughput", 1.0 / hertz)).transpose()?.map(Into::into);
    let constraints = Constraints { max_latency, max_period, max_watts: max_power };
    Ok(Aim::best(objective).within(constraints).with_margin(margin))
}

/// A time that a caller gave in seconds.
pub(crate) fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    let positive = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    positive.ok_or_else(|| InputError::new_err(format!("{name} must be a positive number")))
}

/// How long a caller waits, in seconds: not at all with 0.
pub(crate) fn limit(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let limit = timeout.map(Duration::try_from_secs_f64).transpose();
    limit.map_err(|_| InputError::new_err("timeout must be a number of seconds that is not negative"))
}

/// A network with its schedule: the given one, or a new one.
pub(crate) fn scheduled(
    py: Python<'_>,
    machine: &Machine,
    wanted: Wanted,
    schedule: Option<&Document>,
    request: &Request,
    observer: Option<Py<PyAny>>,
) -> PyResult<(Machine, Scheduled)> {
    let document = schedule.map(|text| text.parse(ScheduleDocument::from_json)).transpose();
    let document = document.map_err(|error| errors::of(&error))?;
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let control = control(observer, &is_cancelled);
    let work = || {
        let network = wanted.open(document.as_ref())?;
        match document {
            Some(document) => {
                Ok((machine.clone(), Scheduled::alone(network, document, machine.board())?.with_engines_of(machine)))
            }
            None => request.plan(machine, network, &control),
        }
    };
    do_long(py, &is_cancelled, work)?.map_err(|error: Error| errors::of(&error))
}
