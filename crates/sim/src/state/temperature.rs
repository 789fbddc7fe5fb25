//! The temperature of a cluster, and the clock that it is allowed.

use millstream_board::{OperatingPoint, Thermal};
use millstream_cost::Nanoseconds;

use crate::state::ids::ClusterIndex;

/// A cluster's temperature.
pub(crate) struct ClusterTemperature {
    pub(crate) cluster: ClusterIndex,
    pub(crate) thermal: Thermal,
    /// What its clock can be set to, ascending.
    pub(crate) points: Vec<OperatingPoint>,
    /// The place of the present operating point among these.
    pub(crate) point: usize,
    pub(crate) celsius: f64,
    pub(crate) idle_watts: f64,
    /// Energy beyond idle power until the last update.
    pub(crate) joules: f64,
}

/// What an operating point leaves of a cluster's speed and power, as parts of those at the highest one.
pub(crate) struct ClockFactors {
    pub(crate) speed: f64,
    pub(crate) power: f64,
}

impl ClusterTemperature {
    /// The time between two updates.
    pub(crate) const TICK: Nanoseconds = Nanoseconds(10_000_000);

    /// Updates temperature and operating point after some seconds at some power.
    pub(crate) fn advance(&mut self, watts: f64, seconds: f64) {
        let Thermal { ambient_celsius, limit_celsius, resume_celsius, kelvin_per_watt, time_constant_seconds } =
            self.thermal;
        let steady_celsius = ambient_celsius + kelvin_per_watt * watts;
        self.celsius += (steady_celsius - self.celsius) * (1.0 - (-seconds / time_constant_seconds).exp());

        if self.celsius > limit_celsius {
            self.point = self.point.saturating_sub(1);
        } else if self.celsius < resume_celsius && self.point + 1 < self.points.len() {
            self.point += 1;
        }
    }

    /// What the present operating point leaves. Power goes with the clock and the square of the voltage.
    pub(crate) fn factors(&self) -> ClockFactors {
        let (Some(point), Some(highest)) = (self.points.get(self.point), self.points.last()) else {
            return ClockFactors { speed: 1.0, power: 1.0 };
        };
        let speed = point.hertz as f64 / highest.hertz as f64;
        let volts = point.volts.zip(highest.volts).map_or(1.0, |(volts, full)| volts / full);
        ClockFactors { speed, power: speed * volts * volts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::numbered::Number;

    #[test]
    fn the_clock_goes_down_at_the_limit_and_up_when_it_is_cool() {
        let thermal = Thermal {
            ambient_celsius: 25.0,
            limit_celsius: 75.0,
            resume_celsius: 70.0,
            kelvin_per_watt: 20.0,
            time_constant_seconds: 10.0,
        };
        let point = |hertz, volts| OperatingPoint { hertz, volts: Some(volts) };
        let points = vec![point(1_000_000_000, 0.8), point(2_000_000_000, 1.0)];
        let mut cluster = ClusterTemperature {
            cluster: ClusterIndex::new(0),
            thermal,
            points,
            point: 1,
            celsius: 25.0,
            idle_watts: 0.0,
            joules: 0.0,
        };
        cluster.advance(5.0, 10.0);
        assert!((cluster.celsius - (25.0 + 100.0 * (1.0 - (-1.0_f64).exp()))).abs() < 1e-9);
        assert_eq!(cluster.point, 0, "{} degrees are too hot", cluster.celsius);
        let ClockFactors { speed, power } = cluster.factors();
        assert!((speed - 0.5).abs() < 1e-12 && (power - 0.5 * 0.64).abs() < 1e-12);
        cluster.advance(0.0, 1.0);
        assert_eq!(cluster.point, 0, "{} degrees are not cool yet", cluster.celsius);
        cluster.advance(0.0, 10.0);
        assert_eq!(cluster.point, 1);
    }
}
