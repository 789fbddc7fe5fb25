//! Busy loops that make a core slower for everybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::{Error, SlowCore};

/// Load that runs until it is dropped.
pub struct BusyLoops {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    /// Starts as many loops on each core as leave the given share of it to everything else: a factor of 3 needs two.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(slow_cores: &[SlowCore]) -> Result<Self, Error> {
        let mut loops = Self { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        for slow in slow_cores {
            for index in 1..slow.factor {
                let stop = Arc::clone(&loops.stop);
                let core = slow.core;
                let (report, pinned) = std::sync::mpsc::channel();
                let body = move || {
                    let is_pinned = millstream_machine::pin_current_thread(core);
                    if report.send(is_pinned).is_err() || !is_pinned {
                        return;
                    }
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                };
                let name = format!("busy {}.{index}", slow.core);
                let refused = |what: &str, source| Error::Thread { what: format!("{what} core {core}"), source };
                let thread = std::thread::Builder::new().name(name).spawn(body);
                loops.threads.push(thread.map_err(|source| refused("cannot start a busy loop on", source))?);
                if !pinned.recv().unwrap_or(false) {
                    return Err(refused("cannot pin a busy loop to", std::io::Error::other("the system refused")));
                }
            }
        }
        Ok(loops)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
