//! A scenario for the model: threads that wait for each other.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::atomic::AtomicU64;
use super::thread::spawn;
use crate::sleeper::Sleeper;

/// A thread that waits for others, again and again, for good or for a moment, while they count up and wake it. It is a
/// standstill if a wake gets lost.
///
/// # Panics
/// If the waiting ends before there is anything to go on for.
pub fn sleepers(wakers: usize, rounds: u64) {
    let sleeper = Arc::new(Sleeper::default());
    let counts: Arc<[AtomicU64]> = (0..wakers).map(|_| AtomicU64::new(0)).collect();
    let (waiting, seen) = (Arc::clone(&sleeper), Arc::clone(&counts));
    let waits = spawn("sleeper", move || {
        waiting.register();
        for round in 1..=rounds {
            let is_ready = || seen.iter().all(|count| count.load(Ordering::SeqCst) >= round);
            if round % 2 == 0 || !waiting.wait_a_moment(is_ready) {
                waiting.wait_until(is_ready);
            }
            assert!(seen.iter().all(|count| count.load(Ordering::SeqCst) >= round), "woken too early");
        }
    });
    for index in 0..wakers {
        let (sleeper, counts) = (Arc::clone(&sleeper), Arc::clone(&counts));
        spawn("waker", move || {
            for round in 1..=rounds {
                counts[index].store(round, Ordering::SeqCst);
                sleeper.wake();
            }
        });
    }
    assert!(waits.join().is_ok(), "the sleeper panicked");
}
