//! What a session is asked for: a schedule of a file, or a network to plan for.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use millstream_pipeline::{Constraints, Objective};
use millstream_schedule::ScheduleDocument;

use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::{CostSource, PROFILE_BUDGET};
use crate::network::Network;
use crate::planning::{PlanOn, plan};
use crate::plans::Aim;
use crate::schedules::Scheduled;

/// A request for a schedule: its aim and the source of its costs, all of them optional.
#[derive(Debug, Clone, Default)]
pub struct SessionRequest {
    /// What the schedule should be best at, and within which limits.
    pub aim: Aim,
    /// A profile to plan on, without measuring or trying anything.
    pub profile: Option<PathBuf>,
    /// Cost models to plan on in the same way.
    pub costs: Option<PathBuf>,
    /// Measure even if the network was measured before.
    pub is_fresh: bool,
    /// Time to measure the network, unless a profile of before is used; otherwise about 20 s.
    pub budget: Option<Duration>,
}

impl SessionRequest {
    /// A network with its schedule, and the machine with the engines that it is for: the schedule that is given, or a
    /// new one. Without a network, it is that of the schedule.
    ///
    /// # Errors
    /// [`Error::Unfit`] if there is neither, as [`Scheduled::alone`] if the schedule does not fit, as
    /// [`SessionRequest::plan`] otherwise.
    pub fn scheduled(
        &self,
        machine: &Machine,
        network: Option<Network>,
        schedule: Option<ScheduleDocument>,
        control: &Control,
    ) -> Result<(Machine, Scheduled), Error> {
        let Some(document) = schedule else {
            let network = network.ok_or_else(|| Error::Unfit("name a model or a schedule".to_owned()))?;
            return self.plan(machine, network, control);
        };
        let network = network.map_or_else(|| Network::of_schedule(&document.model), Ok)?;
        let scheduled = Scheduled::alone(network, document, machine.board())?.with_engines_of(machine);
        Ok((machine.clone(), scheduled))
    }

    /// The network with its schedule, and the machine with the engines that it is for.
    ///
    /// # Errors
    /// [`Error::Unfit`] if both a profile and cost models are named; as [`plan`].
    pub fn plan(&self, machine: &Machine, network: Network, control: &Control) -> Result<(Machine, Scheduled), Error> {
        let source = CostSource::named(self.profile.as_deref(), self.costs.as_deref())?;
        let machine = source.map_or_else(|| Ok(machine.clone()), |source| source.machine(machine))?;
        let on = match source {
            Some(source) => PlanOn::Costs(source),
            None if self.is_fresh => PlanOn::ThisMachineAnew(self.budget.unwrap_or(PROFILE_BUDGET)),
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

impl<'a> CostSource<'a> {
    /// Where costs come from, if a caller says so.
    ///
    /// # Errors
    /// [`Error::Unfit`] if both are named.
    pub fn named(profile: Option<&'a Path>, costs: Option<&'a Path>) -> Result<Option<Self>, Error> {
        match (profile, costs) {
            (Some(path), None) => Ok(Some(Self::Profile(path))),
            (None, Some(path)) => Ok(Some(Self::Models(path))),
            (None, None) => Ok(None),
            _ => Err(Error::Unfit("name a profile or cost models, not both".to_owned())),
        }
    }
}

/// Limits of a schedule as plain numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// The longest latency, in seconds.
    pub max_latency: Option<f64>,
    /// The least throughput, in frames per second.
    pub min_throughput: Option<f64>,
    /// The most power, in watts.
    pub max_power: Option<f64>,
}

impl Aim {
    /// As callers in other languages say it: an objective by its name, limits, and the part by which predictions must
    /// be better.
    ///
    /// # Errors
    /// [`Error::Unfit`] with the name of what can't be used.
    pub fn named(objective: &str, limits: Limits, margin: f64) -> Result<Self, Error> {
        let objective = Objective::from_str(objective).map_err(|error| Error::Unfit(error.to_string()))?;
        let Limits { max_latency, min_throughput, max_power } = limits;
        let max_latency = max_latency.map(|seconds| positive_seconds("max_latency", seconds)).transpose()?;
        let max_period = min_throughput.map(|hertz| period("min_throughput", hertz)).transpose()?;
        let constraints = Constraints {
            max_latency: max_latency.map(Into::into),
            max_period: max_period.map(Into::into),
            max_watts: max_power,
        };
        max_power.map_or(Ok(()), |watts| check_positive("max_power", watts))?;
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(Error::Unfit("margin must be a number that is not negative".to_owned()));
        }
        if margin > 0.0 && limits == Limits::default() {
            let message = "a margin is one to a limit: give max_latency, min_throughput or max_power with it";
            return Err(Error::Unfit(message.to_owned()));
        }
        Ok(Self::best(objective).within(constraints).with_margin(margin))
    }
}

/// A time that a caller gave as a number of seconds, by this name.
///
/// # Errors
/// [`Error::Unfit`] unless it is positive, at least a nanosecond, and no longer than a clock reaches.
pub fn positive_seconds(name: &str, seconds: f64) -> Result<Duration, Error> {
    check_positive(name, seconds)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time.is_zero() => {
            Err(Error::Unfit(format!("{name} must be at least 1e-9 seconds, not {seconds:e}")))
        }
        Ok(time) => Ok(time),
        Err(_) => Err(Error::Unfit(format!("{name} is too large: {seconds:e} seconds"))),
    }
}

