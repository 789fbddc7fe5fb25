//! How one plan takes over from another, and epochs from each other.

use std::time::Duration;

use super::{Front, FrontEvent, HostView, on_route};
use crate::error::{DistributedError, FrameFailure};
use crate::front::phase::Phase;
use crate::message::{Message, MessageKind};
use crate::route::{HostId, PlanId};

impl Front {
    /// Notices hosts that have fallen silent.
    pub(super) fn watch(&mut self, now: Duration) {
        let silence = self.options.silence;
        let silent: Vec<HostId> = (0..self.hosts.len())
            .filter(|&host| self.hosts.get_mut(host).is_some_and(|view| view.falls_silent(silence, now)))
            .map(HostId)
            .collect();
        for host in silent {
            self.event(FrontEvent::Lost(host));
            if self.phase.sends() && self.way().is_some_and(|way| way.contains(host)) {
                let name = self.name_of(host);
                self.fault(&format!("host '{name}' did not answer"), now);
            }
        }
    }

    /// Goes on to the next phase when its time has come.
    pub(super) fn go_on(&mut self, now: Duration) {
        match self.phase {
            Phase::Preparing { plan, since } => self.prepare(plan, since, now),
            Phase::Probing { plan, since, asked } => {
                if now.saturating_sub(since) > self.options.answer {
                    self.fault("nothing came through to the other hosts", now);
                } else if now.saturating_sub(asked) >= self.options.ask_every {
                    self.phase = Phase::Probing { plan, since, asked: now };
                    self.probe(plan);
                }
            }
            Phase::Streaming { plan } => {
                self.possible = now;
                self.check_progress(now);
                let is_streaming = matches!(self.phase, Phase::Streaming { .. });
                if let Some(to) = self.better(now).filter(|&better| is_streaming && self.is_prepared(better)) {
                    self.phase = Phase::Draining { plan, to };
                }
            }
            Phase::Draining { to, .. } => {
                self.possible = now;
                self.check_progress(now);
                if matches!(self.phase, Phase::Draining { .. }) && self.frames.under_way() == 0 {
                    self.begin(to, now);
                }
            }
            Phase::Ended(_) => {}
        }
    }

    fn check_progress(&mut self, now: Duration) {
        if self.frames.under_way() > 0 && now.saturating_sub(self.progress) > self.options.answer {
            self.fault("no answer came for too long", now);
        }
    }

    /// Waits for the hosts of a plan; when one is not there for too long, takes the best plan that can do without.
    fn prepare(&mut self, plan: PlanId, since: Duration, now: Duration) {
        if self.note_refusals() {
            match self.possible_plan() {
                Some(other) if self.is_refused(plan) => return self.begin(other, now),
                None if self.refused.iter().all(Option::is_some) => {
                    let first = self.refused.iter_mut().find_map(Option::take);
                    return first.into_iter().for_each(|error| self.end(error));
                }
                _ => {}
            }
        }
        if self.is_prepared(plan) {
            self.phase = Phase::Probing { plan, since: now, asked: now };
            return self.probe(plan);
        }
        let is_whole = self.is_there(plan) && !self.is_refused(plan);
        if !is_whole && now.saturating_sub(since) > self.options.patience {
            let began = self.possible != Duration::ZERO;
            // Before the first frame all hosts have to be there: somebody may have named one wrong.
            if let Some(other) = self.possible_plan().filter(|_| began) {
                return self.begin(other, now);
            }
        }
        if now.saturating_sub(self.possible) > self.options.give_up {
            self.end(self.unreachable(plan));
        }
    }

    fn unreachable(&self, plan: PlanId) -> DistributedError {
        let is_missing = |host: &&HostView| !host.is_present() || !host.prepared.contains(&plan);
        let way = self.plans.get(plan.0).into_iter().flat_map(|way| on_route(&self.hosts, way));
        let mut hosts: Vec<String> = way.filter(is_missing).map(|host| host.name().to_owned()).collect();
        hosts.dedup();
        DistributedError::Unreachable { hosts, seconds: self.options.give_up.as_secs() }
    }

