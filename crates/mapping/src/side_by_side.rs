//! Two computations at a time.

use std::panic::resume_unwind;
use std::thread;

/// Computes one thing in a thread of its own while the calling one computes another; one after the other where the
/// system starts no thread. Neither may depend on what the other one does.
pub fn side_by_side<Beside: Send, Here>(
    beside: impl Fn() -> Beside + Sync,
    here: impl FnOnce() -> Here,
) -> (Beside, Here) {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("millstream-search".to_owned());
        let started = builder.spawn_scoped(scope, &beside);
        let here = here();
        let beside = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => beside(),
        };
        (beside, here)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::side_by_side;

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