/// The period of a rate that a caller gave in frames per second, by this name.
fn period(name: &str, hertz: f64) -> Result<Duration, Error> {
    check_positive(name, hertz)?;
    match Duration::try_from_secs_f64(1.0 / hertz) {
        Ok(time) if time.is_zero() => Err(Error::Unfit(format!("{name} must be at most 1e9 frames/s, not {hertz:e}"))),
        Ok(time) => Ok(time),
        Err(_) => Err(Error::Unfit(format!("{name} is too small: {hertz:e} frames/s"))),
    }
}

fn check_positive(name: &str, number: f64) -> Result<(), Error> {
    if number.is_finite() && number > 0.0 {
        Ok(())
    } else {
        Err(Error::Unfit(format!("{name} must be a positive number")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn numbers_become_limits_or_are_refused_by_name() {
        let limits = Limits { max_latency: Some(0.5), min_throughput: Some(20.0), max_power: Some(3.0) };
        let aim = Aim::named("latency", limits, 0.25).unwrap();
        assert_eq!((aim.objective, aim.margin), (Objective::Latency, 0.25));
        assert_eq!(aim.constraints.max_latency, Some(Duration::from_millis(500).into()));
        assert_eq!(aim.constraints.max_period, Some(Duration::from_millis(50).into()));
        assert_eq!(aim.constraints.max_watts, Some(3.0));

        let refused = |limits| Aim::named("latency", limits, 0.0).unwrap_err().to_string();
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let latency = Limits { max_latency: Some(wrong), ..Limits::default() };
            assert_eq!(refused(latency), "max_latency must be a positive number", "{wrong}");
        }
        let latency = |seconds| refused(Limits { max_latency: Some(seconds), ..Limits::default() });
        assert_eq!(latency(1e-12), "max_latency must be at least 1e-9 seconds, not 1e-12");
        assert_eq!(latency(1e300), "max_latency is too large: 1e300 seconds");
        let throughput = |hertz| refused(Limits { min_throughput: Some(hertz), ..Limits::default() });
        assert_eq!(throughput(1e12), "min_throughput must be at most 1e9 frames/s, not 1e12");
        assert_eq!(throughput(1e-300), "min_throughput is too small: 1e-300 frames/s");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let throughput = Limits { min_throughput: Some(wrong), ..Limits::default() };
            assert_eq!(refused(throughput), "min_throughput must be a positive number", "{wrong}");
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let power = Limits { max_power: Some(wrong), ..Limits::default() };
            assert_eq!(refused(power), "max_power must be a positive number", "{wrong}");
        }

        for wrong in [-0.1, f64::NAN, f64::INFINITY] {
            let message = Aim::named("latency", limits, wrong).unwrap_err().to_string();
            assert_eq!(message, "margin must be a number that is not negative", "{wrong}");
        }
        let message = Aim::named("latency", Limits::default(), 0.1).unwrap_err().to_string();
        assert!(message.contains("a margin is one to a limit"), "{message}");
        assert!(Aim::named("latency", Limits::default(), 0.0).is_ok());
        let message = Aim::named("speed", Limits::default(), 0.0).unwrap_err().to_string();
        assert!(message.contains("speed") && message.contains("throughput"), "{message}");
    }

    #[test]
    fn a_network_or_a_schedule_is_needed_and_one_source_of_costs_at_most() {
        let machine = Machine::of_board(crate::BuiltInBoard::all().next().unwrap().board().unwrap());
        let scheduled = SessionRequest::default().scheduled(&machine, None, None, &Control::new());
        assert!(scheduled.is_err_and(|error| error.to_string().contains("a model or a schedule")));
        let (one, other) = (Path::new("profile.json"), Path::new("cost.json"));
        assert!(CostSource::named(Some(one), Some(other)).is_err());
        assert!(matches!(CostSource::named(Some(one), None), Ok(Some(CostSource::Profile(path))) if path == one));
        assert!(matches!(CostSource::named(None, Some(other)), Ok(Some(CostSource::Models(path))) if path == other));
        assert!(matches!(CostSource::named(None, None), Ok(None)));
    }
}
