//! How threads are scheduled: what asking for something changes, and what it leaves as it is.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what a process that a test starts has to say")]

use std::process::Command;

use millstream_board::CoreId;
use millstream_machine::{become_real_time, detect, pin_current_thread, prefer_short_slices};

/// Set for the process that asks for short slices.
const ASKS: &str = "MILLSTREAM_TEST_ASKS_FOR_SLICES";

/// Niceness and class of the calling thread, as the system counts them: fields 19 and 41 of its `stat`.
fn scheduling() -> (i32, u32) {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The second field, a name, may contain blanks.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[16].parse().unwrap(), fields[38].parse().unwrap())
}

/// In the process that another test starts: asks, and says how the thread is scheduled afterwards.
#[test]
#[ignore = "what the other tests start"]
fn a_process_asks() {
    if std::env::var_os(ASKS).is_some() {
        let has_slices = prefer_short_slices();
        let (nice, class) = scheduling();
        println!("\nscheduling {nice} {class} {has_slices}");
    }
}

/// Niceness and class of a thread that has asked, and whether it got short slices, in a process that `wrapper` starts;
/// `None` if the system does not let it.
fn started_by(wrapper: &[&str]) -> Option<(i32, u32, bool)> {
    let this_test = std::env::current_exe().unwrap();
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(this_test)
        .args(["--exact", "a_process_asks", "--nocapture", "--ignored"])
        .env(ASKS, "1");
    let output = command.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let line = printed.lines().find_map(|line| line.strip_prefix("scheduling "))?;
    let words: Vec<&str> = line.split(' ').collect();
    Some((words[0].parse().unwrap(), words[1].parse().unwrap(), words[2] == "true"))
}

#[test]
fn niceness_and_class_are_kept() {
    const OTHER: u32 = 0;
    const FIFO: u32 = 1;
    const BATCH: u32 = 3;
    let (own_nice, own_class, knows_slices) = started_by(&["env"]).unwrap();
    assert_eq!((own_nice, own_class), scheduling());
    // Relative to what the test itself has.
    let nice = (own_nice + 5).min(19);
    assert_eq!(started_by(&["nice", "-n", "5"]), Some((nice, own_class, knows_slices)));
    if own_class == OTHER {
        assert_eq!(started_by(&["chrt", "--batch", "0"]), Some((own_nice, BATCH, knows_slices)));
    }
    // Needs a privilege.
    if let Some(seen) = started_by(&["chrt", "--fifo", "10"]) {
        assert_eq!(seen, (own_nice, FIFO, false));
    }
}

#[test]
fn only_cores_of_the_affinity_mask_are_detected() {
    const DETECTS: &str = "MILLSTREAM_TEST_DETECTS";
    let cores = || -> Vec<u32> { detect().unwrap().cores().map(|core| core.id.0).collect() };
    if std::env::var_os(DETECTS).is_some() {
        println!("\ncores {:?}", cores());
        return;
    }
    let last = *cores().last().unwrap();
    let this_test = std::env::current_exe().unwrap();
    let mut command = Command::new("taskset");
    command.args(["-c", &last.to_string()]).arg(this_test).env(DETECTS, "1");
    let output =
        command.args(["--exact", "only_cores_of_the_affinity_mask_are_detected", "--nocapture"]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(&format!("cores [{last}]")), "{printed}");
}

#[test]
fn cores_that_do_not_exist_are_refused() {
    for core in [1024, 1025, 100_000, u32::MAX] {
        assert!(!pin_current_thread(CoreId(core)), "{core}");
    }
}

#[test]
fn a_real_time_thread_is_one_or_says_no() {
    let before = scheduling();
    let (has_become, seen) = std::thread::spawn(|| (become_real_time(), scheduling())).join().unwrap();
    // SCHED_FIFO.
    assert_eq!(seen.1, if has_become { 1 } else { before.1 });
    assert_eq!(scheduling(), before, "another thread has changed");
}
