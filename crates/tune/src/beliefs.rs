//! What is believed of layers on places, corrected by trials.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;

use crate::configuration::Configuration;
use crate::database::LayerTimes;
use crate::error::TuneError;
use crate::log_factors::{LogFactors, Observation};
use crate::model_guided::{Proposal, Score, TimeModel};
use crate::oracle::Trial;
use crate::space::{PlaceId, Space};

/// Uncertainty of the prior and of trials: standard deviations of logarithms, so that 0.3 is about 30 %.
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

/// A [`TimeModel`] of layers on places: each layer and each place is off from the prior by an unknown factor. All
/// trials so far give the most likely factors; our search then runs on the corrected times.
#[derive(Debug, Clone)]
pub struct Beliefs {
    space: Space,
    prior: LayerTimes,
    /// Group of each place: places of a group are taken to be equally fast.
    group: Vec<usize>,
    /// Places of each group.
    groups: Vec<Vec<PlaceId>>,
    /// Of layers, then of groups.
    factors: LogFactors,
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
        let layers = std::iter::repeat_n(uncertainty.layer, space.layers());
        let deviations = layers.chain(std::iter::repeat_n(uncertainty.place, groups.len())).collect();
        let factors = LogFactors::new(deviations, uncertainty.noise);
        Ok(Self { space: space.clone(), prior, group, groups, factors })
    }

    /// The time that is believed of a layer on a place.
    pub fn time(&self, place: PlaceId, layer: usize) -> Nanoseconds {
        Nanoseconds::from_seconds(self.seconds(place, layer))
    }

    /// Index of the factor of a place.
    fn shared(&self, place: PlaceId) -> usize {
        self.space.layers() + self.group[place.index()]
    }

    fn seconds(&self, place: PlaceId, layer: usize) -> f64 {
        let factor = self.factors.factor(layer) * self.factors.factor(self.shared(place));
        self.prior.time(place, layer).seconds() * factor
    }

    fn observe(&mut self, layers: Range<usize>, place: PlaceId, time: Nanoseconds) {
        let terms = layers.map(|layer| (layer, self.prior.time(place, layer).seconds())).collect();
        self.factors.observe(Observation { terms, shared: self.shared(place), seconds: time.seconds() });
    }
}

impl TimeModel for Beliefs {
    type Configuration = Configuration;
    type Seen = Trial;

    fn best(&mut self) -> Result<Proposal<Configuration>, TuneError> {
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
            Nanoseconds::from_seconds(sums[group][layers.end] - sums[group][layers.start])
        };
        let (stages, period) = best_placement(self.space.layers(), &counts, time)
            .ok_or(TuneError::Empty { layers: self.space.layers(), places: self.space.places().len() })?;
        let mut next = vec![0; counts.len()];
        let places = stages.iter().map(|stage| {
            next[stage.kind] += 1;
            self.groups[stage.kind][next[stage.kind] - 1]
        });
        let places = places.collect();
        let layers = stages.iter().map(|stage| stage.layers.len()).collect();
        Ok(Proposal::Gain(Configuration::assembled(layers, places), period.into()))
    }

    /// The period that is expected.
    fn score(&self, configuration: &Configuration) -> Option<Score> {
        let stages = configuration.ranges().zip(configuration.places());
        let time = |(range, &place): (Range<usize>, &PlaceId)| {
            Nanoseconds::from_seconds(range.map(|layer| self.seconds(place, layer)).sum())
        };
        Some(stages.map(time).max().unwrap_or_default().into())
    }

    fn learn(&mut self, configuration: &Configuration, trial: &Trial) {
        for (stage, (layers, &place)) in configuration.ranges().zip(configuration.places()).enumerate() {
            match trial.layer_times.get(layers.clone()) {
                Some(times) => {
                    layers.zip(times).for_each(|(layer, &time)| self.observe(layer..layer + 1, place, time));
                }
                None => {
                    let time = trial.stage_times.get(stage).copied().unwrap_or_default();
                    self.observe(layers, place, time);
                }
            }
        }
        self.factors.update();
    }
}
