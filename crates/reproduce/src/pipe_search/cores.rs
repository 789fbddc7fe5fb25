//! The board of the paper, as far as it is described.

use millstream_cost::Nanoseconds;
use millstream_tune::{Configuration, Exhaustive, Oracle, PlaceKind, Space, Trial, TuneError, Tuner};

use super::data::VGG16;
use crate::paper::ReproduceError;

/// Why what depends on speeds misses.
pub(super) const SPEEDS: &str = "how fast the board's cores are, and how stages share them, is not printed: speeds are assumed, and stages have equal shares";

/// Two Denver and four A57 cores, of which two: what the paper runs VGG16 on. A stage has its share of the four cores,
/// the Denver cores first.
pub(super) struct Cores<'a> {
    weights: &'a [u64],
    /// Multiply-accumulates per second of each core.
    speeds: [f64; 4],
}

/// Frequencies of the governor settings: both clusters between 345 MHz and 2.035 GHz.
const FASTEST: f64 = 2.035e9;
const SLOWEST: f64 = 0.345e9;
/// Work per cycle of a Denver core, in terms of an A57 core.
const DENVER: f64 = 1.2;

impl<'a> Cores<'a> {
    /// Settings 1 to 4 of table 1. `rate` is an A57 core's work per cycle.
    pub(super) fn new(weights: &'a [u64], setting: usize, rate: f64) -> Self {
        let a57 = if setting <= 2 { FASTEST } else { SLOWEST } * rate;
        let denver = if setting % 2 == 1 { FASTEST } else { SLOWEST } * rate * DENVER;
        Self { weights, speeds: [denver, denver, a57, a57] }
    }

    fn stage_times(&self, layers: &[usize]) -> Vec<Nanoseconds> {
        let stages = layers.len();
        let mut start = 0;
        let time = |(stage, &count): (usize, &usize)| {
            start += count;
            let work = self.weights[start - count..start].iter().sum::<u64>() as f64;
            let cores = 4 * stage / stages..(4 * (stage + 1) / stages).max(4 * stage / stages + 1);
            Nanoseconds::from_seconds(work / self.speeds[cores].iter().sum::<f64>())
        };
        layers.iter().enumerate().map(time).collect()
    }
}

impl Oracle<Configuration> for Cores<'_> {
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        let stage_times = self.stage_times(configuration.layers());
        let period = stage_times.iter().copied().max().unwrap_or_default();
        // Stages are timed one after the other: the pipeline is started once a configuration is chosen (section 5.1).
        let spent = stage_times.iter().copied().sum();
        Ok(Trial { stage_times, period, spent, ..Trial::default() })
    }
}

/// Four cores that the search does not tell apart.
pub(super) fn space(weights: &[u64]) -> Result<Space, TuneError> {
    Space::new(weights.to_vec(), vec![PlaceKind::new("core", 4)])
}

/// As in the paper, at least two stages.
pub(super) const PIPELINES: Exhaustive = Exhaustive { fewest_stages: 2, most: 10_000, preparation: Nanoseconds::ZERO };

/// The rate at which the best pipeline under setting 1 has the throughput of table 6.
pub(super) fn calibrated(weights: &[u64]) -> Result<f64, ReproduceError> {
    let mut cores = Cores::new(weights, 1, 1.0);
    let best = PIPELINES.tune(&space(weights)?, &mut cores)?;
    Ok(best.trial.period.seconds() * VGG16[0].frames_per_second)
}
