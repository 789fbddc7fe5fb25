//! What the front and hosts say to each other.

use std::time::Duration;

use millstream_backend::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::FrameFailure;
use crate::route::PlanId;

/// A message, with the values that it brings.
#[derive(Debug, Clone)]
pub struct Message {
    /// What it says.
    pub kind: MessageKind,
    /// What is needed of a frame from here on, or its results. Empty for others than frames and answers.
    pub values: Vec<FrameValue>,
}

impl Message {
    /// A message without values.
    pub fn plain(kind: MessageKind) -> Self {
        Self { kind, values: Vec::new() }
    }
}

/// A value of a frame.
#[derive(Debug, Clone)]
pub struct FrameValue {
    /// Its place among all values of the network's graph.
    pub id: u32,
    /// What it is for this frame.
    pub tensor: Tensor,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MessageKind {
    /// A frame for a visit; one that failed before goes on without values, so that none is missing.
    Frame {
        /// Which one it is.
        tag: FrameTag,
        /// Why it failed, if it did.
        failure: Option<FrameFailure>,
    },
    /// A frame that has made all its visits.
    Answer {
        /// Which one it is.
        tag: FrameTag,
        /// Why it failed, if it did.
        failure: Option<FrameFailure>,
    },
    /// Goes the way of the frames before the first of them.
    Probe {
        /// The epoch that begins.
        epoch: u64,
        /// Which way it goes.
        plan: PlanId,
        /// The visit that it comes to.
        visit: usize,
    },
    /// A probe has made all visits.
    Probed {
        /// Its epoch.
        epoch: u64,
    },
    /// A host says that frames of the epoch are missing, and why; they have to be sent again.
    Missing {
        /// Which epoch.
        epoch: u64,
        /// What is missing.
        detail: String,
    },
    /// The front asks whether a host is there.
    Ask(Ask),
    /// A host says that it is.
    Tell(Tell),
    /// The front asks for what stages did.
    AskFigures,
    /// A host says what its stages did.
    Figures {
        /// In all.
        stages: Vec<StageFigures>,
        /// With single frames, by the host's clock.
        spans: Vec<HostSpan>,
    },
    /// No more frames will come.
    End,
}

/// Which frame something is, and where it is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTag {
    /// The epoch that it was sent in.
    pub epoch: u64,
    /// Which way it goes.
    pub plan: PlanId,
    /// The visit that it comes to.
    pub visit: usize,
    /// How many frames of the epoch were sent before.
    pub position: u64,
    /// How many frames of the stream came before.
    pub sequence: u64,
}

/// A question whether a host is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// When it was asked, in nanoseconds of the front's clock.
    pub nanoseconds: u64,
    /// What the host should have ready.
    pub prepare: Vec<PlanId>,
}

/// A host's answer to [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tell {
    /// When it was asked, by the front's clock.
    pub nanoseconds: u64,
    /// What the host's own clock showed when it answered, in nanoseconds.
    pub clock_nanoseconds: u64,
    /// Greater each time that the host is started.
    pub incarnation: u64,
    /// What it is.
    pub identity: Identity,
    /// What it has ready.
    pub prepared: Vec<PlanId>,
    /// What it can't run, and why.
    pub refused: Vec<(PlanId, String)>,
}

/// What must be the same on a host as the front believes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The host's name.
    pub host: String,
    /// The version of Millstream.
    pub version: String,
    /// The digest of the network.
    pub model: String,
    /// The fingerprint of the host's board.
    pub board: String,
    /// The digests of all schedules, in the order of preference.
    pub schedules: Vec<String>,
}

impl Identity {
    /// What differs first in another one: what it is, its value here, its value there.
    pub(crate) fn difference(&self, found: &Self) -> Option<(&'static str, String, String)> {
        let pairs = [
            ("name", self.host.clone(), found.host.clone()),
            ("version of Millstream", self.version.clone(), found.version.clone()),
            ("model", self.model.clone(), found.model.clone()),
            ("board", self.board.clone(), found.board.clone()),
            ("schedule", self.schedules.join(" "), found.schedules.join(" ")),
        ];
        pairs.into_iter().find(|(_, here, there)| here != there)
    }
}

/// What a replica of a stage did on its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageFigures {
    /// Which plan's.
    pub plan: PlanId,
    /// The stage, counted from 0 through the whole plan.
    pub stage: usize,
    /// The replica, counted from 0.
    pub replica: usize,
    /// How many frames it worked on.
    pub frames: u64,
    /// Mean time that it worked on one.
    pub mean_seconds: f64,
}

/// When a replica of a stage worked on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSpan {
    /// Which plan's.
    pub plan: PlanId,
    /// The stage, counted from 0 through the whole plan.
    pub stage: usize,
    /// The replica, counted from 0.
    pub replica: usize,
    /// How many frames of the stream came before this one.
    pub sequence: u64,
    /// When it began, by the clock of whoever tells.
    pub begin: Duration,
    /// When it was done.
    pub end: Duration,
}
