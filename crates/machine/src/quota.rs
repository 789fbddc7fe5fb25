//! The processor time that a container may use: the quotas of control groups, of both versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::MachineError;

/// A limit of processor time that holds for this process and those beside it in a container. Where they have used it
/// up, they wait for the rest of a period, of a tenth of a second as a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuQuota {
    /// How many cores' time it is: 1.5 are three seconds of processor time in two.
    pub cores: f64,
    /// What tells how long they waited.
    statistics: PathBuf,
}

impl CpuQuota {
    /// The tightest quota that holds for this process; `None` without one, and on systems without control groups.
    ///
    /// # Errors
    /// [`MachineError::NoProcessorTime`] for a quota of zero, or in a period of zero.
    pub fn detect() -> Result<Option<Self>, MachineError> {
        Self::at(Path::new("/"))
    }

    /// As [`CpuQuota::detect`], with another root folder above `proc` and `sys`.
    ///
    /// # Errors
    /// As [`CpuQuota::detect`].
    pub fn at(root: &Path) -> Result<Option<Self>, MachineError> {
        let Ok(groups) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Ok(None) };
        let mut tightest: Option<Self> = None;
        for folder in groups.lines().flat_map(|line| folders(root, line)) {
            let Some(limit) = second_version(&folder).or_else(|| first_version(&folder)) else { continue };
            let Some(cores) = limit.cores()? else { continue };
            if tightest.as_ref().is_none_or(|other| cores < other.cores) {
                tightest = Some(Self { cores, statistics: folder.join("cpu.stat") });
            }
        }
        Ok(tightest)
    }

    /// The cores that are worth using: with more of them, all only wait longer.
    pub fn worthwhile_cores(&self) -> usize {
        (self.cores.ceil() as usize).max(1)
    }

    /// For how long the container's threads waited since it was made, all together.
    pub fn throttled(&self) -> Option<Duration> {
        let text = fs::read_to_string(&self.statistics).ok()?;
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()
        };
        let nanoseconds = || value("throttled_time").map(Duration::from_nanos);
        value("throttled_usec").map(Duration::from_micros).or_else(nanoseconds)
    }
}

/// The folders that may have quotas of a group, a line of `/proc/self/cgroup`, and of those around it. A container may
/// not see its own group under the name that it has outside.
fn folders(root: &Path, line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { return Vec::new() };
    let mounts = match controllers {
        "" => vec!["", "unified"],
        list if list.split(',').any(|name| name == "cpu") => vec!["cpu", "cpu,cpuacct", "cpuacct,cpu"],
        _ => return Vec::new(),
    };
    let group = Path::new(group.trim_start_matches('/'));
    let of_mount = |mount: &str| {
        let mount = root.join("sys/fs/cgroup").join(mount);
        group.ancestors().map(|ancestor| mount.join(ancestor)).collect::<Vec<_>>()
    };
    mounts.into_iter().flat_map(of_mount).collect()
}

/// What a group's files say.
struct Limit {
    file: PathBuf,
    quota_microseconds: f64,
    period_microseconds: f64,
}

impl Limit {
    /// How many cores' time it is; `None` if it is no limit.
    fn cores(self) -> Result<Option<f64>, MachineError> {
        if self.quota_microseconds < 0.0 {
            return Ok(None);
        }
        let has_time = self.quota_microseconds > 0.0 && self.period_microseconds > 0.0;
        let cores = self.quota_microseconds / self.period_microseconds;
        if has_time { Ok(Some(cores)) } else { Err(MachineError::NoProcessorTime { file: self.file }) }
    }
}

/// `cpu.max`: microseconds of processor time, or `max`, in a period of so many.
fn second_version(folder: &Path) -> Option<Limit> {
    let file = folder.join("cpu.max");
    let text = fs::read_to_string(&file).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    Some(Limit { file, quota_microseconds: quota.parse().ok()?, period_microseconds: period.parse().ok()? })
}

/// The same in two files, with -1 for no quota.
fn first_version(folder: &Path) -> Option<Limit> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<f64>().ok();
    let file = folder.join("cpu.cfs_quota_us");
    let (quota_microseconds, period_microseconds) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
    Some(Limit { file, quota_microseconds, period_microseconds })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn cores(files: &[(&str, &str)]) -> Option<f64> {
        CpuQuota::at(root(files).path()).unwrap().map(|quota| quota.cores)
    }

    #[test]
    fn the_tightest_quota_of_the_groups_around_holds() {
        let group = ("proc/self/cgroup", "0::/pods/one/main\n");
        let inner = ("sys/fs/cgroup/pods/one/main/cpu.max", "max 100000\n");
        let middle = ("sys/fs/cgroup/pods/one/cpu.max", "150000 100000\n");
        let outer = ("sys/fs/cgroup/pods/cpu.max", "20000 10000\n");
        assert_eq!(cores(&[group, inner, middle, outer]), Some(1.5));
        assert_eq!(cores(&[group, inner, outer]), Some(2.0));
        assert_eq!(cores(&[group, inner]), None);
        assert_eq!(cores(&[]), None);
    }

    #[test]
    fn the_first_version_has_two_files() {
        let group = ("proc/self/cgroup", "5:memory:/a\n2:cpu,cpuacct:/docker/b\n0::/\n");
        let period = ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        let quota = |text| ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", text);
        assert_eq!(cores(&[group, period, quota("50000\n")]), Some(0.5), "the group is not seen under its own name");
        assert_eq!(cores(&[group, period, quota("-1\n")]), None);
        // Of another controller.
        assert_eq!(cores(&[("proc/self/cgroup", "5:memory:/a\n"), period, quota("50000\n")]), None);
    }

    #[test]
    fn a_quota_of_zero_is_refused() {
        let error = |files: &[(&str, &str)]| CpuQuota::at(root(files).path()).unwrap_err().to_string();
        let group = ("proc/self/cgroup", "0::/pods\n");
        for text in ["0 100000\n", "50000 0\n"] {
            let text = error(&[group, ("sys/fs/cgroup/pods/cpu.max", text)]);
            assert!(text.contains("pods/cpu.max allows no processor time; give"), "{text}");
        }
        let group = ("proc/self/cgroup", "2:cpu:/b\n");
        for (quota, period) in [("0\n", "100000\n"), ("5\n", "0\n")] {
            let quota = ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
            let text = error(&[group, quota, ("sys/fs/cgroup/cpu/cpu.cfs_period_us", period)]);
            assert!(text.contains("cpu.cfs_quota_us allows no processor time"), "{text}");
        }
    }

    #[test]
    fn waiting_is_told_in_microseconds_or_nanoseconds() {
        let throttled = |text| {
            let max = ("sys/fs/cgroup/cpu.max", "50000 100000");
            let root = root(&[("proc/self/cgroup", "0::/\n"), max, ("sys/fs/cgroup/cpu.stat", text)]);
            CpuQuota::at(root.path()).unwrap().unwrap().throttled()
        };
        let second = "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 2500\n";
        assert_eq!(throttled(second), Some(Duration::from_micros(2500)));
        assert_eq!(throttled("nr_periods 5\nnr_throttled 3\nthrottled_time 2500\n"), Some(Duration::from_nanos(2500)));
        assert_eq!(throttled("nr_periods 5\n"), None);
    }

    #[test]
    fn parts_of_cores_are_worth_one() {
        let worthwhile = |cores: f64| CpuQuota { cores, statistics: PathBuf::new() }.worthwhile_cores();
        assert_eq!([0.1, 1.0, 1.5, 2.0].map(worthwhile), [1, 1, 2, 2]);
    }
}
