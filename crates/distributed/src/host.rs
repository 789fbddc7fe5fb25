//! A host's side.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use crate::error::FrameFailure;
use crate::message::{Ask, FrameTag, FrameValue, HostSpan, Identity, Message, MessageKind, StageFigures, Tell};
use crate::route::{HostId, Peer, PlanId, Route};

/// What a host does with frames: takes them in their order, has its stages compute, and sends on in the same order.
#[derive(Debug)]
pub struct HostSide {
    id: HostId,
    identity: Identity,
    incarnation: u64,
    routes: Vec<Route>,
    readiness: BTreeMap<PlanId, Readiness>,
    epoch: u64,
    /// Set when frames of the epoch are missing: nothing of it is sent any more.
    is_broken: bool,
    lines: BTreeMap<usize, Line>,
}

/// How far a plan is prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Readiness {
    UnderWay,
    Ready,
    Refused(String),
}

/// The frames of an epoch in one visit.
#[derive(Debug, Default)]
struct Line {
    /// The position of the frame that comes next.
    comes: u64,
    /// The position of the frame that leaves next.
    leaves: u64,
    /// What waits for those before it.
    done: BTreeMap<u64, (FrameTag, Result<Vec<FrameValue>, FrameFailure>)>,
}

/// What is to be done for a [`HostSide`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostAction {
    /// Send a message.
    Send {
        /// To whom.
        to: Peer,
        /// What.
        message: Message,
    },
    /// Have the stages of a visit work on a frame, and call [`HostSide::computed`] then. Frames of a visit may be
    /// computed in any order.
    Compute {
        /// Which frame and visit.
        tag: FrameTag,
        /// What is needed of the frame from here on.
        values: Vec<FrameValue>,
    },
    /// Get the stages of a plan ready, and call [`HostSide::prepared`] then.
    Prepare(PlanId),
    /// Gather what stages did, and call [`HostSide::figures`].
    GatherFigures,
    /// Come to an end.
    End,
}

impl HostSide {
    /// A host with the ways of all plans. `incarnation` must be greater each time that the host is started: the time
    /// will do.
    pub fn new(id: HostId, identity: Identity, incarnation: u64, routes: Vec<Route>) -> Self {
        Self {
            id,
            identity,
            incarnation,
            routes,
            readiness: BTreeMap::new(),
            epoch: 0,
            is_broken: false,
            lines: BTreeMap::new(),
        }
    }

    /// Takes a message, when the host's clock shows `now`: the time since some moment, such as when the host was started.
    pub fn receive(&mut self, message: Message, now: Duration) -> Vec<HostAction> {
        match message.kind {
            MessageKind::Ask(ask) => self.answer(ask, now),
            MessageKind::AskFigures => vec![HostAction::GatherFigures],
            MessageKind::End => vec![HostAction::End],
            MessageKind::Probe { epoch, plan, visit } => self.probe(epoch, plan, visit),
            MessageKind::Frame { tag, failure } => self.frame(tag, failure, message.values),
            // These are for the front.
            MessageKind::Answer { .. }
            | MessageKind::Probed { .. }
            | MessageKind::Missing { .. }
            | MessageKind::Tell(_)
            | MessageKind::Figures { .. } => Vec::new(),
        }
    }

    /// Takes note that a plan is ready, or why it can't be.
    pub fn prepared(&mut self, plan: PlanId, outcome: Result<(), String>) {
        let readiness = outcome.map_or_else(Readiness::Refused, |()| Readiness::Ready);
        self.readiness.insert(plan, readiness);
    }

    /// Takes what the stages of a visit made of a frame: all that is still needed of it. Returns what leaves now.
    pub fn computed(&mut self, tag: FrameTag, outcome: Result<Vec<FrameValue>, String>) -> Vec<HostAction> {
        let host = self.identity.host.clone();
        let outcome = outcome.map_err(|detail| FrameFailure::Failed { host, detail });
        self.leave(tag, outcome)
    }

    /// What is sent when figures were gathered; spans are by the host's clock.
    pub fn figures(&self, stages: Vec<StageFigures>, spans: Vec<HostSpan>) -> Vec<HostAction> {
        let message = Message::plain(MessageKind::Figures { stages, spans });
        vec![HostAction::Send { to: Peer::Front, message }]
    }

    /// Whether a frame is of an epoch that is over, so that nobody waits for it.
    pub fn is_over(&self, tag: &FrameTag) -> bool {
        tag.epoch < self.epoch || self.is_broken
    }

