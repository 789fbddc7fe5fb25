//! Trials that are computed from a table of layer times, with noise and transfers.

use millstream_cost::Nanoseconds;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::oracle::{Oracle, Trial};
use crate::space::Space;

/// Times of every layer on every place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerTimes {
    layers: usize,
    /// Per place.
    times: Vec<Vec<Nanoseconds>>,
}

impl LayerTimes {
    /// What a function says, in the order of the space's places and layers.
    pub fn new(space: &Space, mut time: impl FnMut(crate::PlaceId, usize) -> Nanoseconds) -> Self {
        let times = space.places().map(|place| (0..space.layers()).map(|layer| time(place, layer)).collect());
        Self { layers: space.layers(), times: times.collect() }
    }

    /// Time of a layer on a place.
    pub fn time(&self, place: crate::PlaceId, layer: usize) -> Nanoseconds {
        self.times[place.0][layer]
    }

    /// Time of each stage.
    pub fn stage_times(&self, configuration: &Configuration) -> Vec<Nanoseconds> {
        let stages = configuration.ranges().zip(configuration.places());
        stages.map(|(range, place)| self.times[place.0][range].iter().copied().sum()).collect()
    }

    /// Time between two frames: that of the slowest stage.
    pub fn period(&self, configuration: &Configuration) -> Nanoseconds {
        self.stage_times(configuration).into_iter().max().unwrap_or_default()
    }

    pub(crate) fn check(&self, space: &Space) -> Result<(), TuneError> {
        let (layers, places) = (self.layers, self.times.len());
        if (layers, places) == (space.layers(), space.places().len()) {
            return Ok(());
        }
        Err(TuneError::Misfit {
            layers,
            places,
            expected_layers: space.layers(),
            expected_places: space.places().len(),
        })
    }
}

/// An oracle that looks times up instead of running anything, as Shisha's evaluation does (section 6).
#[derive(Debug, Clone)]
pub struct Database {
    times: LayerTimes,
    /// Standard deviation of a layer's measured time, relative to its time.
    noise: f64,
    reports_layers: bool,
    /// Frames that a trial runs.
    frames: u64,
    /// Added to each stage that takes over a frame from another place.
    transfer: Nanoseconds,
    random: ChaCha8Rng,
}

impl Database {
    /// Frames of a trial unless [`Database::with_frames`] says otherwise.
    pub const FRAMES: u64 = 10;

    /// An oracle without noise that times stages.
    pub fn new(times: LayerTimes) -> Self {
        Self {
            times,
            noise: 0.0,
            reports_layers: false,
            frames: Self::FRAMES,
            transfer: Nanoseconds::ZERO,
            random: ChaCha8Rng::seed_from_u64(0),
        }
    }

    /// With noise: each trial multiplies the times of each stage's layers by normally distributed factors of this
    /// standard deviation around 1.
    #[must_use]
    pub fn with_noise(mut self, relative: f64, seed: u64) -> Self {
        self.noise = relative;
        self.random = ChaCha8Rng::seed_from_u64(seed);
        self
    }

    /// With times of single layers in what trials tell.
    #[must_use]
    pub fn reporting_layers(mut self) -> Self {
        self.reports_layers = true;
        self
    }

    /// With so many frames per trial.
    #[must_use]
    pub fn with_frames(mut self, frames: u64) -> Self {
        self.frames = frames;
        self
    }

    /// With time for passing a frame from place to place, which the receiving stage pays.
    #[must_use]
    pub fn with_transfer(mut self, transfer: Nanoseconds) -> Self {
        self.transfer = transfer;
        self
    }

    /// A normally distributed factor around 1, never below a tenth.
    fn factor(&mut self) -> f64 {
        if self.noise == 0.0 {
            return 1.0;
        }
        let normal: f64 = StandardNormal.sample(&mut self.random);
        (1.0 + self.noise * normal).max(0.1)
    }
}

impl Oracle<Configuration> for Database {
    /// The trial takes as long as the pipeline needs to pass its frames, from the first one's start to the last one's
    /// end.
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        let mut stage_times = Vec::with_capacity(configuration.stages());
        let mut layer_times = Vec::new();
        for (stage, (range, &place)) in configuration.ranges().zip(configuration.places()).enumerate() {
            let mut seconds = 0.0;
            // What disturbs a stage disturbs all its layers; timing layers one by one is as noisy for each.
            let shared = self.factor();
            for layer in range {
                let time = self.times.time(place, layer).seconds();
                seconds += time;
                if self.reports_layers {
                    layer_times.push(Nanoseconds::from_seconds(time * self.factor()));
                }
            }
            let taken_over = if stage > 0 { self.transfer } else { Nanoseconds::ZERO };
            stage_times.push(Nanoseconds::from_seconds(seconds * shared) + taken_over);
        }
        let period = stage_times.iter().copied().max().unwrap_or_default();
        let latency: Nanoseconds = stage_times.iter().copied().sum();
        let spent = Nanoseconds(latency.0 + self.frames.saturating_sub(1) * period.0);
        Ok(Trial { stage_times, layer_times, period, spent, available: Vec::new() })
    }
}
