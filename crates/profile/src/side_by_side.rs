//! Measuring several processors at the same time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use millstream_backend::BackendError;
use millstream_board::{CoreId, Processor};

use crate::error::ProfileError;

/// How often it is asked whether a measurement should go on.
const LOOK: Duration = Duration::from_millis(100);

/// Where the threads of one measurement meet: none starts before all are ready, and none stops before all have enough,
/// unless it is called off.
struct Meeting {
    count: Mutex<Count>,
    changed: Condvar,
    unfinished: AtomicUsize,
    is_called_off: AtomicBool,
}

/// Threads that others wait for.
struct Count {
    /// Not ready yet.
    absent: usize,
    /// Still there.
    present: usize,
}

impl Meeting {
    fn new(participants: usize) -> Self {
        Self {
            count: Mutex::new(Count { absent: participants, present: participants }),
            changed: Condvar::new(),
            unfinished: AtomicUsize::new(participants),
            is_called_off: AtomicBool::new(false),
        }
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No thread waits any more, and those that work stop soon.
    fn call_off(&self) {
        let _count = self.count();
        self.is_called_off.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }

    fn is_called_off(&self) -> bool {
        self.is_called_off.load(Ordering::SeqCst)
    }

    /// Waits until all have left, and calls it off if `go_on` says no.
    fn attend(&self, go_on: &mut dyn FnMut() -> bool) {
        let mut count = self.count();
        while count.present > 0 {
            let (held, waited) = self.changed.wait_timeout(count, LOOK).unwrap_or_else(PoisonError::into_inner);
            count = held;
            if waited.timed_out() && !self.is_called_off() {
                drop(count);
                if !go_on() {
                    self.call_off();
                }
                count = self.count();
            }
        }
    }
}

/// One thread's part in a [`Meeting`]. However it ends, the others do not wait for it for ever.
pub(crate) struct Participant<'a> {
    meeting: &'a Meeting,
    has_started: bool,
    is_finished: bool,
}

impl<'a> Participant<'a> {
    fn new(meeting: &'a Meeting) -> Self {
        Self { meeting, has_started: false, is_finished: false }
    }

    /// Waits for the others; later calls do nothing.
    pub(crate) fn start(&mut self) {
        if self.has_started {
            return;
        }
        let mut count = self.be_ready();
        while count.absent > 0 && !self.meeting.is_called_off() {
            count = self.meeting.changed.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends waiting for this thread.
    fn be_ready(&mut self) -> MutexGuard<'a, Count> {
        let mut count = self.meeting.count();
        if !self.has_started {
            self.has_started = true;
            count.absent -= 1;
            self.meeting.changed.notify_all();
        }
        count
    }

    /// Whether this thread has enough.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// This thread has enough.
    pub(crate) fn finish(&mut self) {
        if !self.is_finished {
            self.is_finished = true;
            self.meeting.unfinished.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether all threads have enough, or should stop.
    pub(crate) fn is_over(&self) -> bool {
        self.meeting.unfinished.load(Ordering::SeqCst) == 0 || self.meeting.is_called_off()
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.finish();
        self.be_ready().present -= 1;
        self.meeting.changed.notify_all();
    }
}

/// Runs `work` once per processor, each on a thread of its own that is pinned to the processor's first core. `go_on` is
/// asked now and then; if it says no, the measurement is called off, and there is no result.
///
/// # Errors
/// What `work` returned, made into an error of this crate by `failed`, [`ProfileError::Panicked`] or
/// [`ProfileError::Thread`].
pub(crate) fn side_by_side<T: Send>(
    processors: &[Processor],
    work: impl Fn(&Processor, &mut Participant<'_>) -> Result<T, BackendError> + Sync,
    failed: impl Fn(&Processor, BackendError) -> ProfileError,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<T>>, ProfileError> {
    let meeting = Meeting::new(processors.len());
    let run = |processor: &Processor, mut participant: Participant<'_>| {
        if let Some(&core) = processor.cores.first() {
            pin(core);
        }
        work(processor, &mut participant)
    };

    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let run = &run;
        let start = |processor| {
            // If no thread can be started, the participant is dropped with what it should have run.
            let participant = Participant::new(&meeting);
            let started = Builder::new().spawn_scoped(scope, move || run(processor, participant));
            started.map_err(|source| {
                meeting.call_off();
                ProfileError::Thread { processor: processor.clone(), source }
            })
        };
        let threads: Vec<_> = processors.iter().map(start).collect();
        meeting.attend(go_on);
        threads.into_iter().map(|thread| thread.map(std::thread::ScopedJoinHandle::join)).collect()
    });

    let outcomes = processors.iter().zip(outcomes).map(|(processor, outcome)| {
        let outcome = outcome?.map_err(|_| ProfileError::Panicked { processor: processor.clone() })?;
        outcome.map_err(|source| failed(processor, source))
    });
    let outcomes = outcomes.collect::<Result<Vec<T>, ProfileError>>()?;
    Ok((!meeting.is_called_off()).then_some(outcomes))
}

/// Pins the calling thread; where the system refuses, the times are what they are.
pub(crate) fn pin(core: CoreId) {
    if !millstream_machine::pin_current_thread(core) {
        tracing::warn!(%core, "the system refused to pin a measuring thread");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use super::*;

    fn processors(count: u32) -> Vec<Processor> {
        // Cores that are not there: pinning is refused, which does not matter here.
        (0..count).map(|core| Processor::on_cores("B".to_owned(), vec![CoreId(1000 + core)])).collect()
    }

    fn failed(processor: &Processor, source: BackendError) -> ProfileError {
        ProfileError::Accelerator { processor: processor.clone(), source }
    }

    #[test]
    fn all_start_together_and_stop_together() {
        let rounds = AtomicUsize::new(0);
        let work = |_: &Processor, participant: &mut Participant<'_>| {
            participant.start();
            participant.finish();
            while !participant.is_over() {
                std::thread::yield_now();
            }
            Ok(rounds.fetch_add(1, Ordering::SeqCst))
        };
        let mut outcomes = side_by_side(&processors(3), work, failed, &mut || true).unwrap().unwrap();
        outcomes.sort_unstable();
        assert_eq!(outcomes, [0, 1, 2]);
    }

    #[test]
    fn a_measurement_is_called_off_in_the_middle() {
        let work = |processor: &Processor, participant: &mut Participant<'_>| {
            // One is never ready, the other would measure for ever.
            if processor.cores[0] == CoreId(1000) {
                participant.start();
            }
            while !participant.is_over() {
                std::thread::yield_now();
            }
            Ok(())
        };
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            asked < 3
        };
        assert!(side_by_side(&processors(2), work, failed, &mut go_on).unwrap().is_none());
        assert_eq!(asked, 3);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_was_not_started_or_panicked() {
        let meeting = Meeting::new(2);
        let mut first = Participant::new(&meeting);
        drop(Participant::new(&meeting));
        first.start();
        drop(first);
        meeting.attend(&mut || true);

        let work = |processor: &Processor, participant: &mut Participant<'_>| {
            assert!(processor.cores[0] != CoreId(1000), "one panics");
            participant.start();
            Ok(())
        };
        let outcome = side_by_side(&processors(2), work, failed, &mut || true);
        assert!(matches!(outcome, Err(ProfileError::Panicked { .. })));
    }
}
