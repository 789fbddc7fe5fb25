//! Power of clusters under known load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

use millstream_board::{Board, Cluster};
use millstream_predict::samples::PowerSample;

use crate::conditions::frequency;
use crate::error::ProfileError;
use crate::side_by_side::pin;
use millstream_machine::PowerSensors;

/// Time for each load.
const TIME: Duration = Duration::from_millis(400);
/// Voltage and frequency where neither the system nor the board file says: the coefficients then contain them.
const UNKNOWN_VOLTS: f64 = 1.0;
const UNKNOWN_HERTZ: f64 = 1e9;

/// Measures power with no core and with 1, 2, ... cores of each cluster busy. The sensors are of all clusters together:
/// what they show with nothing busy counts for the clusters by their numbers of cores, and what a busy cluster adds
/// counts for it. Empty if a sensor stops answering.
///
/// # Errors
/// [`ProfileError::Thread`].
pub fn measure_power(board: &Board, sensors: &PowerSensors) -> Result<Vec<PowerSample>, ProfileError> {
    let Some(idle) = sensors.watts(TIME) else { return Ok(Vec::new()) };
    let all_cores = board.cores().count().max(1) as f64;
    let mut samples = Vec::new();
    for cluster in board.clusters() {
        let share = idle * cluster.cores.len() as f64 / all_cores;
        for busy in 0..=cluster.cores.len() {
            let Some((watts, hertz)) = under_load(cluster, busy, sensors)? else { return Ok(Vec::new()) };
            samples.push(PowerSample {
                cluster: cluster.label.clone(),
                volts: volts(cluster, hertz),
                hertz,
                utilisation: busy as f64 / cluster.cores.len().max(1) as f64,
                watts: share + if busy == 0 { 0.0 } else { (watts - idle).max(0.0) },
            });
        }
    }
    Ok(samples)
}

/// Power, and the clock of the cluster's first core, while so many of its cores are busy.
fn under_load(cluster: &Cluster, busy: usize, sensors: &PowerSensors) -> Result<Option<(f64, f64)>, ProfileError> {
    let stop = AtomicBool::new(false);
    let watts = std::thread::scope(|scope| {
        for core in cluster.cores.iter().take(busy) {
            let (id, stop) = (core.id, &stop);
            let work = move || {
                pin(id);
                let mut value = 1.0_f64;
                while !stop.load(Ordering::Relaxed) {
                    value = std::hint::black_box(value.mul_add(1.000_000_1, 1e-9));
                }
            };
            if let Err(source) = Builder::new().spawn_scoped(scope, work) {
                stop.store(true, Ordering::Relaxed);
                let processor = cluster.processor([id]);
                return Err(ProfileError::Thread { processor, source });
            }
        }
        let watts = sensors.watts(TIME);
        let hertz = cluster.cores.first().and_then(|core| frequency(core.id));
        stop.store(true, Ordering::Relaxed);
        Ok(watts.zip(Some(hertz)))
    })?;
    let Some((watts, hertz)) = watts else { return Ok(None) };
    let fastest = cluster.operating_points.last().map(|point| point.hertz as f64);
    Ok(Some((watts, hertz.or(fastest).unwrap_or(UNKNOWN_HERTZ))))
}

/// The voltage of the operating point that is nearest to a frequency.
fn volts(cluster: &Cluster, hertz: f64) -> f64 {
    let known = cluster.operating_points.iter().filter_map(|point| Some((point.hertz as f64, point.volts?)));
    let nearest = known.min_by(|(left, _), (right, _)| (left - hertz).abs().total_cmp(&(right - hertz).abs()));
    nearest.map_or(UNKNOWN_VOLTS, |(_, volts)| volts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voltages_are_those_of_the_nearest_operating_point() {
        let board = millstream_test_support::board("B1~1e9=0.8,2e9=1.1");
        let cluster = &board.clusters()[0];
        assert_eq!([0.5e9, 1.4e9, 1.6e9].map(|hertz| volts(cluster, hertz)), [0.8, 0.8, 1.1]);
    }
}
