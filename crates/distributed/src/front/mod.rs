//! The front: beside whoever has frames.

mod clock;
mod frames;
mod hosts;
mod phase;
mod phases;

use std::time::Duration;

use crate::error::{DistributedError, FrameFailure};
use crate::front::phase::Phase;
use crate::message::{Ask, FrameTag, FrameValue, HostSpan, Identity, Message, MessageKind, StageFigures};
use crate::options::FrontOptions;
use crate::route::{HostId, PlanId, Route};
use frames::{Frames, Outcome};
use hosts::{Heard, HostView, on_route};

/// What is to be done for a [`Front`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FrontAction {
    /// Send a message.
    Send {
        /// To which host.
        to: HostId,
        /// What.
        message: Message,
    },
    /// A frame has its answer; these come in the order of the frames, each once.
    Answer {
        /// Which frame, from 0.
        sequence: u64,
        /// Its results, or why there are none.
        outcome: Result<Vec<FrameValue>, FrameFailure>,
    },
    /// Something that people should know.
    Event(FrontEvent),
    /// What stages of a host did.
    Figures {
        /// Which host.
        host: HostId,
        /// What they did in all.
        figures: Vec<StageFigures>,
        /// When they worked on single frames, in the time of the [`Front`].
        spans: Vec<HostSpan>,
    },
}

/// Something that people should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontEvent {
    /// A host has answered for the first time, or is back.
    Came(HostId),
    /// A host was started again.
    Restarted(HostId),
    /// A host has not answered for too long.
    Lost(HostId),
    /// Frames go by this plan now.
    Streams(PlanId),
    /// Frames without an answer are sent again.
    SendsAgain {
        /// How many there are.
        frames: usize,
        /// Why.
        detail: String,
    },
}

/// Admits frames, sends again what was lost, keeps answers in order, and chooses among plans.
#[derive(Debug)]
pub struct Front {
    options: FrontOptions,
    plans: Vec<Route>,
    /// Why a plan can't be used.
    refused: Vec<Option<DistributedError>>,
    hosts: Vec<HostView>,
    phase: Phase,
    epoch: u64,
    frames: Frames,
    /// How often an epoch ended since a frame was answered.
    faults: u32,
    /// When a frame was last answered, or sent where none was under way.
    progress: Duration,
    /// When frames could last go by some plan.
    possible: Duration,
    asked: Option<Duration>,
    actions: Vec<FrontAction>,
}

impl Front {
    /// A front for plans in the order of preference, and what the hosts must be.
    ///
    /// # Errors
    /// [`DistributedError::Route`] if there is no plan, or one has no host or an unknown one.
    pub fn new(plans: Vec<Route>, identities: Vec<Identity>, options: FrontOptions) -> Result<Self, DistributedError> {
        let route = |plan: usize, detail: &str| DistributedError::Route { plan, detail: detail.to_owned() };
        if plans.is_empty() {
            return Err(route(0, "is not there"));
        }
        for (plan, way) in plans.iter().enumerate() {
            if way.visits().is_empty() {
                return Err(route(plan, "has no stage"));
            }
            if way.visits().iter().any(|host| host.0 >= identities.len()) {
                return Err(route(plan, "is for a host that is not there"));
            }
        }
        Ok(Self {
            refused: plans.iter().map(|_| None).collect(),
            plans,
            hosts: identities.into_iter().map(HostView::new).collect(),
            phase: Phase::Preparing { plan: PlanId(0), since: Duration::ZERO },
            epoch: 1,
            frames: Frames::default(),
            faults: 0,
            progress: Duration::ZERO,
            possible: Duration::ZERO,
            asked: None,
            actions: Vec::new(),
            options,
        })
    }

