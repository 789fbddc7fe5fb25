//! What is believed of layers on places, corrected by trials.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;
use nalgebra::{DMatrix, DVector};

use crate::{Configuration, LayerTimes, Model, PlaceId, Space, Trial, TuneError};

/// How wrong the prior may be, and how noisy trials are: standard deviations of logarithms, so that 0.3 is about 30 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncertainty {
    /// Of a layer's time, the same wherever it runs.
    pub layer: f64,
    /// Of a place's speed, the same for all layers.
    pub place: f64,
    /// Of what a trial tells about a stage or a layer.
    pub noise: f64,
}

impl Default for Uncertainty {
    /// Layers 30 % wrong, places by a factor of 2, trials 2 %.
    fn default() -> Self {
        Self { layer: 0.3, place: std::f64::consts::LN_2, noise: 0.02 }
    }
}

/// More places than this are taken together by kind: the search on them one by one would take too long.
const MOST_SINGLE_PLACES: usize = 8;
/// Steps of the Gauss-Newton iteration; it converges quadratically from the last trial's result.
const STEPS: usize = 4;

/// A [`Model`] of layers on places: each layer and each place is off from the prior by an unknown factor. All trials so far
/// give the most likely factors, which is a regularised least-squares problem in their logarithms; the exact search then runs on the
/// corrected times.
#[derive(Debug, Clone)]
pub struct Beliefs {
    space: Space,
    prior: LayerTimes,
    uncertainty: Uncertainty,
    /// Group of each place: places of a group are taken to be equally fast.
    group: Vec<usize>,
    /// Places of each group.
    groups: Vec<Vec<PlaceId>>,
    observations: Vec<Observation>,
    /// Logarithms of the factors: layers, then groups.
    factors: DVector<f64>,
}

/// Some layers on a place took so long.
#[derive(Debug, Clone)]
struct Observation {
    layers: Range<usize>,
    place: PlaceId,
    log_seconds: f64,
}

impl Beliefs {
    /// Starts with the prior.
    ///
    /// # Errors
    /// [`TuneError::Misfit`] if the prior does not cover the space.
    pub fn new(space: &Space, prior: LayerTimes, uncertainty: Uncertainty) -> Result<Self, TuneError> {
        prior.check(space)?;
        let is_single = space.places().len() <= MOST_SINGLE_PLACES;
        let group: Vec<usize> =
            space.places().map(|place| if is_single { place.index() } else { space.kind(place) }).collect();
        let mut groups = vec![Vec::new(); group.iter().max().map_or(0, |last| last + 1)];
        space.places().for_each(|place| groups[group[place.index()]].push(place));
        let factors = DVector::zeros(space.layers() + groups.len());
        Ok(Self { space: space.clone(), prior, uncertainty, group, groups, observations: Vec::new(), factors })
    }

    /// The time that is believed of a layer on a place.
    pub fn time(&self, place: PlaceId, layer: usize) -> Nanoseconds {
        Nanoseconds::from_seconds(self.seconds(place, layer))
    }

    fn seconds(&self, place: PlaceId, layer: usize) -> f64 {
        let factor = self.factors[layer] + self.factors[self.space.layers() + self.group[place.index()]];
        self.prior.time(place, layer).seconds() * factor.exp()
    }

    /// The most likely factors under all observations.
    fn update(&mut self) {
        let layers = self.space.layers();
        let size = self.factors.len();
        let precision = |index: usize| {
            let deviation = if index < layers { self.uncertainty.layer } else { self.uncertainty.place };
            deviation.max(1e-6).powi(-2)
        };
        let weight = self.uncertainty.noise.max(1e-6).powi(-2);
        for _ in 0..STEPS {
            let mut matrix = DMatrix::<f64>::zeros(size, size);
            let mut slope = DVector::<f64>::zeros(size);
            for index in 0..size {
                matrix[(index, index)] = precision(index);
                slope[index] = -precision(index) * self.factors[index];
            }
            for observation in &self.observations {
                let place = layers + self.group[observation.place.index()];
                let times: Vec<f64> =
                    observation.layers.clone().map(|layer| self.seconds(observation.place, layer)).collect();
                let total: f64 = times.iter().sum();
                // The logarithm of a sum depends on each summand by its share.
                let shares = observation.layers.clone().zip(times.iter().map(|time| time / total));
                let gradient: Vec<(usize, f64)> = shares.chain([(place, 1.0)]).collect();
                let residual = observation.log_seconds - total.ln();
                for &(row, left) in &gradient {
                    slope[row] += weight * left * residual;
                    for &(column, right) in &gradient {
                        matrix[(row, column)] += weight * left * right;
                    }
                }
            }
            // The matrix is positive definite: a diagonal of precisions plus squares.
            let Some(factorised) = matrix.cholesky() else { return };
            self.factors += factorised.solve(&slope);
        }
    }
}

impl Model for Beliefs {
    type Configuration = Configuration;

    fn best(&mut self) -> Result<(Configuration, Nanoseconds), TuneError> {
        let sums: Vec<Vec<f64>> = self
            .groups
            .iter()
            .map(|places| {
                let mut sums = vec![0.0];
                for layer in 0..self.space.layers() {
                    sums.push(sums[layer] + self.seconds(places[0], layer));
                }
                sums
            })
            .collect();
        let counts: Vec<usize> = self.groups.iter().map(Vec::len).collect();
        let time = |group: usize, layers: Range<usize>| {
            Nanoseconds::from_seconds(sums[group][layers.end] - sums[group][layers.start]).0
        };
        let (stages, period) = best_placement(self.space.layers(), &counts, time)
            .ok_or(TuneError::Empty { layers: self.space.layers(), places: self.space.places().len() })?;
        let mut next = vec![0; counts.len()];
        let places = stages.iter().map(|&(_, group)| {
            next[group] += 1;
            self.groups[group][next[group] - 1]
        });
        let places = places.collect();
        let layers = stages.iter().map(|(range, _)| range.len()).collect();
        Ok((Configuration::assembled(layers, places), Nanoseconds(period)))
    }

    fn period(&self, configuration: &Configuration) -> Nanoseconds {
        let stages = configuration.ranges().zip(configuration.places());
        let time = |(range, &place): (Range<usize>, &PlaceId)| {
            Nanoseconds::from_seconds(range.map(|layer| self.seconds(place, layer)).sum())
        };
        stages.map(time).max().unwrap_or_default()
    }

    fn learn(&mut self, configuration: &Configuration, trial: &Trial) {
        let log = |time: Nanoseconds| Nanoseconds(time.0.max(1)).seconds().ln();
        for (stage, (layers, &place)) in configuration.ranges().zip(configuration.places()).enumerate() {
            match trial.layer_times.get(layers.clone()) {
                Some(times) => self.observations.extend(layers.zip(times).map(|(layer, &time)| Observation {
                    layers: layer..layer + 1,
                    place,
                    log_seconds: log(time),
                })),
                None => {
                    let time = trial.stage_times.get(stage).copied().unwrap_or_default();
                    self.observations.push(Observation { layers, place, log_seconds: log(time) });
                }
            }
        }
        self.update();
    }
}
