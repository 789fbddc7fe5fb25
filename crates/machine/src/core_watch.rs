//! What cores are busy with while a pipeline runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use millstream_board::CoreId;

/// A core whose owner used less than this fraction of it is one that this process leaves alone.
const UNUSED: f64 = 0.05;
/// A core that this process works on gives it this much in any case.
const LEAST_SHARE: f64 = 0.05;

/// What a core did since it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreLoad {
    /// The core.
    pub core: CoreId,
    /// Fraction of the time that this process used it.
    pub own: f64,
    /// Fraction of the time that anything else used it.
    pub others: f64,
    /// Clock frequency now; `None` if the system does not tell.
    pub hertz: Option<u64>,
}

impl CoreLoad {
    /// What a new thread gets of a core that one other thread uses all the time.
    pub const SHARE_OF_A_NEWCOMER: f64 = 0.5;

    /// Fraction of the core that a thread of this process gets, or would get if it had one there and the others used
    /// the rest in one thread: the system shares fairly between threads that want to run.
    pub fn available(&self) -> f64 {
        let left = 1.0 - self.others.clamp(0.0, 1.0);
        if self.own < UNUSED { left.max(Self::SHARE_OF_A_NEWCOMER) } else { left.max(LEAST_SHARE) }
    }
}

/// Watches the cores of this machine: how much this process and others use each, and how fast it runs.
///
/// Reads `/proc` and `/sys`; on systems without them it sees nothing.
#[derive(Debug)]
pub struct CoreWatch {
    root: PathBuf,
    last: Option<Snapshot>,
}

/// Counters at some time.
#[derive(Debug, Clone)]
struct Snapshot {
    /// Per core: ticks busy, ticks in all.
    cores: BTreeMap<u32, (u64, u64)>,
    /// Per thread of this process: ticks, and the core where it last ran.
    threads: BTreeMap<u64, (u64, u32)>,
}

impl Default for CoreWatch {
    fn default() -> Self {
        Self::new()
    }
}

impl CoreWatch {
    /// Begins to watch.
    pub fn new() -> Self {
        Self::at(Path::new("/"))
    }

    /// As [`CoreWatch::new`], with another root folder above `proc` and `sys`.
    pub fn at(root: &Path) -> Self {
        let mut watch = Self { root: root.to_owned(), last: None };
        watch.last = watch.snapshot();
        watch
    }

    /// What the cores did since the last call, or since watching began. Empty if the system does not tell.
    pub fn loads(&mut self) -> Vec<CoreLoad> {
        let Some(now) = self.snapshot() else { return Vec::new() };
        let loads = self.last.as_ref().map(|before| self.between(before, &now)).unwrap_or_default();
        self.last = Some(now);
        loads
    }

    fn between(&self, before: &Snapshot, now: &Snapshot) -> Vec<CoreLoad> {
        // Ticks of this process per core.
        let mut used: BTreeMap<u32, u64> = BTreeMap::new();
        for (thread, &(ticks, core)) in &now.threads {
            let earlier = before.threads.get(thread).map_or(0, |&(ticks, _)| ticks);
            *used.entry(core).or_default() += ticks.saturating_sub(earlier);
        }
        let load = |(&core, &(busy, all)): (&u32, &(u64, u64))| {
            let &(busy_before, all_before) = before.cores.get(&core)?;
            let all = all.saturating_sub(all_before);
            if all == 0 {
                return None;
            }
            let fraction = |ticks: u64| (ticks as f64 / all as f64).min(1.0);
            let by_process = fraction(used.get(&core).copied().unwrap_or_default());
            let others = (fraction(busy.saturating_sub(busy_before)) - by_process).max(0.0);
            Some(CoreLoad { core: CoreId(core), own: by_process, others, hertz: self.hertz(core) })
        };
        now.cores.iter().filter_map(load).collect()
    }