    /// Whether a frame may be submitted now.
    pub fn has_room(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. }) && self.faults == 0 && self.frames.len() < self.options.in_flight
    }

    /// Whether all frames were answered.
    pub fn is_idle(&self) -> bool {
        self.frames.is_empty()
    }

    /// Why everything was given up, if it was. All frames were answered then, and later ones are at once.
    pub fn failure(&self) -> Option<&DistributedError> {
        match &self.phase {
            Phase::Ended(error) => Some(error),
            _ => None,
        }
    }

    /// The plan that frames go by; `None` while they can't.
    pub fn streams(&self) -> Option<PlanId> {
        match self.phase {
            Phase::Streaming { plan } | Phase::Draining { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// Submits a frame, and returns its number, from 0. More than [`FrontOptions::in_flight`] wait here.
    pub fn submit(&mut self, values: Vec<FrameValue>, now: Duration) -> (u64, Vec<FrontAction>) {
        let sequence = self.frames.submit(values);
        match self.failure() {
            Some(error) => self.answer_all(&error.to_string()),
            None => self.pump(now),
        }
        (sequence, self.take())
    }

    /// What there is to do by this time. Call it every few milliseconds.
    pub fn tick(&mut self, now: Duration) -> Vec<FrontAction> {
        if self.failure().is_none() {
            self.watch(now);
            self.go_on(now);
            if self.asked.is_none_or(|asked| now.saturating_sub(asked) >= self.options.ask_every) {
                self.asked = Some(now);
                self.ask(now);
            }
        }
        self.take()
    }

    /// Takes a message of a host.
    pub fn receive(&mut self, from: HostId, message: Message, now: Duration) -> Vec<FrontAction> {
        if self.failure().is_some() || from.0 >= self.hosts.len() {
            return Vec::new();
        }
        match message.kind {
            MessageKind::Tell(tell) => match self.hosts.get_mut(from.0).map(|host| host.hear(tell, now)) {
                Some(Ok(heard)) => self.heard(from, &heard, now),
                Some(Err(error)) => self.end(error),
                None => {}
            },
            MessageKind::Answer { tag, failure } => self.answered(tag, failure.map_or(Ok(message.values), Err), now),
            MessageKind::Probed { epoch } => self.probed(epoch, now),
            MessageKind::Missing { epoch, detail } if epoch == self.epoch => self.fault(&detail, now),
            MessageKind::Figures { stages, spans } => {
                let spans = self.hosts.get(from.0).map_or_else(Vec::new, |host| host.clock.translated(spans));
                self.actions.push(FrontAction::Figures { host: from, figures: stages, spans });
            }
            _ => {}
        }
        self.take()
    }

    /// Takes note that messages may have been lost, such as when what carries them began anew: frames without an answer
    /// are sent again.
    pub fn lost_messages(&mut self, detail: &str, now: Duration) -> Vec<FrontAction> {
        if self.failure().is_none() && self.phase.sends() {
            self.fault(detail, now);
        }
        self.take()
    }

    /// Asks all hosts for what their stages did; [`FrontAction::Figures`] brings the answers.
    pub fn ask_figures(&mut self) -> Vec<FrontAction> {
        self.send_all(&MessageKind::AskFigures)
    }

    /// Tells all hosts that no more frames will come.
    pub fn say_end(&mut self) -> Vec<FrontAction> {
        self.send_all(&MessageKind::End)
    }

    fn send_all(&mut self, kind: &MessageKind) -> Vec<FrontAction> {
        (0..self.hosts.len()).for_each(|host| self.send(HostId(host), Message::plain(kind.clone())));
        self.take()
    }

    fn take(&mut self) -> Vec<FrontAction> {
        std::mem::take(&mut self.actions)
    }

    fn send(&mut self, to: HostId, message: Message) {
        self.actions.push(FrontAction::Send { to, message });
    }

    fn event(&mut self, event: FrontEvent) {
        self.actions.push(FrontAction::Event(event));
    }

    fn heard(&mut self, host: HostId, heard: &Heard, now: Duration) {
        match heard {
            Heard::Came => self.event(FrontEvent::Came(host)),
            Heard::Restarted => {
                self.event(FrontEvent::Restarted(host));
                if self.phase.sends() && self.way().is_some_and(|way| way.contains(host)) {
                    let name = self.name_of(host);
                    self.fault(&format!("host '{name}' was started again"), now);
                }
            }
            Heard::Same | Heard::Old => {}
        }
    }

    fn name_of(&self, host: HostId) -> String {
        self.hosts.get(host.0).map_or_else(String::new, |host| host.name().to_owned())
    }

    /// The way of the plan at hand.
    fn way(&self) -> Option<&Route> {
        self.plans.get(self.phase.plan()?.0)
    }

    fn answered(&mut self, tag: FrameTag, outcome: Outcome, now: Duration) {
        let ready = self.frames.answer(tag.sequence, outcome);
        if !ready.is_empty() {
            self.faults = 0;
        }
        self.progress = now;
        self.answer(ready);
        self.pump(now);
    }

    fn answer(&mut self, ready: Vec<(u64, Outcome)>) {
        self.actions.extend(ready.into_iter().map(|(sequence, outcome)| FrontAction::Answer { sequence, outcome }));
    }

    /// Asks all hosts whether they are there, and says what they should have ready.
    fn ask(&mut self, now: Duration) {
        let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let wanted: Vec<PlanId> = self.phase.plan().into_iter().chain(self.better(now)).collect();
        for host in (0..self.hosts.len()).map(HostId) {
            let visits = |plan: &&PlanId| self.plans.get(plan.0).is_some_and(|way| way.contains(host));
            let prepare = wanted.iter().filter(visits).copied().collect();
            self.send(host, Message::plain(MessageKind::Ask(Ask { nanoseconds, prepare })));
        }
    }

    /// Sends what there is room for. After faults frames go one by one, so that one that ends hosts takes no others
    /// with it.
    fn pump(&mut self, now: Duration) {
        let Phase::Streaming { plan } = self.phase else { return };
        let Some(&first) = self.way().and_then(|way| way.visits().first()) else { return };
        let window = if self.faults < 2 { self.options.in_flight } else { 1 };
        if self.frames.under_way() == 0 {
            self.progress = now;
        }
        while let Some(frame) = self.frames.next_to_send(window) {
            let tag =
                FrameTag { epoch: self.epoch, plan, visit: 0, position: frame.position, sequence: frame.sequence };
            let kind = MessageKind::Frame { tag, failure: None };
            self.send(first, Message { kind, values: frame.values });
        }
    }

    fn answer_all(&mut self, detail: &str) {
        while !self.frames.is_empty() {
            let ready = self.frames.answer_oldest(Err(FrameFailure::Ended { detail: detail.to_owned() }));
            self.answer(ready);
        }
    }
}
