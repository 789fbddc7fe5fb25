//! How much of the machine others use while something is measured.

use std::fs;
use std::path::{Path, PathBuf};

use millstream_board::CoreId;

use crate::core_watch::parse_cores;

/// Watches how much others than this process, all its threads included, use of some cores. A virtual machine's host
/// counts among them.
#[derive(Debug)]
pub struct OthersWatch {
    root: PathBuf,
    cores: Vec<CoreId>,
    begin: Option<Ticks>,
}

/// Counters at some time, summed over the cores.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    busy: u64,
    all: u64,
    /// Of this process, on whatever cores.
    by_process: u64,
}

impl OthersWatch {
    /// Begins to watch.
    pub fn new(cores: Vec<CoreId>) -> Self {
        Self::at(Path::new("/"), cores)
    }

    /// As [`OthersWatch::new`], with another root folder above `proc`.
    pub fn at(root: &Path, cores: Vec<CoreId>) -> Self {
        let mut watch = Self { root: root.to_owned(), cores, begin: None };
        watch.begin = watch.ticks();
        watch
    }

    /// How many cores others used on average since watching began; `None` if the system does not tell.
    ///
    /// Where threads of this process went from one core to another does not matter: only sums are compared.
    pub fn cores(&self) -> Option<f64> {
        let (before, now) = (self.begin?, self.ticks()?);
        let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
        let busy = now.busy.saturating_sub(before.busy);
        let others = busy.saturating_sub(now.by_process.saturating_sub(before.by_process));
        Some(others as f64 / all as f64 * self.cores.len() as f64)
    }

    fn ticks(&self) -> Option<Ticks> {
        let known = parse_cores(&fs::read_to_string(self.root.join("proc/stat")).ok()?);
        let cores = self.cores.iter().map(|core| known.get(&core.0)).collect::<Option<Vec<_>>>()?;
        let stat = fs::read_to_string(self.root.join("proc/self/stat")).ok()?;
        // The name in brackets may contain anything; user and system ticks are the fields 14 and 15.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let sum = |of: fn(&(u64, u64)) -> u64| cores.iter().map(|core| of(core)).sum();
        Some(Ticks { busy: sum(|core| core.0), all: sum(|core| core.1), by_process: field(14)? + field(15)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn record(root: &Path, stat: &str, ticks: [u64; 2]) {
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(root.join("proc/stat"), stat).unwrap();
        fs::write(
            root.join("proc/self/stat"),
            format!("7 (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 {} {} 0 0", ticks[0], ticks[1]),
        )
        .unwrap();
    }

    #[test]
    fn others_are_what_is_busy_and_not_ours() {
        let root = tempfile::tempdir().unwrap();
        let cores = |core0: u64, core1: u64, idle: u64| {
            format!(
                "cpu0 {core0} 0 0 {idle} 0 0 0 0 0 0\ncpu1 0 0 {core1} {idle} 0 0 0 0 0 0\ncpu2 500 0 0 0 0 0 0 0 0 0\n"
            )
        };
        record(root.path(), &cores(0, 0, 0), [10, 0]);
        let watch = OthersWatch::at(root.path(), vec![CoreId(0), CoreId(1)]);
        assert_eq!(watch.cores(), None, "no time has gone by");
        // In 100 ticks of both cores 70 and 50 were busy, 90 of them with this process, wherever its threads were.
        record(root.path(), "cpu0 70 0 0 30 0 0 0 0 0 0\ncpu1 0 0 20 50 0 0 0 30 0 0\n", [70, 30]);
        assert!((watch.cores().unwrap() - 0.3).abs() < 1e-9);
        // Its own time may be a little more than what was counted.
        record(root.path(), &cores(50, 50, 50), [120, 0]);
        assert_eq!(watch.cores(), Some(0.0));
        let unknown = OthersWatch::at(root.path(), vec![CoreId(7)]);
        assert_eq!(unknown.cores(), None);
    }
}