    fn answer(&mut self, ask: Ask, now: Duration) -> Vec<HostAction> {
        let mut actions = Vec::new();
        for plan in ask.prepare {
            if let Entry::Vacant(place) = self.readiness.entry(plan) {
                place.insert(Readiness::UnderWay);
                actions.push(HostAction::Prepare(plan));
            }
        }
        let ready = |(&plan, state): (&PlanId, &Readiness)| (*state == Readiness::Ready).then_some(plan);
        let refused = |(&plan, state): (&PlanId, &Readiness)| match state {
            Readiness::Refused(detail) => Some((plan, detail.clone())),
            Readiness::UnderWay | Readiness::Ready => None,
        };
        let tell = Tell {
            nanoseconds: ask.nanoseconds,
            clock_nanoseconds: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
            incarnation: self.incarnation,
            identity: self.identity.clone(),
            prepared: self.readiness.iter().filter_map(ready).collect(),
            refused: self.readiness.iter().filter_map(refused).collect(),
        };
        actions.push(HostAction::Send { to: Peer::Front, message: Message::plain(MessageKind::Tell(tell)) });
        actions
    }

    fn probe(&mut self, epoch: u64, plan: PlanId, visit: usize) -> Vec<HostAction> {
        let Some((to, next)) = self.way(plan, visit) else { return Vec::new() };
        if epoch < self.epoch || self.readiness.get(&plan) != Some(&Readiness::Ready) {
            return Vec::new();
        }
        self.enter(epoch);
        let kind = match to {
            Peer::Front => MessageKind::Probed { epoch },
            Peer::Host(_) => MessageKind::Probe { epoch, plan, visit: next },
        };
        vec![HostAction::Send { to, message: Message::plain(kind) }]
    }

    /// Forgets what was before an epoch.
    fn enter(&mut self, epoch: u64) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.is_broken = false;
            self.lines.clear();
        }
    }

    /// Where a visit's frames go; `None` if it is none of this host.
    fn way(&self, plan: PlanId, visit: usize) -> Option<(Peer, usize)> {
        let route = self.routes.get(plan.0)?;
        (route.visits().get(visit) == Some(&self.id)).then(|| route.after(visit))
    }

    fn frame(&mut self, tag: FrameTag, failure: Option<FrameFailure>, values: Vec<FrameValue>) -> Vec<HostAction> {
        if tag.epoch < self.epoch {
            return Vec::new();
        }
        self.enter(tag.epoch);
        if self.is_broken {
            return Vec::new();
        }
        if self.way(tag.plan, tag.visit).is_none() {
            return self.missing(format!("host '{}' has no visit {} of this plan", self.identity.host, tag.visit + 1));
        }
        if self.readiness.get(&tag.plan) != Some(&Readiness::Ready) {
            return self.missing(format!("host '{}' was started again", self.identity.host));
        }
        let line = self.lines.entry(tag.visit).or_default();
        let expected = line.comes;
        if tag.position != expected {
            let host = &self.identity.host;
            return self.missing(format!("frame {} came to host '{host}' instead of {expected}", tag.position));
        }
        line.comes = expected.saturating_add(1);
        match failure {
            Some(failure) => self.leave(tag, Err(failure)),
            None => vec![HostAction::Compute { tag, values }],
        }
    }

    fn missing(&mut self, detail: String) -> Vec<HostAction> {
        self.is_broken = true;
        let message = Message::plain(MessageKind::Missing { epoch: self.epoch, detail });
        vec![HostAction::Send { to: Peer::Front, message }]
    }

    /// Sends on what is done, in the order in which it came.
    fn leave(&mut self, tag: FrameTag, outcome: Result<Vec<FrameValue>, FrameFailure>) -> Vec<HostAction> {
        if tag.epoch != self.epoch || self.is_broken {
            return Vec::new();
        }
        let Some((to, visit)) = self.way(tag.plan, tag.visit) else { return Vec::new() };
        let line = self.lines.entry(tag.visit).or_default();
        line.done.insert(tag.position, (tag, outcome));
        let mut actions = Vec::new();
        while let Some((tag, outcome)) = line.done.remove(&line.leaves) {
            line.leaves = line.leaves.saturating_add(1);
            let tag = FrameTag { visit, ..tag };
            let (values, failure) = outcome.map_or_else(|failure| (Vec::new(), Some(failure)), |values| (values, None));
            let kind = match to {
                Peer::Front => MessageKind::Answer { tag, failure },
                Peer::Host(_) => MessageKind::Frame { tag, failure },
            };
            actions.push(HostAction::Send { to, message: Message { kind, values } });
        }
        actions
    }
}
