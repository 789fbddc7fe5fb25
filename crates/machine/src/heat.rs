//! Whether the system lowers clocks because the cores are too hot.

use std::fs;
use std::path::{Path, PathBuf};

use millstream_board::CoreId;

use crate::cpu_list::parse_cpu_list;
use crate::system_file::{number, text};

/// What the kernel counts of a core of x86-64, of its own heat and of that of all around it.
const COUNTERS: [&str; 2] = ["core_throttle_count", "package_throttle_count"];
/// Beginnings of the names of what cools by lowering clocks; the number of a policy, or of a device, follows.
const COOLING_POLICY: &str = "cpufreq-cpu";
const COOLING_DEVICE: &str = "thermal-cpufreq-";

/// Watches whether the system lowers the clocks of some cores because of heat.
#[derive(Debug)]
pub struct HeatWatch {
    /// The folder that is `/sys`.
    sys: PathBuf,
    cores: Vec<CoreId>,
    /// How often it had lowered them when watching began.
    before: u64,
}

impl HeatWatch {
    /// Begins to watch.
    pub fn new(cores: Vec<CoreId>) -> Self {
        Self::at(Path::new("/sys"), cores)
    }

    /// As [`HeatWatch::new`], with another folder in the place of `/sys`.
    pub fn at(sys: &Path, cores: Vec<CoreId>) -> Self {
        let mut watch = Self { sys: sys.to_owned(), cores, before: 0 };
        watch.before = watch.count();
        watch
    }

    /// Whether it lowered them since, or keeps them lowered now; `false` where the system does not tell.
    pub fn is_throttled(&self) -> bool {
        self.count() > self.before || self.is_being_cooled()
    }

    /// How often the clocks of all these cores were lowered.
    fn count(&self) -> u64 {
        let of_core = |core: &CoreId| {
            let folder = self.sys.join(format!("devices/system/cpu/cpu{core}/thermal_throttle"));
            COUNTERS.iter().filter_map(|counter| number::<u64>(&folder.join(counter))).fold(0, u64::saturating_add)
        };
        self.cores.iter().map(of_core).fold(0, u64::saturating_add)
    }

    /// Whether something that cools one of the cores is at work.
    fn is_being_cooled(&self) -> bool {
        let Ok(devices) = fs::read_dir(self.sys.join("class/thermal")) else { return false };
        if self.cores.is_empty() {
            return false;
        }
        devices.filter_map(Result::ok).any(|device| {
            let kind = text(&device.path().join("type")).unwrap_or_default();
            self.is_cooled_by(&kind) && number::<u64>(&device.path().join("cur_state")).is_some_and(|state| state > 0)
        })
    }

    /// Whether a device of this kind lowers the clock of one of the cores. Of one that does not say whose clock it is,
    /// it may be any.
    fn is_cooled_by(&self, kind: &str) -> bool {
        if let Some(policy) = kind.strip_prefix(COOLING_POLICY) {
            let file = self.sys.join(format!("devices/system/cpu/cpufreq/policy{policy}/affected_cpus"));
            let cores = text(&file).and_then(|list| parse_cpu_list(&list));
            return cores.is_none_or(|cores| cores.iter().any(|core| self.cores.contains(core)));
        }
        kind.starts_with(COOLING_DEVICE)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn write(sys: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = sys.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn counters_that_go_up_tell_of_heat() {
        let sys = tempfile::tempdir().unwrap();
        let of_core = |core: u32, counter: &str| format!("devices/system/cpu/cpu{core}/thermal_throttle/{counter}");
        let [own, package, other] = [
            of_core(1, "core_throttle_count"),
            of_core(2, "package_throttle_count"),
            of_core(3, "core_throttle_count"),
        ];
        write(sys.path(), &[(&own, "7\n"), (&package, "2\n"), (&other, "1\n")]);
        let watch = HeatWatch::at(sys.path(), vec![CoreId(1), CoreId(2)]);
        assert!(!watch.is_throttled(), "that was before");
        write(sys.path(), &[(&other, "5\n")]);
        assert!(!watch.is_throttled(), "another core");
        write(sys.path(), &[(&package, "3\n")]);
        assert!(watch.is_throttled());
        assert!(!HeatWatch::at(sys.path(), vec![CoreId(1), CoreId(2)]).is_throttled());
    }

    #[test]
    fn what_cools_tells_while_it_is_at_work() {
        let sys = tempfile::tempdir().unwrap();
        let [kind, state] = ["type", "cur_state"].map(|file| format!("class/thermal/cooling_device0/{file}"));
        let is_throttled = |core: u32| HeatWatch::at(sys.path(), vec![CoreId(core)]).is_throttled();
        assert!(!is_throttled(5), "nothing is known");

        write(sys.path(), &[(&kind, "cpufreq-cpu4\n"), (&state, "0\n")]);
        write(sys.path(), &[("devices/system/cpu/cpufreq/policy4/affected_cpus", "4 5\n")]);
        assert!(!is_throttled(5), "it rests");
        write(sys.path(), &[(&state, "2\n")]);
        assert!(is_throttled(5) && is_throttled(4));
        assert!(!is_throttled(0), "it cools others");

        write(sys.path(), &[(&kind, "thermal-cpufreq-0\n")]);
        assert!(is_throttled(0), "nobody knows which it cools");
        assert!(!HeatWatch::at(sys.path(), Vec::new()).is_throttled(), "an accelerator is no core");
        write(sys.path(), &[(&kind, "pwm-fan\n")]);
        assert!(!is_throttled(5), "a fan lowers no clock");
    }
}
