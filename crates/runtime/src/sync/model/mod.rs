//! A stand-in for threads, locks, channels and the clock in which one seed decides everything: shuttle's tasks take
//! turns, and time is virtual.
//!
//! Every operation of [`facade`] is a point where another task may go on. A task that waits is left out until somebody
//! wakes it or its time is over; time goes on a little with every step, and at once to the next time limit when nobody
//! else can go on. Where there is no such limit either, all is at a standstill, which [`standstill`] tells.

mod atomic;
mod channel;
mod mutex;
mod scheduler;
mod sleepers;
mod thread;
mod world;

pub use scheduler::SleepingScheduler;
pub use sleepers::sleepers;
pub use thread::{JoinHandle, Thread, sleep, spawn};
pub use world::{fail_spawn, living, now, panics, standstill, step};

/// What the crate's own code sees.
pub(crate) mod facade {
    pub(crate) use super::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use super::mutex::{Mutex, MutexGuard, lock, try_lock};
    pub(crate) use super::world::now;
    use std::time::Duration;

    /// Nobody keeps a core here.
    pub(crate) const AWAKE: Duration = Duration::ZERO;
    pub(crate) const LOOKS: usize = 1;

    pub(crate) mod channel {
        pub(crate) use std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};

        pub(crate) use super::super::channel::{Receiver, Sender, bounded};
    }

    pub(crate) use super::thread::{MemoryMark, release_freed_memory};

    pub(crate) mod thread {
        pub(crate) use super::super::thread::{
            Builder, JoinHandle, Thread, current, park, park_timeout, pin_current_thread, prefer_short_slices,
            yield_now,
        };
    }
}
