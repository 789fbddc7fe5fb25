//! Power sensors of the machine: powercap (RAPL) and hwmon.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::system_file::number;

/// Between two readings of a sensor that shows power at an instant.
const READING_INTERVAL: Duration = Duration::from_millis(20);
/// Parts of the labels of hwmon sensors that measure processors.
const PROCESSOR_LABELS: [&str; 4] = ["cpu", "core", "soc", "package"];

/// Sensors that together measure the power of the machine's processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerSensors {
    sensors: Vec<Sensor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sensor {
    /// Counts microjoules, and starts over at `limit`.
    Energy { path: PathBuf, limit: Option<u64> },
    /// Shows microwatts.
    Power { path: PathBuf },
}

impl PowerSensors {
    /// The sensors of this machine that may be read; `None` if there are none.
    pub fn detect() -> Option<Self> {
        Self::detect_at(Path::new("/sys"))
    }

    /// The sensors of a recorded system tree. The cores' own powercap domains are preferred to whole packages, and
    /// powercap to hwmon.
    pub fn detect_at(sys: &Path) -> Option<Self> {
        let domains = powercap(&sys.join("class/powercap"));
        let of_kind = |wanted: &str| -> Vec<Sensor> {
            let domains = domains.iter().filter(|(name, _)| name.starts_with(wanted));
            domains.map(|(_, sensor)| sensor.clone()).collect()
        };
        let found = [of_kind("core"), of_kind("package"), hwmon(&sys.join("class/hwmon"))];
        let sensors = found.into_iter().find(|sensors| !sensors.is_empty())?;
        Some(Self { sensors })
    }

    /// Mean power in watts over `time`, or `None` if a sensor stops answering.
    pub fn watts(&self, time: Duration) -> Option<f64> {
        let start = Instant::now();
        let before: Vec<Option<u64>> = self.sensors.iter().map(Sensor::microjoules).collect();
        let mut sums = vec![(0.0, 0_u32); self.sensors.len()];
        while start.elapsed() < time {
            std::thread::sleep(READING_INTERVAL.min(time));
            for (sensor, (sum, count)) in self.sensors.iter().zip(&mut sums) {
                if let Sensor::Power { path } = sensor {
                    *sum += number::<u64>(path)? as f64 * 1e-6;
                    *count += 1;
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let each = self.sensors.iter().zip(before).zip(sums).map(|((sensor, before), (sum, count))| match sensor {
            Sensor::Energy { limit, .. } => {
                let (before, after) = (before?, sensor.microjoules()?);
                let passed = if after >= before { after - before } else { (*limit)?.saturating_sub(before) + after };
                Some(passed as f64 * 1e-6 / seconds)
            }
            Sensor::Power { .. } => Some(sum / f64::from(count.max(1))),
        });
        each.sum()
    }
}

impl Sensor {
    fn microjoules(&self) -> Option<u64> {
        match self {
            Self::Energy { path, .. } => number(path),
            Self::Power { .. } => None,
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
}

/// Name and counter of every domain that may be read.
fn powercap(folder: &Path) -> Vec<(String, Sensor)> {
    let domain = |path: PathBuf| {
        let name = fs::read_to_string(path.join("name")).ok()?.trim().to_owned();
        let counter = path.join("energy_uj");
        number::<u64>(&counter)?;
        Some((name, Sensor::Energy { path: counter, limit: number(&path.join("max_energy_range_uj")) }))
    };
    entries(folder).into_iter().filter_map(domain).collect()
}

/// Sensors whose labels say that they measure processors: energy counters, or else power.
fn hwmon(folder: &Path) -> Vec<Sensor> {
    let inputs: Vec<PathBuf> = entries(folder).iter().flat_map(|device| entries(device)).collect();
    let of_kind = |kind: &str| -> Vec<PathBuf> {
        let is_processor = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(stem) = name.strip_suffix("_input").filter(|stem| stem.starts_with(kind)) else { return false };
            let label = fs::read_to_string(path.with_file_name(format!("{stem}_label"))).unwrap_or_default();
            let label = label.to_lowercase();
            PROCESSOR_LABELS.iter().any(|part| label.contains(part)) && number::<u64>(path).is_some()
        };
        inputs.iter().filter(|path| is_processor(path)).cloned().collect()
    };
    let energy: Vec<Sensor> = of_kind("energy").into_iter().map(|path| Sensor::Energy { path, limit: None }).collect();
    if !energy.is_empty() {
        return energy;
    }
    of_kind("power").into_iter().map(|path| Sensor::Power { path }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_cores_domain_is_preferred_to_the_package() {
        let folder = tree(&[
            ("class/powercap/intel-rapl:0/name", "package-0\n"),
            ("class/powercap/intel-rapl:0/energy_uj", "1000\n"),
            ("class/powercap/intel-rapl:0:0/name", "core\n"),
            ("class/powercap/intel-rapl:0:0/energy_uj", "500\n"),
            ("class/powercap/intel-rapl:0:0/max_energy_range_uj", "262143328850\n"),
        ]);
        let path = folder.path().join("class/powercap/intel-rapl:0:0/energy_uj");
        let sensors = PowerSensors::detect_at(folder.path()).unwrap();
        assert_eq!(sensors.sensors, [Sensor::Energy { path, limit: Some(262_143_328_850) }]);
        // The counter stands still.
        assert_eq!(sensors.watts(Duration::from_millis(1)), Some(0.0));
    }

    #[test]
    fn labelled_power_inputs_are_summed() {
        let folder = tree(&[
            ("class/hwmon/hwmon0/power1_input", "1500000\n"),
            ("class/hwmon/hwmon0/power1_label", "VDD_SYS_CPU\n"),
            ("class/hwmon/hwmon0/power2_input", "9000000\n"),
            ("class/hwmon/hwmon0/power2_label", "VDD_SYS_GPU\n"),
            ("class/hwmon/hwmon1/power1_input", "500000\n"),
            ("class/hwmon/hwmon1/power1_label", "little core\n"),
        ]);
        let watts = PowerSensors::detect_at(folder.path()).unwrap().watts(Duration::from_millis(30)).unwrap();
        assert!((watts - 2.0).abs() < 1e-9, "{watts}");
        assert_eq!(PowerSensors::detect_at(&folder.path().join("nowhere")), None);
    }

    #[test]
    fn a_sensor_that_stops_answering_gives_nothing() {
        let folder = tree(&[
            ("class/powercap/intel-rapl:0/name", "package-0\n"),
            ("class/powercap/intel-rapl:0/energy_uj", "1000\n"),
        ]);
        let sensors = PowerSensors::detect_at(folder.path()).unwrap();
        fs::remove_file(folder.path().join("class/powercap/intel-rapl:0/energy_uj")).unwrap();
        assert_eq!(sensors.watts(Duration::from_millis(1)), None);
    }
}
