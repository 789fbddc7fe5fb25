//! Ends processes of hosts and daemons with SIGKILL at random moments while frames flow through two hosts, and fails
//! unless each frame was answered once, in order, and rightly, within five seconds of the one before:
//! `soak [--kills 20] [--seed 1]`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a program that fails by panicking")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use millstream_node::launch::{Running, launch};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HOSTS: [&str; 2] = ["a", "b"];
/// Where processes are ended: on the hosts, and where the front is.
const MACHINES: [&str; 3] = ["a", "b", "millstream-front"];
/// The longest that no frame may be answered.
const RECOVERY: Duration = Duration::from_secs(5);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str, usual: u64| {
        let place = arguments.iter().position(|argument| argument == name);
        place.map_or(usual, |place| arguments[place + 1].parse().unwrap())
    };
    let (kills, seed) = (value("--kills", 20), value("--seed", 1));

    let folder = tempfile::tempdir().unwrap();
    support::system(folder.path(), &HOSTS);
    support::plan(folder.path(), &[], "schedule.json");
    support::plan(folder.path(), &["a"], "without-a.json");
    support::plan(folder.path(), &["b"], "without-b.json");
    // Enough for all kills; what is left of it afterwards has to go through undisturbed.
    let schedules = ["schedule.json", "without-a.json", "without-b.json"];
    let deployment = support::deployment(folder.path(), &schedules, kills * 170 + 600);
    let mut killer = Killer { random: ChaCha8Rng::seed_from_u64(seed), left: kills, next: None };
    let program = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("millstream-node");
    let options = support::options(program, 120 + kills * 20);
    let report = launch(&deployment, folder.path(), &options, &mut |running| killer.look(running));
    let report = match report {
        Ok(report) => report,
        Err(error) => panic!("{error:#}; logs in {}", folder.keep().display()),
    };
    println!("{}", report.text());
    let killed = kills - killer.left;
    println!("{killed} processes ended, longest time without an answer {:.2} s", report.longest_pause_seconds);
    assert!(report.is_right(), "{:?} {:?}", report.error, report.failures);
    let pause = report.longest_pause_seconds;
    assert!(pause < RECOVERY.as_secs_f64(), "no frame was answered for {pause:.2} s");
    assert!(killed == kills, "the frames were through after {killed} of {kills} processes; have more frames");
}

/// Ends a process now and then.
struct Killer {
    random: ChaCha8Rng,
    left: u64,
    next: Option<Instant>,
}

impl Killer {
    fn look(&mut self, running: &Running<'_>) {
        // Hosts get ready first.
        let wait = Duration::from_millis(self.random.random_range(1000..5000));
        let next = *self.next.get_or_insert_with(|| Instant::now() + Duration::from_secs(8) + wait);
        if self.left == 0 || Instant::now() < next {
            return;
        }
        let machine = MACHINES[self.random.random_range(0..MACHINES.len())];
        let Some(daemon) = running.daemon(machine) else { return };
        let victim = if self.random.random_range(0..2) == 0 { Some(daemon) } else { child_of(daemon) };
        let Some(victim) = victim else { return };
        if Command::new("kill").args(["-9", &victim.to_string()]).status().is_ok_and(|status| status.success()) {
            println!("ended {victim} of {machine}{}", if victim == daemon { ", its daemon" } else { "" });
            self.left -= 1;
            self.next = Some(Instant::now() + wait);
        }
    }
}

/// The process that a daemon has started.
fn child_of(daemon: u32) -> Option<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut children = processes.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // After the name, which may hold anything, come the state and the parent.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let arguments = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        parent == Some(daemon) && arguments.contains("millstream-node")
    });
    children.next()
}
