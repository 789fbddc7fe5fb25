//! What the front knows of hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::clock::HostClock;
use crate::error::DistributedError;
use crate::message::{Identity, Tell};
use crate::route::{PlanId, Route};

/// A host as the front sees it.
#[derive(Debug)]
pub(super) struct HostView {
    pub(super) identity: Identity,
    incarnation: Option<u64>,
    heard: Duration,
    /// Since when it has answered without a break; `None` while it is lost.
    pub(super) present_since: Option<Duration>,
    pub(super) prepared: BTreeSet<PlanId>,
    pub(super) refused: BTreeMap<PlanId, String>,
    pub(super) clock: HostClock,
}

/// What an answer of a host means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is there for the first time, or again.
    Came,
    /// It is still there.
    Same,
    /// It was started again since.
    Restarted,
    /// It is from before the host was started again.
    Old,
}

impl HostView {
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            identity,
            incarnation: None,
            heard: Duration::ZERO,
            present_since: None,
            prepared: BTreeSet::new(),
            refused: BTreeMap::new(),
            clock: HostClock::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.identity.host
    }

    pub(super) fn is_present(&self) -> bool {
        self.present_since.is_some()
    }

    /// Takes an answer.
    pub(super) fn hear(&mut self, tell: Tell, now: Duration) -> Result<Heard, DistributedError> {
        // Of a host that is lost, whatever comes is news: its clock may have gone back when it was switched off.
        if self.is_present() && self.incarnation.is_some_and(|known| tell.incarnation < known) {
            return Ok(Heard::Old);
        }
        if let Some((what, expected, found)) = self.identity.difference(&tell.identity) {
            return Err(DistributedError::Differs { host: self.name().to_owned(), what, expected, found });
        }
        let is_restarted = self.incarnation.is_some_and(|known| tell.incarnation != known);
        self.incarnation = Some(tell.incarnation);
        if is_restarted {
            self.clock = HostClock::default();
        }
        let clock = Duration::from_nanos(tell.clock_nanoseconds);
        self.clock.read(Duration::from_nanos(tell.nanoseconds), clock, now);
        self.heard = now;
        self.prepared = tell.prepared.into_iter().collect();
        self.refused = tell.refused.into_iter().collect();
        let was_present = self.is_present();
        if is_restarted || !was_present {
            self.present_since = Some(now);
        }
        Ok(match (is_restarted, was_present) {
            (true, _) => Heard::Restarted,
            (false, false) => Heard::Came,
            (false, true) => Heard::Same,
        })
    }

    /// Whether it is lost now and was not before.
    pub(super) fn falls_silent(&mut self, silence: Duration, now: Duration) -> bool {
        let is_silent = self.is_present() && now.saturating_sub(self.heard) > silence;
        if is_silent {
            self.present_since = None;
        }
        is_silent
    }

    /// Whether it has been there for so long.
    pub(super) fn is_present_for(&self, trial: Duration, now: Duration) -> bool {
        self.present_since.is_some_and(|since| now.saturating_sub(since) >= trial)
    }
}

/// The hosts of a route as the front sees them.
pub(super) fn on_route<'a>(hosts: &'a [HostView], route: &Route) -> impl Iterator<Item = &'a HostView> {
    route.visits().iter().filter_map(|host| hosts.get(host.0))
}
