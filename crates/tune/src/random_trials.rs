//! So many random configurations.

use millstream_cost::Nanoseconds;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::Tuner;
use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::neighbours::random_configuration;
use crate::oracle::Oracle;
use crate::space::Space;
use crate::tuning::{Recorder, Tuning};

/// Random configurations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomTrials {
    /// How many.
    pub trials: usize,
    /// The same seed gives the same search.
    pub seed: u64,
}

impl Tuner for RandomTrials {
    fn name(&self) -> String {
        "random trials".to_owned()
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        for _ in 0..self.trials.max(1) {
            recorder.run(&random_configuration(space, &mut random))?;
        }
        recorder.finish().ok_or(TuneError::Empty { layers: space.layers(), places: space.places().len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Database, LayerTimes};
    use crate::space::PlaceKind;

    #[test]
    fn the_best_of_so_many_trials_is_kept() -> Result<(), TuneError> {
        let space = Space::new(vec![9, 1, 8, 2], vec![PlaceKind::new("F", 1), PlaceKind::new("S", 2)])?;
        let times = LayerTimes::new(&space, |place, layer| {
            Nanoseconds(space.weights()[layer] * if space.kind(place) == 0 { 100 } else { 200 })
        });
        let search = RandomTrials { trials: 20, seed: 7 };

        let found = search.tune(&space, &mut Database::new(times.clone()))?;
        assert_eq!((found.trials, found.trial.period), (20, times.period(&found.best)));
        assert!(found.improvements.windows(2).all(|pair| pair[1].period < pair[0].period));
        assert_eq!(search.tune(&space, &mut Database::new(times))?, found, "the same seed gives the same search");
        Ok(())
    }
}
