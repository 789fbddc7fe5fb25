//! Watching a running schedule, and replacing it when conditions change.

mod drift;
mod event;
mod observation;
mod observing;
mod policy;

use std::time::{Duration, Instant};

use millstream_machine::CoreWatch;

use crate::engine::Engine;
use crate::error::RuntimeError;
use drift::drift;

pub use event::{TuningEvent, TuningEventKind};
pub use observation::Observation;
pub use policy::{Goal, Planner, TuningPolicy};

impl Engine {
    /// Watches the running schedule until `is_over` says so, and replaces it when conditions change: a neighbour keeps
    /// a core busy, a clock goes down, or either goes back. After a change, schedules that `planner` proposes are
    /// tried, at most [`TuningPolicy::trials`], each for a window; the best one measured stays, the one that was there
    /// included. Frames flow meanwhile: somebody else must submit them and receive the results.
    ///
    /// `report` is called for each event; all events are returned as well.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more, and [`RuntimeError::Planner`].
    pub fn tune(
        &self,
        planner: &mut dyn Planner,
        policy: &TuningPolicy,
        is_over: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&TuningEvent),
    ) -> Result<Vec<TuningEvent>, RuntimeError> {
        let mut tuning = Tuning {
            engine: self,
            policy,
            is_over,
            report,
            watch: CoreWatch::new(),
            began: Instant::now(),
            events: Vec::new(),
        };
        tuning.run(planner)?;
        Ok(tuning.events)
    }
}

struct Tuning<'a> {
    engine: &'a Engine,
    policy: &'a TuningPolicy,
    is_over: &'a dyn Fn() -> bool,
    report: &'a mut dyn FnMut(&TuningEvent),
    watch: CoreWatch,
    began: Instant,
    events: Vec<TuningEvent>,
}

impl Tuning<'_> {
    fn emit(&mut self, kind: TuningEventKind) {
        let event = TuningEvent { at: self.began.elapsed(), kind };
        (self.report)(&event);
        self.events.push(event);
    }

    fn measure(&self, seen: &Observation) -> Duration {
        self.policy.goal.measure(seen.period, seen.latency)
    }

    fn observe(&mut self) -> Result<Option<Observation>, RuntimeError> {
        self.engine.observe(&mut self.watch, self.policy, self.is_over)
    }

    fn run(&mut self, planner: &mut dyn Planner) -> Result<(), RuntimeError> {
        let mut reference = None;
        let mut is_suspected = false;
        while !(self.is_over)() {
            let Some(seen) = self.observe()? else { continue };
            let Some(known) = &reference else {
                reference = if self.policy.at_once { self.search(planner, seen)? } else { Some(seen) };
                continue;
            };
            match drift(known, &seen, self.policy.drift) {
                Some(reason) if is_suspected => {
                    self.emit(TuningEventKind::Drift { reason, period: seen.period });
                    planner.forget();
                    reference = self.search(planner, seen)?;
                    is_suspected = false;
                }
                found => is_suspected = found.is_some(),
            }
        }
        Ok(())
    }

    /// Tries what the planner proposes, and keeps the best. Returns what that shows at work.
    fn search(&mut self, planner: &mut dyn Planner, start: Observation) -> Result<Option<Observation>, RuntimeError> {
        let mut best = start.clone();
        let mut last = start.clone();
        for _ in 0..self.policy.trials {
            let proposed = planner.propose(&last).map_err(RuntimeError::Planner)?;
            let Some(schedule) = proposed else { break };
            let configuration = schedule.to_string();
            if let Err(failure) = self.engine.reschedule(&schedule) {
                self.emit(TuningEventKind::Refused { configuration, reason: failure.to_string() });
                break;
            }
            let Some(seen) = self.observe()? else { break };
            self.emit(TuningEventKind::Trial { configuration, period: seen.period });
            if self.measure(&seen).as_secs_f64() < self.measure(&best).as_secs_f64() * (1.0 - self.policy.gain) {
                best = seen.clone();
            }
            last = seen;
        }

        let mut settled = self.settle(best)?;
        // A trial that was lucky must not leave less than there was.
        if let Some(now) = &settled
            && now.schedule != start.schedule
            && self.measure(now) > self.measure(&start)
        {
            settled = self.settle(start)?;
        }

        if let Some(now) = &settled {
            let (configuration, period) = (now.schedule.to_string(), now.period);
            self.emit(TuningEventKind::Settled { configuration, period });
        }
        Ok(settled)
    }

    /// Has the best schedule at work, and watches it if it was not.
    fn settle(&mut self, best: Observation) -> Result<Option<Observation>, RuntimeError> {
        if self.engine.schedule()? == best.schedule {
            return Ok(Some(best));
        }
        self.engine.reschedule(&best.schedule)?;
        self.observe()
    }
}
