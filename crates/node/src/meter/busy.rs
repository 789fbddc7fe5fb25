//! Other work for all cores, and what processor time a process has had.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::time::{ClockId, clock_gettime};

/// Keeps all cores busy until it is dropped.
pub(super) struct Busy(Arc<AtomicBool>);

impl Busy {
    pub(super) fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processor time of this process so far.
pub(super) fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
