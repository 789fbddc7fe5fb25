//! Several computations at a time.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What threads are called in debuggers and profilers.
const NAME: &str = "millstream-search";

/// Computes one thing in a thread of its own while the calling one computes another; one after the other where the
/// system starts no thread. Neither may depend on what the other one does.
pub fn side_by_side<Beside: Send, Here>(
    beside: impl Fn() -> Beside + Sync,
    here: impl FnOnce() -> Here,
) -> (Beside, Here) {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name(NAME.to_owned());
        let started = builder.spawn_scoped(scope, &beside);
        let here = here();
        let beside = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => beside(),
        };
        (beside, here)
    })
}

/// Does pieces of work, the next one on whichever thread is free, and returns what came of them in the order of the
/// pieces. Each thread has a worker of its own, which it makes before its first piece. The calling thread is one of
/// them, and does what the system starts no thread for.
///
/// What comes of a piece must not depend on which pieces the worker did before.
pub fn on_threads<Worker, Done: Send>(
    threads: usize,
    pieces: usize,
    worker: impl Fn() -> Worker + Sync,
    work: impl Fn(&mut Worker, usize) -> Done + Sync,
) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let all_done: Mutex<Vec<(usize, Done)>> = Mutex::new(Vec::new());
    let work_on = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&piece| piece < pieces);
        let mut piece = take();
        let mut worker = piece.map(|_| worker());
        while let (Some(worker), Some(taken)) = (&mut worker, piece) {
            let done = work(worker, taken);
            all_done.lock().unwrap_or_else(PoisonError::into_inner).push((taken, done));
            piece = take();
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(pieces) {
            let builder = thread::Builder::new().name(NAME.to_owned());
            if builder.spawn_scoped(scope, work_on).is_err() {
                break;
            }
        }
        work_on();
    });

    let mut all_done = all_done.into_inner().unwrap_or_else(PoisonError::into_inner);
    all_done.sort_unstable_by_key(|(piece, _)| *piece);
    all_done.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::{on_threads, side_by_side};

    #[test]
    fn pieces_come_back_in_order_from_as_many_workers_as_there_are_threads() {
        for threads in [0, 1, 2, 3, 100] {
            // So that every thread has a piece.
            let all_began = Barrier::new(threads.clamp(1, 9));
            let begin = || {
                all_began.wait();
                0
            };
            let work = |count: &mut usize, piece: usize| {
                *count += 1;
                (piece, *count == 1, thread::current().id())
            };
            let done = on_threads(threads, 9, begin, work);
            assert!(done.iter().map(|(piece, ..)| *piece).eq(0..9), "{threads}: {done:?}");
            assert_eq!(done.iter().filter(|(_, is_first, _)| *is_first).count(), threads.clamp(1, 9));
            assert!(done.iter().any(|(.., thread)| *thread == thread::current().id()));
        }
        let nothing = on_threads(3, 0, || unreachable!("no worker is needed"), |(): &mut (), piece| piece);
        assert!(nothing.is_empty());
    }

    #[test]
    fn both_are_computed_at_the_same_time() {
        let barrier = Barrier::new(2);
        let meet = || {
            barrier.wait();
            thread::current().id()
        };
        let (beside, here) = side_by_side(meet, meet);
        assert_eq!(here, thread::current().id());
        assert_ne!(beside, here);
    }
}
