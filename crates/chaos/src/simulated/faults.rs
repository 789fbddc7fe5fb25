//! What goes wrong, and where.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use millstream_backend::BackendError;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::lock::lock;

/// How long a segment can be stuck.
pub(crate) const LONGEST_STUCK: Duration = Duration::from_secs(5);

/// How long it can take to prepare a segment.
pub(crate) const LONGEST_PREPARATION: Duration = Duration::from_secs(200);

/// What happens to a frame in one operator, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fault {
    Error,
    OutOfMemory,
    TooFewValues,
    TooManyValues,
    /// Later than usual, but within any time limit.
    Slow,
    Panic,
    /// And another panic when the segment is dropped.
    PanicAndAgainWhenDropped,
    /// Also for whatever else was prepared on the device.
    DeviceLost,
    /// Until it is cancelled.
    Hang,
    /// For seconds, whoever cancels it.
    Stuck,
}

pub(crate) const FAULTS: [Fault; 10] = [
    Fault::Error,
    Fault::OutOfMemory,
    Fault::TooFewValues,
    Fault::TooManyValues,
    Fault::Slow,
    Fault::Panic,
    Fault::PanicAndAgainWhenDropped,
    Fault::DeviceLost,
    Fault::Hang,
    Fault::Stuck,
];

impl Fault {
    /// Whether it costs the replica, which has to be prepared again.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Self::Panic | Self::PanicAndAgainWhenDropped | Self::DeviceLost | Self::Stuck)
    }
}

/// What happens when a segment is prepared, in the first schedule, at a replacement, or when a replica is started
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PrepareFault {
    Error,
    OutOfMemory,
    Panic,
    DeviceLost,
    Slow,
    /// For minutes.
    Stuck,
}

pub(crate) const PREPARE_FAULTS: [PrepareFault; 6] = [
    PrepareFault::Error,
    PrepareFault::OutOfMemory,
    PrepareFault::Panic,
    PrepareFault::DeviceLost,
    PrepareFault::Slow,
    PrepareFault::Stuck,
];

/// What is to happen and what happened. Nothing that this locks is a step of the simulation.
pub(crate) struct Plan(Mutex<State>);

pub(crate) struct State {
    /// By the frame's number: the operator's index and the fault. They are taken out when they happen.
    pub(crate) frames: HashMap<u64, (usize, Fault)>,
    /// By how many segments were prepared before.
    pub(crate) prepares: HashMap<usize, PrepareFault>,
    pub(crate) prepared: usize,
    /// What happened.
    pub(crate) happened: HashMap<u64, Fault>,
    pub(crate) prepares_failed: Vec<PrepareFault>,
    /// How often the device was lost.
    pub(crate) losses_of_device: usize,
    /// Frames that met a device which another frame had lost.
    pub(crate) collateral: Vec<u64>,
    /// What must never happen.
    pub(crate) violations: Vec<String>,
    random: ChaCha8Rng,
}

impl Plan {
    pub(crate) fn new(
        frames: HashMap<u64, (usize, Fault)>,
        prepares: HashMap<usize, PrepareFault>,
        random: &mut ChaCha8Rng,
    ) -> Self {
        Self(Mutex::new(State {
            frames,
            prepares,
            prepared: 0,
            happened: HashMap::new(),
            prepares_failed: Vec::new(),
            losses_of_device: 0,
            collateral: Vec::new(),
            violations: Vec::new(),
            random: ChaCha8Rng::from_rng(random),
        }))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    /// The fault of a frame that meets these operators, if there is one; it does not come again.
    pub(crate) fn take(&mut self, number: u64, operators: &[usize]) -> Option<Fault> {
        let (_, fault) = self.frames.get(&number).copied().filter(|(operator, _)| operators.contains(operator))?;
        self.frames.remove(&number);
        self.happened.insert(number, fault);
        Some(fault)
    }

    /// Preparations that were stuck, or may still be.
    pub(crate) fn stuck_preparations(&self) -> usize {
        let all = self.prepares.values().chain(&self.prepares_failed);
        all.filter(|fault| **fault == PrepareFault::Stuck).count()
    }

    /// How much has happened.
    pub(crate) fn so_far(&self) -> usize {
        self.happened.len() + self.collateral.len() + self.prepares_failed.len()
    }

    /// A time between these.
    pub(crate) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        Duration::from_nanos(self.random.random_range(least.as_nanos() as u64..=most.as_nanos() as u64))
    }

    /// How long a segment is stuck: often until just after it was given up, when others are at work in its place.
    pub(crate) fn stuck(&mut self) -> Duration {
        let milliseconds = Duration::from_millis;
        if self.random.random_bool(0.7) {
            self.time(milliseconds(550), milliseconds(600))
        } else {
            self.time(milliseconds(600), LONGEST_STUCK)
        }
    }

    /// How long a preparation is stuck: also until just before and after it is given up.
    pub(crate) fn stuck_preparation(&mut self) -> Duration {
        let milliseconds = Duration::from_millis;
        if self.random.random_bool(0.5) {
            self.time(milliseconds(59_900), milliseconds(60_200))
        } else {
            self.time(milliseconds(10_000), LONGEST_PREPARATION)
        }
    }

    /// How long a segment works, if not just for a step.
    pub(crate) fn work(&mut self) -> Option<Duration> {
        self.random.random_bool(0.3).then(|| self.time(Duration::from_micros(1), Duration::from_micros(300)))
    }
}

pub(crate) fn device_lost() -> BackendError {
    BackendError::DeviceLost { backend: "faulty".to_owned(), detail: "unplugged".to_owned() }
}

pub(crate) fn out_of_memory() -> BackendError {
    BackendError::OutOfMemory { backend: "faulty".to_owned(), detail: "too much".to_owned() }
}
