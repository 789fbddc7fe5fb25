//! The process that heats clusters up and cools them down, and lowers the clocks of those that get too hot.

use millstream_cost::Nanoseconds;

use crate::error::SimulationError;
use crate::input::conditions::ClusterThermal;
use crate::state::board::BoardState;
use crate::state::cluster::Speed;
use crate::state::temperature::{ClockFactors, ClusterTemperature};

/// Temperatures at the start, of those clusters that schedules use.
pub(crate) fn initial_temperatures(
    thermals: &[ClusterThermal],
    board: &BoardState,
) -> Result<Vec<ClusterTemperature>, SimulationError> {
    let mut temperatures = Vec::new();
    for ClusterThermal { cluster: label, thermal, operating_points } in thermals {
        let Some(cluster) = board.cluster(label) else { continue };
        let processors = board.processors.iter().filter(|processor| processor.cluster == cluster);
        let idle: Option<f64> = processors.map(|processor| processor.idle_watts).sum();
        temperatures.push(ClusterTemperature {
            cluster,
            thermal: *thermal,
            points: operating_points.clone(),
            point: operating_points.len().saturating_sub(1),
            celsius: thermal.ambient_celsius,
            idle_watts: idle.ok_or_else(|| SimulationError::UnknownPower { cluster: label.clone() })?,
            joules: 0.0,
        });
    }
    Ok(temperatures)
}

/// Updates temperatures after another [`ClusterTemperature::TICK`], and sets clocks.
pub(crate) fn update_temperatures(temperatures: &mut [ClusterTemperature], board: &mut BoardState, now: Nanoseconds) {
    board.settle_all(now);
    for temperature in temperatures {
        let processors = board.processors.iter().filter(|processor| processor.cluster == temperature.cluster);
        let joules = processors.map(|processor| processor.joules).sum();
        let seconds = ClusterTemperature::TICK.seconds();
        let watts = temperature.idle_watts + (joules - temperature.joules) / seconds;
        temperature.joules = joules;
        temperature.advance(watts, seconds);

        let ClockFactors { speed: throttled, power: throttled_power } = temperature.factors();
        let speed = board.clusters[temperature.cluster].speed;
        if speed.throttled != throttled {
            board.set_speed(temperature.cluster, Speed { throttled, throttled_power, ..speed }, now);
        }
    }
}
