//! Frames through stages on several hosts: what is sent, how much is under way, in which order answers come, and what
//! happens when hosts are lost and come back.
//!
//! The [`Front`] runs beside the application that has frames; a [`HostSide`] runs on every host. Both are state
//! machines: they are given messages and the time, and return what is to be done. Whatever carries messages (dora-rs in
//! `millstream-node`, a simulation in this crate's tests) is outside, and so are threads and clocks.
//!
//! - **Credits.** At most [`FrontOptions::in_flight`] frames are under way. Queues of as many places never drop one of
//!   them.
//! - **Epochs.** Frames that are under way belong to an epoch, within which they are counted without a gap. When a host
//!   was lost, was started again, or misses a frame, the front begins a new epoch and sends again what has no answer
//!   yet. Hosts forget older epochs, so what is still in a queue of those may be dropped.
//! - **Probes.** Before the first frame of an epoch a probe goes the way of the frames, so that no frame is sent where
//!   nobody listens yet.
//! - **Plans.** There may be several schedules in the order of preference, such as one for all hosts and one without
//!   each. When a host is lost for longer than [`FrontOptions::patience`], the best one for the hosts that are left
//!   takes over; when it has been back for [`FrontOptions::trial`], the better one takes over again, once no frame is
//!   under way.
//! - **Fewer bits.** A message can be encoded with 32-bit floats as 16-bit floats or 8-bit integers
//!   ([`Message::encode_as`]); [`received`] says what comes of a value by that.
//! - **Clocks.** Hosts say what their clocks show when they are asked whether they are there. By the quickest answers,
//!   the front knows when by its own clock stages worked on frames.
//! - **Frames that end hosts.** When epochs end again and again without progress, frames go one by one, and the one
//!   that never gets through is answered with an error.
//!
//! ```
//! use std::time::Duration;
//!
//! use millstream_distributed::{Front, FrontOptions, HostId, Identity, Route};
//!
//! let identity = |name: &str| Identity { host: name.to_owned(), ..Identity::default() };
//! let plans = vec![Route::new([HostId(0), HostId(1)]), Route::new([HostId(0)])];
//! let mut front = Front::new(plans, vec![identity("rk"), identity("pi")], FrontOptions::new(4))?;
//! // Both are asked who they are and to prepare the first plan. Until they answer, there is no room for a frame.
//! let actions = front.tick(Duration::ZERO);
//! assert_eq!(actions.len(), 2);
//! assert!(!front.has_room());
//! # Ok::<(), millstream_distributed::DistributedError>(())
//! ```
//!
//! Invariants: every frame is answered once, in order, with values or a [`FrameFailure`]; no more frames are under way
//! in an epoch than there are credits; the same messages at the same times lead to the same actions; no input panics.

mod encoding;
mod error;
mod front;
mod host;
mod message;
mod narrowing;
mod options;
mod route;

pub use error::{DistributedError, FrameFailure};
pub use front::{Front, FrontAction, FrontEvent};
pub use host::{HostAction, HostSide};
pub use message::{Ask, FrameTag, FrameValue, HostSpan, Identity, Message, MessageKind, StageFigures, Tell};
pub use narrowing::received;
pub use options::FrontOptions;
pub use route::{HostId, Peer, PlanId, Route};
