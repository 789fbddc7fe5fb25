//! Measuring several processors at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_backend::BackendError;
use millstream_board::{Board, CoreId, Processor};

use crate::ProfileError;

/// Where the threads of one measurement meet: none starts before all are ready, and none stops before all have enough.
pub(crate) struct Meeting {
    start: Barrier,
    unfinished: AtomicUsize,
}

/// One thread's part in a [`Meeting`]. However it ends, the others do not wait for it for ever.
pub(crate) struct Participant<'a> {
    meeting: &'a Meeting,
    has_started: bool,
    is_finished: bool,
}

impl Participant<'_> {
    /// Waits for the others; later calls do nothing.
    pub(crate) fn start(&mut self) {
        if !self.has_started {
            self.has_started = true;
            self.meeting.start.wait();
        }
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

    /// Whether all threads have enough.
    pub(crate) fn is_over(&self) -> bool {
        self.meeting.unfinished.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.start();
        self.finish();
    }
}

/// Runs `work` once per processor, each on a thread of its own that is pinned to the processor's first core.
///
/// # Errors
/// What `work` returned, made into an error of this crate by `failed`, or [`ProfileError::Panicked`].
pub(crate) fn side_by_side<T: Send>(
    processors: &[Processor],
    work: impl Fn(&Processor, &mut Participant<'_>) -> Result<T, BackendError> + Sync,
    failed: impl Fn(&Processor, BackendError) -> ProfileError,
) -> Result<Vec<T>, ProfileError> {
    let meeting = Meeting { start: Barrier::new(processors.len()), unfinished: AtomicUsize::new(processors.len()) };
    let run = |processor: &Processor| {
        let mut participant = Participant { meeting: &meeting, has_started: false, is_finished: false };
        if let Some(&core) = processor.cores.first() {
            pin(core);
        }
        work(processor, &mut participant)
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = processors.iter().map(|processor| scope.spawn(|| run(processor))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    processors
        .iter()
        .zip(outcomes)
        .map(|(processor, outcome)| {
            let outcome = outcome.map_err(|_| ProfileError::Panicked { processor: processor.clone() })?;
            outcome.map_err(|source| failed(processor, source))
        })
        .collect()
}

/// Whether other load is known to run on one of the processor's cores.
pub(crate) fn is_shared(board: &Board, processor: &Processor) -> bool {
    let slowed = |id| board.cores().any(|core| core.id == id && core.emulated_slowdown.is_some());
    processor.cores.iter().any(|&id| slowed(id))
}

/// Pins the calling thread; where the system refuses, the times are what they are.
pub(crate) fn pin(core: CoreId) {
    if !millstream_machine::pin_current_thread(core) {
        tracing::warn!(%core, "the system refused to pin a measuring thread");
    }
}