    /// Takes note of what hosts can't run; whether there is anything.
    fn note_refusals(&mut self) -> bool {
        for host in &self.hosts {
            for (plan, detail) in &host.refused {
                if let Some(refused) = self.refused.get_mut(plan.0)
                    && refused.is_none()
                {
                    let (host, detail) = (host.name().to_owned(), detail.clone());
                    *refused = Some(DistributedError::Refused { host, plan: plan.0, detail });
                }
            }
        }
        self.refused.iter().any(Option::is_some)
    }

    fn is_refused(&self, plan: PlanId) -> bool {
        self.refused.get(plan.0).is_some_and(Option::is_some)
    }

    /// Whether all hosts of a plan are there.
    fn is_there(&self, plan: PlanId) -> bool {
        self.plans.get(plan.0).is_some_and(|way| on_route(&self.hosts, way).all(HostView::is_present))
    }

    /// Whether all hosts of a plan are there and have it ready.
    fn is_prepared(&self, plan: PlanId) -> bool {
        let is_ready = |host: &HostView| host.is_present() && host.prepared.contains(&plan);
        self.plans.get(plan.0).is_some_and(|way| on_route(&self.hosts, way).all(is_ready))
    }

    /// The best plan whose hosts are all there.
    fn possible_plan(&self) -> Option<PlanId> {
        (0..self.plans.len()).map(PlanId).find(|&plan| !self.is_refused(plan) && self.is_there(plan))
    }

    /// A better plan than the one that frames go by, whose hosts have been there for long enough.
    pub(super) fn better(&self, now: Duration) -> Option<PlanId> {
        let Phase::Streaming { plan } = self.phase else { return None };
        let is_proven = |better: &PlanId| {
            let way = self.plans.get(better.0);
            let trial = self.options.trial;
            !self.is_refused(*better)
                && way.is_some_and(|way| on_route(&self.hosts, way).all(|host| host.is_present_for(trial, now)))
        };
        (0..plan.0).map(PlanId).find(is_proven)
    }

    /// Begins another epoch, with this plan.
    fn begin(&mut self, plan: PlanId, now: Duration) {
        self.epoch = self.epoch.saturating_add(1);
        self.frames.begin_again();
        self.phase = Phase::Preparing { plan, since: now };
    }

    /// Begins another epoch because something went wrong in this one.
    pub(super) fn fault(&mut self, detail: &str, now: Duration) {
        let Some(plan) = self.phase.plan() else { return };
        let was_alone = self.faults >= 2 && self.frames.under_way() > 0;
        // Where nothing was under way, nobody is at fault.
        self.faults = if self.frames.is_empty() { 0 } else { self.faults.saturating_add(1) };
        if was_alone && self.faults >= self.options.attempts.max(3) {
            let failure = FrameFailure::Lost { attempts: self.faults, detail: detail.to_owned() };
            let ready = self.frames.answer_oldest(Err(failure));
            self.answer(ready);
            self.faults = 0;
        }
        self.event(FrontEvent::SendsAgain { frames: self.frames.len(), detail: detail.to_owned() });
        self.begin(plan, now);
    }

    fn probe(&mut self, plan: PlanId) {
        let Some(&first) = self.plans.get(plan.0).and_then(|way| way.visits().first()) else { return };
        let kind = MessageKind::Probe { epoch: self.epoch, plan, visit: 0 };
        self.send(first, Message::plain(kind));
    }

    /// The way is free.
    pub(super) fn probed(&mut self, epoch: u64, now: Duration) {
        let Phase::Probing { plan, .. } = self.phase else { return };
        if epoch == self.epoch {
            self.phase = Phase::Streaming { plan };
            (self.possible, self.progress) = (now.max(Duration::from_nanos(1)), now);
            self.event(FrontEvent::Streams(plan));
            self.pump(now);
        }
    }

    /// Gives everything up.
    pub(super) fn end(&mut self, error: DistributedError) {
        self.answer_all(&error.to_string());
        self.phase = Phase::Ended(error);
    }
}
