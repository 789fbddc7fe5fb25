//! What a schedule promises, beside what comes out of its costs.

use millstream_schedule::{Achieved, Energy, Evaluation, Prediction, ScheduleDocument};

use crate::error::CertifyError;

/// Energies are kept in whole nanojoules, and summed in another order.
const JOULES: f64 = 2e-9;

/// Whether everything that a schedule promises of its frames is what an evaluation says, or a simulation, where
/// processors wait for memory or stages or replicas for the same link: period, latency, the times of all replicas and
/// the energy. Its power follows from these.
///
/// # Errors
/// [`CertifyError::Promise`] with the first number that is another one.
pub fn check_prediction(promised: &Prediction, found: &Evaluation, energy: Option<Energy>) -> Result<(), CertifyError> {
    equal("its period [s]", promised.period_seconds, found.period.seconds())?;
    equal("its latency [s]", promised.latency_seconds, found.latency.seconds())?;

    equal("the number of its stages", promised.replica_seconds.len() as f64, found.stages.len() as f64)?;
    for (seconds, stage) in promised.replica_seconds.iter().zip(&found.stages) {
        let times = &stage.replica_times;
        equal("the number of a stage's replicas", seconds.len() as f64, times.len() as f64)?;
        seconds
            .iter()
            .zip(times)
            .try_for_each(|(seconds, time)| equal("the time of a replica [s]", *seconds, time.seconds()))?;
    }

    // Not every search counts it.
    let Some(joules) = promised.joules_per_frame else { return Ok(()) };
    let energy = energy.ok_or(CertifyError::Missing { what: "an energy of frames" })?;
    close("the energy of a frame [J]", joules, energy.joules_per_frame, JOULES)
}

/// Whether the mean power that is promised is that of the energy, frame after frame.
pub(crate) fn check_power(promised: &Prediction) -> Result<(), CertifyError> {
    let Some(watts) = promised.watts else { return Ok(()) };
    let joules = promised.joules_per_frame.ok_or(CertifyError::Missing { what: "a mean power without an energy" })?;
    let period = promised.period_seconds.max(1e-12);
    close("its mean power [W]", watts, joules / period, JOULES / period)
}

/// Whether a period is not below what the schedule takes at least, however processors and stages wait for memory and
/// links.
pub(crate) fn check_not_below(promised: &Prediction, evaluated: &Evaluation) -> Result<(), CertifyError> {
    let (promised, found) = (promised.period_seconds, evaluated.least_period().seconds());
    if promised >= found { Ok(()) } else { Err(CertifyError::Promise { what: "its period [s]", promised, found }) }
}

/// Whether what a schedule promises keeps to the limits that it was planned for.
pub(crate) fn check_constraints(schedule: &ScheduleDocument) -> Result<(), CertifyError> {
    if let (Some(limit_watts), None) = (schedule.constraints.max_watts, schedule.predicted.watts) {
        return Err(CertifyError::UnsaidPower { limit_watts });
    }
    let promised = Achieved {
        latency_seconds: schedule.predicted.latency_seconds,
        period_seconds: Some(schedule.predicted.period_seconds),
        watts: schedule.predicted.watts,
    };
    // What was measured is beside what was planned: only predictions had to keep the margin.
    let constraints =
        if schedule.predicted.is_measured { schedule.constraints } else { schedule.constraints.with_margin_taken() };
    match constraints.missed(&promised).into_iter().next() {
        None => Ok(()),
        Some(missed) => Err(CertifyError::Constraint { missed }),
    }
}

/// Equal to the last digit: files keep all of them.
fn equal(what: &'static str, promised: f64, found: f64) -> Result<(), CertifyError> {
    if promised.total_cmp(&found).is_eq() { Ok(()) } else { Err(CertifyError::Promise { what, promised, found }) }
}

fn close(what: &'static str, promised: f64, found: f64, tolerance: f64) -> Result<(), CertifyError> {
    if (promised - found).abs() <= tolerance { Ok(()) } else { Err(CertifyError::Promise { what, promised, found }) }
}
