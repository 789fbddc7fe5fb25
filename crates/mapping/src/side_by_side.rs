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
/// pieces. The calling thread is one of the threads, and does what the system starts no other for.
pub fn on_threads<Done: Send>(threads: usize, pieces: usize, work: impl Fn(usize) -> Done + Sync) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let all_done: Mutex<Vec<(usize, Done)>> = Mutex::new(Vec::new());
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&piece| piece < pieces);
    let work_on = || {
        while let Some(piece) = take() {
            let done = work(piece);
            all_done.lock().unwrap_or_else(PoisonError::into_inner).push((piece, done));
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
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::HashSet;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use super::{on_threads, side_by_side};

    #[test]
    fn pieces_come_back_in_order_from_as_many_threads_as_are_wanted() {
        for threads in [0, 1, 2, 3, 100] {
            // So that every thread has a piece.
            let all_began = Barrier::new(threads.clamp(1, 9));
            let began = Mutex::new(HashSet::new());
            let work = |piece: usize| {
                let here = thread::current().id();
                let is_first = began.lock().unwrap().insert(here);
                if is_first {
                    all_began.wait();
                }
                (piece, is_first, here)
            };
            let done = on_threads(threads, 9, work);
            assert!(done.iter().map(|(piece, ..)| *piece).eq(0..9), "{threads}: {done:?}");
            assert_eq!(done.iter().filter(|(_, is_first, _)| *is_first).count(), threads.clamp(1, 9));
            assert!(done.iter().any(|(.., thread)| *thread == thread::current().id()));
        }
        let nothing: Vec<usize> = on_threads(3, 0, |_| unreachable!("there is nothing to do"));
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
