//! Heat as it is simulated.

use millstream_cost::Nanoseconds;

use crate::heat::Heat;
use crate::simulation::Simulator;
use crate::{Conditions, SimulationError};

impl Simulator<'_> {
    /// Looks at temperatures, and sets clocks.
    pub(crate) fn tick(&mut self) {
        (0..self.running.len()).for_each(|index| self.settle(self.running[index]));
        for index in 0..self.heat.len() {
            let label = self.heat[index].label;
            let joules = self.tracks.iter().filter(|track| track.label == label).map(|track| track.joules).sum();
            let heat = &mut self.heat[index];
            let seconds = Heat::TICK as f64 * 1e-9;
            let watts = heat.idle_watts + (joules - heat.joules) / seconds;
            heat.joules = joules;
            heat.advance(watts, seconds);
            let (clock, power) = heat.factors();
            let speed = &mut self.speeds[label];
            if speed.cooled != clock {
                (speed.cooled, speed.cooled_power) = (clock, power);
                let factor = speed.factor();
                self.is_changed = true;
                self.history.push((Nanoseconds(self.now), self.labels[label].clone(), factor));
            }
        }
    }
}

impl Heat {
    /// Those of the clusters that are in use.
    pub(crate) fn all(simulator: &Simulator<'_>, conditions: &Conditions) -> Result<Vec<Self>, SimulationError> {
        let mut found = Vec::new();
        for own in &conditions.thermals {
            let Some(label) = simulator.labels.iter().position(|label| *label == own.cluster) else { continue };
            let tracks = simulator.tracks.iter().filter(|track| track.label == label);
            let idle: Option<f64> = tracks.map(|track| track.idle_watts).sum();
            found.push(Self {
                label,
                thermal: own.thermal,
                points: own.operating_points.clone(),
                point: own.operating_points.len().saturating_sub(1),
                celsius: own.thermal.ambient_celsius,
                idle_watts: idle.ok_or_else(|| SimulationError::UnknownPower { cluster: own.cluster.clone() })?,
                joules: 0.0,
            });
        }
        Ok(found)
    }
}
