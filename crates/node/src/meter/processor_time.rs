//! What processor time an end of the way has had.

use std::fs;
use std::os::unix::process::parent_id;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

/// The name of the engine's program, and what it is told to be a daemon.
const DAEMON: [&str; 2] = ["dora", "daemon"];

/// Processor time so far of this process and of the engine's daemon that has started it: all that it sends and is sent
/// goes through there.
pub(super) fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let own = time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64;
    own + daemon_seconds(Path::new("/proc"), parent_id()).unwrap_or(0.0)
}

/// Processor time of all threads of a process, if that is the daemon and the system says it.
fn daemon_seconds(processes: &Path, id: u32) -> Option<f64> {
    let process = processes.join(id.to_string());
    if !is_daemon(&fs::read_to_string(process.join("cmdline")).ok()?) {
        return None;
    }
    let threads = fs::read_dir(process.join("task")).ok()?;
    // A thread may end meanwhile.
    let nanoseconds = threads.filter_map(|thread| thread_nanoseconds(&thread.ok()?.path()));
    Some(nanoseconds.sum::<u64>() as f64 * 1e-9)
}

/// Whether that is how a daemon was started; the program may be one that an interpreter runs.
fn is_daemon(command_line: &str) -> bool {
    let words: Vec<&str> = command_line.split('\0').collect();
    words
        .windows(2)
        .any(|pair| Path::new(pair[0]).file_name().is_some_and(|name| name == DAEMON[0]) && pair[1] == DAEMON[1])
}

/// The first number of what the scheduler says of a thread.
fn thread_nanoseconds(thread: &Path) -> Option<u64> {
    fs::read_to_string(thread.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_time_of_all_threads_of_a_daemon_counts() {
        let processes = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = processes.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("7/cmdline", "/usr/bin/python3\0/opt/bin/dora\0daemon\0--machine-id\0a\0");
        write("7/task/7/schedstat", "1500000000 10 3\n");
        write("7/task/8/schedstat", "250000000 0 1\n");
        write("9/cmdline", "sh\0-c\0dora\0");
        write("9/task/9/schedstat", "1500000000 10 3\n");
        assert_eq!(daemon_seconds(processes.path(), 7), Some(1.75));
        assert_eq!(daemon_seconds(processes.path(), 9), None, "somebody else started it");
        assert_eq!(daemon_seconds(processes.path(), 11), None);
    }

    #[test]
    fn time_goes_on_with_work() {
        let before = processor_seconds();
        while processor_seconds() - before < 1e-3 {
            std::hint::spin_loop();
        }
    }
}
