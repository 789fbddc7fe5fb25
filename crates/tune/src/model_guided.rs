//! The default search: what a model finds best is run, and the model learns from that.

use millstream_cost::Nanoseconds;

use crate::error::TuneError;
use crate::oracle::{Oracle, Trial};
use crate::tuning::{Recorder, Tuning};

/// How far a configuration is from what is wanted, the lower the better: a period in seconds, or another positive
/// number. Only ratios of scores count.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Score(pub f64);

impl From<Nanoseconds> for Score {
    fn from(time: Nanoseconds) -> Self {
        Self(time.seconds())
    }
}

/// The next trial that a model proposes.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal<C> {
    /// This one, if the score that it expects is below that of what was tried, by more than noise.
    Gain(C, Score),
    /// This one in any case, unless it was tried: it settles what the model can't tell.
    InAnyCase(C),
}

/// A model of times, and the search on it.
pub trait TimeModel {
    /// What is searched for.
    type Configuration: Clone + PartialEq;
    /// What a trial shows.
    type Seen: AsRef<Trial> + Clone;

    /// The configuration that is best as far as the model knows, or that it wants to know more of.
    ///
    /// # Errors
    /// [`TuneError::Model`] if the search fails.
    fn best(&mut self) -> Result<Proposal<Self::Configuration>, TuneError>;

    /// The score that the model expects of a configuration; `None` for one that would not be chosen whatever it takes.
    fn score(&self, configuration: &Self::Configuration) -> Option<Score>;

    /// Takes in what a trial showed.
    fn learn(&mut self, configuration: &Self::Configuration, seen: &Self::Seen);
}

/// The default: search on a model, run what that finds, correct the model with what the trial showed, and search again,
/// until nothing promises a gain that would stand out from the noise, or after [`ModelGuided::trials`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelGuided {
    /// The most trials.
    pub trials: usize,
    /// Relative gains below this are not worth a trial.
    pub noise: f64,
}

impl Default for ModelGuided {
    fn default() -> Self {
        Self { trials: 10, noise: 0.01 }
    }
}

impl ModelGuided {
    /// What to try after some configurations: what the model finds best, unless that was tried or promises no gain over
    /// what was.
    ///
    /// # Errors
    /// What the model fails with.
    pub fn next<M: TimeModel>(
        &self,
        model: &mut M,
        tried: &[M::Configuration],
    ) -> Result<Option<M::Configuration>, TuneError> {
        let (configuration, is_worthwhile) = match model.best()? {
            Proposal::InAnyCase(configuration) => (configuration, true),
            Proposal::Gain(configuration, Score(expected)) => {
                let known = tried.iter().filter_map(|tried| model.score(tried)).map(|Score(known)| known);
                let known = known.min_by(f64::total_cmp);
                (configuration, known.is_none_or(|known| expected < known * (1.0 - self.noise)))
            }
        };
        Ok(Some(configuration).filter(|configuration| is_worthwhile && !tried.contains(configuration)))
    }

    /// Goes on after some configurations were tried, of which the model has learnt: runs what it finds best, lets it
    /// learn from that, and so on, at most [`ModelGuided::trials`] times. What it runs is added to `tried`.
    ///
    /// # Errors
    /// What the model or the oracle fails with.
    pub fn explore<M: TimeModel>(
        &self,
        tried: &mut Vec<M::Configuration>,
        model: &mut M,
        oracle: &mut dyn Oracle<M::Configuration, M::Seen>,
    ) -> Result<(), TuneError> {
        self.go_on(self.trials, tried, model, |configuration| oracle.measure(configuration))
    }

    /// The loop: search, try, learn.
    fn go_on<M: TimeModel, Run: FnMut(&M::Configuration) -> Result<M::Seen, TuneError>>(
        &self,
        most: usize,
        tried: &mut Vec<M::Configuration>,
        model: &mut M,
        mut run: Run,
    ) -> Result<(), TuneError> {
        for _ in 0..most {
            let Some(configuration) = self.next(model, tried)? else { break };
            let seen = run(&configuration)?;
            model.learn(&configuration, &seen);
            tried.push(configuration);
        }
        Ok(())
    }

    /// Searches. The result is the tried configuration of which the model, after all trials, expects the lowest score:
    /// a single trial that was lucky does not win.
    ///
    /// # Errors
    /// What the model or the oracle fails with.
    pub fn tune<M: TimeModel>(
        &self,
        model: &mut M,
        oracle: &mut dyn Oracle<M::Configuration, M::Seen>,
    ) -> Result<Tuning<M::Configuration, M::Seen>, TuneError> {
        self.tune_from(None, model, oracle)
    }

    /// As [`ModelGuided::tune`], but runs a given configuration first: what is at work already, for instance.
    ///
    /// # Errors
    /// What the model or the oracle fails with.
    pub fn tune_from<M: TimeModel>(
        &self,
        start: Option<&M::Configuration>,
        model: &mut M,
        oracle: &mut dyn Oracle<M::Configuration, M::Seen>,
    ) -> Result<Tuning<M::Configuration, M::Seen>, TuneError> {
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        let (mut tried, mut trials): (Vec<M::Configuration>, Vec<M::Seen>) = Default::default();
        if let Some(start) = start {
            let (trial, _) = recorder.run(start)?;
            model.learn(start, &trial);
            tried.push(start.clone());
            trials.push(trial);
        }
        let run = |configuration: &M::Configuration| {
            let (trial, _) = recorder.run(configuration)?;
            trials.push(trial.clone());
            Ok(trial)
        };
        self.go_on(self.trials.max(1).saturating_sub(tried.len()), &mut tried, model, run)?;
        let score =
            |configuration: &M::Configuration| model.score(configuration).map_or(f64::INFINITY, |Score(score)| score);
        let chosen = tried.into_iter().zip(trials).min_by(|(one, _), (other, _)| score(one).total_cmp(&score(other)));
        let tuning = recorder.finish().zip(chosen).map(|(tuning, (best, trial))| Tuning { best, trial, ..tuning });
        tuning.ok_or(TuneError::Empty { layers: 0, places: 0 })
    }
}
