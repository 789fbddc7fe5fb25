//! Whether streams and conditions have a meaning.

use millstream_cost::Nanoseconds;

use crate::error::SimulationError;
use crate::input::conditions::{Conditions, DisturbanceKind};
use crate::input::simulated_network::SimulatedNetwork;

/// Until when frames may go on arriving, 146 years: no time of a simulation is then too large for its type.
const LAST_ARRIVAL: Nanoseconds = Nanoseconds(u64::MAX / 4);

/// Checks numbers that must be positive, and times that must not be too large.
pub(crate) fn check(streams: &[SimulatedNetwork<'_>], conditions: &Conditions) -> Result<(), SimulationError> {
    let wrong = |what: &str, value: f64, expected: &'static str| {
        Err(SimulationError::Condition { what: what.to_owned(), value, expected })
    };
    let positive = |what: &str, value: f64| {
        if value.is_finite() && value > 0.0 { Ok(()) } else { wrong(what, value, "a number above 0") }
    };

    if !(conditions.noise.is_finite() && conditions.noise >= 0.0) {
        return wrong("the noise", conditions.noise, "a number from 0 on, 0.1 for a tenth");
    }
    if streams.iter().any(|stream| stream.frames_in_flight == Some(0)) {
        return wrong("the number of frames in flight", 0.0, "1 frame or more");
    }
    let last = |stream: &SimulatedNetwork<'_>| {
        let interval = stream.interval?;
        let last = Nanoseconds(interval.0.saturating_mul(stream.frames as u64));
        (last > LAST_ARRIVAL).then_some(interval.seconds())
    };
    if let Some(interval) = streams.iter().find_map(last) {
        return wrong("the time between two frames [s]", interval, "so short that all arrive within a century");
    }
    streams.iter().try_for_each(|stream| positive("the weight of a stream", stream.weight))?;
    conditions.memory_bytes_per_second.map_or(Ok(()), |rate| positive("the memory's bandwidth", rate))?;
    for disturbance in &conditions.disturbances {
        match &disturbance.kind {
            DisturbanceKind::Speed { label, factor } => positive(&format!("the speed of '{label}'"), *factor)?,
            DisturbanceKind::Link { link, factor } => positive(&format!("the speed of the link '{link}'"), *factor)?,
            DisturbanceKind::Lost(_) | DisturbanceKind::Restored(_) => {}
        }
    }
    Ok(())
}
