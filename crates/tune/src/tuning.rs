use millstream_cost::Nanoseconds;

use crate::{Oracle, Trial, TuneError};

/// A point of a search at which it had found something better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Improvement {
    /// Trials so far, this one included.
    pub trials: usize,
    /// Time that the search had spent.
    pub spent: Nanoseconds,
    /// The period that it measured.
    pub period: Nanoseconds,
}

/// What a search found, and how it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning<Configuration> {
    /// The configuration that it ends with.
    pub best: Configuration,
    /// What the trial of it showed.
    pub trial: Trial,
    /// How many configurations were run.
    pub trials: usize,
    /// Time spent in trials, and in preparing them where that takes long.
    pub spent: Nanoseconds,
    /// Every improvement, the first trial included.
    pub improvements: Vec<Improvement>,
}

/// Runs trials and keeps the best.
pub(crate) struct Recorder<'a, Configuration> {
    oracle: &'a mut dyn Oracle<Configuration>,
    best: Option<(Configuration, Trial)>,
    trials: usize,
    spent: Nanoseconds,
    improvements: Vec<Improvement>,
}

impl<'a, Configuration: Clone> Recorder<'a, Configuration> {
    pub(crate) fn new(oracle: &'a mut dyn Oracle<Configuration>, preparation: Nanoseconds) -> Self {
        Self { oracle, best: None, trials: 0, spent: preparation, improvements: Vec::new() }
    }

    /// Runs a configuration. Says whether it is the best so far.
    pub(crate) fn run(&mut self, configuration: &Configuration) -> Result<(Trial, bool), TuneError> {
        let trial = self.oracle.measure(configuration)?;
        self.trials += 1;
        self.spent += trial.spent;
        let is_best = self.best.as_ref().is_none_or(|(_, best)| trial.period < best.period);
        if is_best {
            self.best = Some((configuration.clone(), trial.clone()));
            self.improvements.push(Improvement { trials: self.trials, spent: self.spent, period: trial.period });
        }
        Ok((trial, is_best))
    }

    pub(crate) fn trials(&self) -> usize {
        self.trials
    }

    pub(crate) fn best(&self) -> Option<&(Configuration, Trial)> {
        self.best.as_ref()
    }

    /// The search's result. `None` before the first trial.
    pub(crate) fn finish(self) -> Option<Tuning<Configuration>> {
        let Self { best, trials, spent, improvements, .. } = self;
        best.map(|(best, trial)| Tuning { best, trial, trials, spent, improvements })
    }
}
