//! Clusters that get too hot lower their clocks.

use millstream_board::{OperatingPoint, Thermal};

/// A cluster's temperature.
pub(crate) struct Heat {
    pub(crate) label: usize,
    pub(crate) thermal: Thermal,
    pub(crate) points: Vec<OperatingPoint>,
    /// The operating point that it is at.
    pub(crate) point: usize,
    pub(crate) celsius: f64,
    pub(crate) idle_watts: f64,
    /// Energy beyond idle power until the last look.
    pub(crate) joules: f64,
}

impl Heat {
    /// Time between two looks.
    pub(crate) const TICK: u64 = 10_000_000;

    /// The temperature and operating point after another while at some power.
    pub(crate) fn advance(&mut self, watts: f64, seconds: f64) {
        let Thermal { ambient_celsius, limit_celsius, resume_celsius, kelvin_per_watt, time_constant_seconds } =
            self.thermal;
        let end = ambient_celsius + kelvin_per_watt * watts;
        self.celsius += (end - self.celsius) * (1.0 - (-seconds / time_constant_seconds).exp());
        if self.celsius > limit_celsius {
            self.point = self.point.saturating_sub(1);
        } else if self.celsius < resume_celsius && self.point + 1 < self.points.len() {
            self.point += 1;
        }
    }

    /// Clock and power at the present operating point, as parts of those at the last.
    pub(crate) fn factors(&self) -> (f64, f64) {
        let (Some(point), Some(last)) = (self.points.get(self.point), self.points.last()) else { return (1.0, 1.0) };
        let clock = point.hertz as f64 / last.hertz as f64;
        let volts = point.volts.zip(last.volts).map_or(1.0, |(own, full)| own / full);
        (clock, clock * volts * volts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut heat = Heat { label: 0, thermal, points, point: 1, celsius: 25.0, idle_watts: 0.0, joules: 0.0 };
        heat.advance(5.0, 10.0);
        assert!((heat.celsius - (25.0 + 100.0 * (1.0 - (-1.0_f64).exp()))).abs() < 1e-9);
        assert_eq!(heat.point, 0, "{} degrees are too hot", heat.celsius);
        let (clock, power) = heat.factors();
        assert!((clock - 0.5).abs() < 1e-12 && (power - 0.5 * 0.64).abs() < 1e-12);
        heat.advance(0.0, 1.0);
        assert_eq!(heat.point, 0, "{} degrees are not cool yet", heat.celsius);
        heat.advance(0.0, 10.0);
        assert_eq!(heat.point, 1);
    }
}
