//! Busy loops that make a core slower for everybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};

use crate::arguments::SlowCore;

/// Load that runs until it is dropped.
pub(crate) struct BusyLoops {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    /// Starts as many loops on each core as leave the given share of it to everything else: a factor of 3 needs two.
    pub(crate) fn start(slow_cores: &[SlowCore]) -> Result<Self> {
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
                loops
                    .threads
                    .push(std::thread::Builder::new().name(name).spawn(body).context("cannot start a busy loop")?);
                if !pinned.recv().unwrap_or(false) {
                    bail!("the system refused to pin a busy loop to core {}", slow.core);
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
