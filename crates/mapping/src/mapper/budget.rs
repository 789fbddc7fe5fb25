//! What is left of the limits of a search that has begun.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_cost::Nanoseconds;

use crate::mapper::limits::MapperLimits;
use crate::mapper::outcome::Outcome;

/// A [`MapperLimits`] that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Budget<'a> {
    limits: MapperLimits<'a>,
    /// Set when nobody needs what is searched for any more.
    unneeded: Option<&'a AtomicBool>,
    spent: Cell<u64>,
}

impl<'a> Budget<'a> {
    pub(crate) fn start(limits: &MapperLimits<'a>) -> Self {
        Self { limits: *limits, unneeded: None, spent: Cell::new(0) }
    }

    /// Stops as well once the flag is set.
    pub(crate) fn unless(self, unneeded: &'a AtomicBool) -> Self {
        Self { unneeded: Some(unneeded), ..self }
    }

    /// Steps that were taken.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.limits.steps.saturating_sub(self.spent.get())
    }

    pub(crate) fn spend(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// A budget of so many of the steps that are left; what is taken of it has to be spent here as well.
    pub(crate) fn part(&self, steps: u64) -> Self {
        let part = Self::start(&MapperLimits { steps: steps.min(self.left()), ..self.limits });
        Self { unneeded: self.unneeded, ..part }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        [self.limits.cancelled, self.unneeded].into_iter().flatten().any(|flag| flag.load(Ordering::Relaxed))
    }

    /// Why to stop now, if there is a reason.
    pub(crate) fn reason(&self, makespan: Nanoseconds, lower_bound: Nanoseconds) -> Option<Outcome> {
        if makespan <= lower_bound {
            Some(Outcome::Optimal)
        } else if (makespan - lower_bound).0 as f64 <= self.limits.gap * lower_bound.0 as f64
            || makespan - lower_bound <= self.limits.slack
        {
            Some(Outcome::GapReached)
        } else if self.is_cancelled() {
            Some(Outcome::Cancelled)
        } else if self.left() == 0 {
            Some(Outcome::StepLimit)
        } else {
            None
        }
    }
}
