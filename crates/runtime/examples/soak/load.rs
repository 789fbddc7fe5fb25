//! Cores that other programs keep busy, and cores that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use millstream_board::CoreId;
use millstream_machine::pin_current_thread;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// A thread that keeps a core busy until this is dropped.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn on(core: u32) -> std::io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let work = move || {
            let _ = pin_current_thread(CoreId(core));
            while !until.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(work)?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves all threads of this process to these cores, as a system does that takes the others away.
pub(crate) fn leave_only(cores: &[u32]) {
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core as usize));
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
    let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    for id in ids {
        // A thread may have ended meanwhile.
        let _ = sched_setaffinity(Some(id), &set);
    }
}
