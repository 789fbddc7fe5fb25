//! What is left of the limits of a search that has begun.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use millstream_cost::Nanoseconds;

use crate::mapper::limits::MapperLimits;
use crate::mapper::outcome::Outcome;

/// A [`MapperLimits`] that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Budget<'a> {
    limits: MapperLimits<'a>,
    spent: Cell<u64>,
}

impl<'a> Budget<'a> {
    pub(crate) fn start(limits: &MapperLimits<'a>) -> Self {
        Self { limits: *limits, spent: Cell::new(0) }
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
        Self::start(&MapperLimits { steps: steps.min(self.left()), ..self.limits })
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.limits.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
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
