use millstream_cost::Nanoseconds;

use crate::tuning::Recorder;
use crate::{Oracle, Trial, TuneError, Tuning};

/// What is believed about times, and the search on it.
pub trait TimeModel {
    /// What is searched for.
    type Configuration: Clone + PartialEq;
    /// What a trial shows.
    type Seen: AsRef<Trial> + Clone;

    /// The configuration that is best as far as the model knows, and the period that it expects of it; or whatever else the model
    /// wants to be short.
    ///
    /// # Errors
    /// [`TuneError::Model`] if the search fails.
    fn best(&mut self) -> Result<(Self::Configuration, Nanoseconds), TuneError>;

    /// The period that the model expects of a configuration.
    fn period(&self, configuration: &Self::Configuration) -> Nanoseconds;

    /// Takes in what a trial showed.
    fn learn(&mut self, configuration: &Self::Configuration, seen: &Self::Seen);
}

/// The default: search exactly on a model, run what that finds, correct the model with what the trial showed, and search again,
/// until nothing promises a gain that would stand out from the noise.
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
    /// What to try after some configurations: what the model finds best, unless that was tried or promises no gain over what was.
    ///
    /// # Errors
    /// What the model fails with.
    pub fn next<M: TimeModel>(
        &self,
        model: &mut M,
        tried: &[M::Configuration],
    ) -> Result<Option<M::Configuration>, TuneError> {
        let (configuration, expected) = model.best()?;
        let known = tried.iter().map(|configuration| model.period(configuration)).min();
        let promises = known.is_none_or(|known| expected.seconds() < known.seconds() * (1.0 - self.noise));
        Ok(Some(configuration).filter(|configuration| promises && !tried.contains(configuration)))
    }

    /// Goes on after some configurations were tried, of which the model has learnt: runs what it finds best, lets it learn from that, and
    /// so on, at most [`ModelGuided::trials`] times. What it runs is added to `tried`.
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

    /// Searches. The result is the tried configuration of which the model, after all trials, expects the shortest period: a
    /// single trial that was lucky does not win.
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
        let chosen = tried.into_iter().zip(trials).min_by_key(|(configuration, _)| model.period(configuration));
        let tuning = recorder.finish().zip(chosen).map(|(tuning, (best, trial))| Tuning { best, trial, ..tuning });
        tuning.ok_or(TuneError::Empty { layers: 0, places: 0 })
    }
}