    fn hertz(&self, core: u32) -> Option<u64> {
        let path = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        let kilohertz: u64 = fs::read_to_string(self.root.join(path)).ok()?.trim().parse().ok()?;
        Some(1000 * kilohertz)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let cores = parse_cores(&fs::read_to_string(self.root.join("proc/stat")).ok()?);
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(self.root.join("proc/self/task")).ok()?.flatten() {
            let thread = entry.file_name().to_str().and_then(|name| name.parse().ok());
            // Threads may end while they are listed.
            let seen = fs::read_to_string(entry.path().join("stat")).ok().and_then(|text| parse_thread(&text));
            threads.extend(thread.zip(seen));
        }
        Some(Snapshot { cores, threads })
    }
}

/// The lines `cpuN user nice system idle iowait irq softirq steal ...` of `/proc/stat`: ticks busy and ticks in all.
pub(crate) fn parse_cores(text: &str) -> BTreeMap<u32, (u64, u64)> {
    let core = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_whitespace();
        let core = words.next().filter(|_| !line.starts_with("cpu "))?.parse().ok()?;
        let ticks: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, waiting, interrupts, soft, stolen] = ticks.try_into().ok()?;
        let busy = user + nice + system + interrupts + soft + stolen;
        Some((core, (busy, busy + idle + waiting)))
    };
    text.lines().filter_map(core).collect()
}

/// From a thread's `stat`: user and system ticks (fields 14 and 15), and the core where it last ran (field 39). The
/// name in brackets may contain anything.
fn parse_thread(text: &str) -> Option<(u64, u32)> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    // The first field after the name is the third.
    let field = |number: usize| fields.get(number - 3);
    let ticks = field(14)?.parse::<u64>().ok()? + field(15)?.parse::<u64>().ok()?;
    Some((ticks, field(39)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// 39 fields, of which the core is the last.
    fn thread(name: &str, user: u64, system: u64, core: u32) -> String {
        let middle = ["0"; 23].join(" ");
        format!("7 ({name}) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} {middle} {core} 0 0")
    }

    fn record(root: &Path, stat: &str, threads: &[(u64, String)]) {
        for (id, text) in threads {
            let folder = root.join(format!("proc/self/task/{id}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), text).unwrap();
        }
        fs::write(root.join("proc/stat"), stat).unwrap();
    }

    #[test]
    fn own_and_other_use_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let threads = |ticks| [(7, thread("a (b) c", ticks, 0, 0)), (8, thread("idle", 0, 0, 1))];
        record(root.path(), "cpu  9 9\ncpu0 0 0 0 1000 0 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nintr 1", &threads(50));
        let frequency = root.path().join("sys/devices/system/cpu/cpu1/cpufreq");
        fs::create_dir_all(&frequency).unwrap();
        fs::write(frequency.join("scaling_cur_freq"), "1800000\n").unwrap();
        let mut watch = CoreWatch::at(root.path());
        // In 300 ticks: core 0 is busy all the time, a third of it with this process; core 1 half the time with others.
        record(root.path(), "cpu0 200 0 50 1000 0 0 50 0 0 0\ncpu1 0 150 0 1100 50 0 0 0 0 0\n", &threads(150));
        let loads = watch.loads();
        assert_eq!(loads.len(), 2);
        assert!((loads[0].own - 1.0 / 3.0).abs() < 1e-9 && (loads[0].others - 2.0 / 3.0).abs() < 1e-9);
        assert!((loads[0].available() - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!((loads[1].own, loads[1].others, loads[1].available()), (0.0, 0.5, 0.5));
        assert_eq!((loads[0].hertz, loads[1].hertz), (None, Some(1_800_000_000)));
        // Nothing happened since.
        assert_eq!(watch.loads(), []);
    }

    #[test]
    fn a_system_that_does_not_tell_shows_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(CoreWatch::at(root.path()).loads(), []);
        fs::create_dir_all(root.path().join("proc/self/task")).unwrap();
        record(root.path(), "cpu0 1 2 3\ncpux 1 2 3 4 5 6 7 8\n", &[]);
        let mut watch = CoreWatch::at(root.path());
        assert_eq!(watch.loads(), []);
    }
}
