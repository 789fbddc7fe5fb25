//! Exhaustive search over the layers and places of stages, for small spaces.

use millstream_cost::Nanoseconds;

use crate::Tuner;
use crate::compositions::for_each_composition;
use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::oracle::Oracle;
use crate::space::{PlaceId, Space};
use crate::tuning::{Recorder, Tuning};

/// Every configuration there is, up to exchanging places of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhaustive {
    /// The fewest stages that count as a pipeline.
    pub fewest_stages: usize,
    /// It refuses more configurations than this.
    pub most: u128,
    /// What listing a configuration costs: part of the time that the search spends.
    pub preparation: Nanoseconds,
}

impl Default for Exhaustive {
    fn default() -> Self {
        Self { fewest_stages: 1, most: 5_000_000, preparation: Nanoseconds::ZERO }
    }
}

/// All sequences of kinds that the places suffice for, as places.
fn place_sequences(space: &Space, stages: usize) -> Vec<Vec<PlaceId>> {
    fn extend(
        space: &Space,
        stages: usize,
        used: &mut Vec<usize>,
        chosen: &mut Vec<PlaceId>,
        found: &mut Vec<Vec<PlaceId>>,
    ) {
        if chosen.len() == stages {
            found.push(chosen.clone());
            return;
        }
        let mut first = 0;
        for (kind, places) in space.kinds().iter().enumerate() {
            if used[kind] < places.count {
                chosen.push(PlaceId(first + used[kind]));
                used[kind] += 1;
                extend(space, stages, used, chosen, found);
                used[kind] -= 1;
                chosen.pop();
            }
            first += places.count;
        }
    }
    let mut found = Vec::new();
    extend(space, stages, &mut vec![0; space.kinds().len()], &mut Vec::new(), &mut found);
    found
}

impl Tuner for Exhaustive {
    fn name(&self) -> String {
        "exhaustive".to_owned()
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let most = space.most_stages();
        let depths = self.fewest_stages.clamp(1, most)..=most;
        let configurations: u128 = depths.clone().map(|stages| space.configurations(stages)).sum();
        if configurations > self.most {
            return Err(TuneError::TooMany { configurations, most: self.most });
        }
        let preparation = self.preparation.0.saturating_mul(u64::try_from(configurations).unwrap_or(u64::MAX));
        let mut recorder = Recorder::new(oracle, Nanoseconds(preparation));
        for stages in depths {
            let sequences = place_sequences(space, stages);
            let mut failure = None;
            for_each_composition(space.layers(), stages, &mut |layers| {
                let run = sequences.iter().try_for_each(|places| {
                    recorder.run(&Configuration::assembled(layers.to_vec(), places.clone())).map(|_| ())
                });
                failure = run.err();
                failure.is_none()
            });
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        recorder.finish().ok_or(TuneError::Empty { layers: space.layers(), places: space.places().len() })
    }
}
