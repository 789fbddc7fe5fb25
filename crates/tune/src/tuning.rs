//! Results of searches, and the record of trials that they come from.

use millstream_cost::Nanoseconds;

use crate::error::TuneError;
use crate::oracle::{Oracle, Trial};

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

/// The result of a search, with its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning<Configuration, Seen = Trial> {
    /// The configuration that it ends with.
    pub best: Configuration,
    /// What the trial of it showed.
    pub trial: Seen,
    /// How many configurations were run.
    pub trials: usize,
    /// Time spent in trials, and in preparing them where that takes long.
    pub spent: Nanoseconds,
    /// Every improvement, the first trial included.
    pub improvements: Vec<Improvement>,
}

/// Runs trials and keeps the best.
pub(crate) struct Recorder<'a, Configuration, Seen = Trial> {
    oracle: &'a mut dyn Oracle<Configuration, Seen>,
    best: Option<(Configuration, Seen)>,
    trials: usize,
    spent: Nanoseconds,
    improvements: Vec<Improvement>,
}

impl<'a, Configuration: Clone, Seen: AsRef<Trial> + Clone> Recorder<'a, Configuration, Seen> {
    pub(crate) fn new(oracle: &'a mut dyn Oracle<Configuration, Seen>, preparation: Nanoseconds) -> Self {
        Self { oracle, best: None, trials: 0, spent: preparation, improvements: Vec::new() }
    }

    /// Runs a configuration. Says whether it is the best so far.
    pub(crate) fn run(&mut self, configuration: &Configuration) -> Result<(Seen, bool), TuneError> {
        let seen = self.oracle.measure(configuration)?;
        let trial = seen.as_ref();
        self.trials += 1;
        self.spent += trial.spent;
        let is_best = self.best.as_ref().is_none_or(|(_, best)| trial.period < best.as_ref().period);
        if is_best {
            let period = trial.period;
            self.improvements.push(Improvement { trials: self.trials, spent: self.spent, period });
            self.best = Some((configuration.clone(), seen.clone()));
        }
        Ok((seen, is_best))
    }

    pub(crate) fn trials(&self) -> usize {
        self.trials
    }

    pub(crate) fn best(&self) -> Option<&(Configuration, Seen)> {
        self.best.as_ref()
    }

    /// The search's result. `None` before the first trial.
    pub(crate) fn finish(self) -> Option<Tuning<Configuration, Seen>> {
        let Self { best, trials, spent, improvements, .. } = self;
        best.map(|(best, trial)| Tuning { best, trial, trials, spent, improvements })
    }
}
