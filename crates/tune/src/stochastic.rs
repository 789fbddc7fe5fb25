//! The usual searches that know nothing of pipelines: simulated annealing, hill climbing, random walk.

use millstream_cost::Nanoseconds;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Tuner;
use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::neighbours::{neighbours, random_configuration};
use crate::oracle::Oracle;
use crate::shisha::Shisha;
use crate::space::Space;
use crate::tuning::{Recorder, Tuning};

/// The start of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// With a random configuration.
    Random,
    /// With Shisha's seed (the paper's `SA_s` and `HC_s`).
    ShishaSeed,
}

impl Start {
    fn configuration(self, space: &Space, random: &mut ChaCha8Rng) -> Configuration {
        match self {
            Self::Random => random_configuration(space, random),
            Self::ShishaSeed => Shisha::default().seed(space),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Random => "",
            Self::ShishaSeed => ", seeded",
        }
    }
}

fn finish(space: &Space, recorder: Recorder<'_, Configuration>) -> Result<Tuning<Configuration>, TuneError> {
    recorder.finish().ok_or(TuneError::Empty { layers: space.layers(), places: space.places().len() })
}

/// Simulated annealing over small changes: a change for the worse is accepted the more rarely the later it comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedAnnealing {
    /// Where it begins.
    pub start: Start,
    /// It ends after so many trials.
    pub trials: usize,
    /// Relative loss that is accepted with probability 1/e at first.
    pub temperature: f64,
    /// The same at the end.
    pub final_temperature: f64,
    /// For its random choices.
    pub seed: u64,
}

impl Default for SimulatedAnnealing {
    fn default() -> Self {
        Self { start: Start::Random, trials: 300, temperature: 0.3, final_temperature: 0.005, seed: 0 }
    }
}

impl Tuner for SimulatedAnnealing {
    fn name(&self) -> String {
        format!("simulated annealing{}", self.start.suffix())
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        let mut current = self.start.configuration(space, &mut random);
        let mut period = recorder.run(&current)?.0.period.seconds();
        let cooling = (self.final_temperature / self.temperature).powf(1.0 / self.trials.max(1) as f64);
        let mut temperature = self.temperature;
        while recorder.trials() < self.trials {
            let Some(next) = neighbours(space, &current).choose(&mut random).cloned() else { break };
            let found = recorder.run(&next)?.0.period.seconds();
            let loss = found / period - 1.0;
            if loss <= 0.0 || random.random::<f64>() < (-loss / temperature).exp() {
                (current, period) = (next, found);
            }
            temperature *= cooling;
        }
        finish(space, recorder)
    }
}

/// Hill climbing: the first small change that helps is made; where none does, it begins anew elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HillClimbing {
    /// Where it begins; the later climbs begin at random.
    pub start: Start,
    /// It ends after so many trials.
    pub trials: usize,
    /// For its random choices.
    pub seed: u64,
}

impl Default for HillClimbing {
    fn default() -> Self {
        Self { start: Start::Random, trials: 300, seed: 0 }
    }
}

impl Tuner for HillClimbing {
    fn name(&self) -> String {
        format!("hill climbing{}", self.start.suffix())
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        let mut start = self.start.configuration(space, &mut random);
        loop {
            self.climb(space, &start, &mut recorder, &mut random)?;
            if recorder.trials() >= self.trials {
                return finish(space, recorder);
            }
            start = random_configuration(space, &mut random);
        }
    }
}

impl HillClimbing {
    fn climb(
        &self,
        space: &Space,
        start: &Configuration,
        recorder: &mut Recorder<'_, Configuration>,
        random: &mut ChaCha8Rng,
    ) -> Result<(), TuneError> {
        let mut period = recorder.run(start)?.0.period;
        let mut ways = neighbours(space, start);
        ways.shuffle(random);
        while let Some(next) = ways.pop() {
            if recorder.trials() >= self.trials {
                break;
            }
            let found = recorder.run(&next)?.0.period;
            if found < period {
                period = found;
                ways = neighbours(space, &next);
                ways.shuffle(random);
            }
        }
        Ok(())
    }
}

/// Random configurations, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomWalk {
    /// It ends after so many trials.
    pub trials: usize,
    /// For its random choices.
    pub seed: u64,
}

impl Default for RandomWalk {
    fn default() -> Self {
        Self { trials: 300, seed: 0 }
    }
}

impl Tuner for RandomWalk {
    fn name(&self) -> String {
        "random walk".to_owned()
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        for _ in 0..self.trials.max(1) {
            recorder.run(&random_configuration(space, &mut random))?;
        }
        finish(space, recorder)
    }
}
