//! What the kernel reports of a core while it is measured.

use std::fs;
use std::time::Instant;

use millstream_board::{CoreId, Processor};
use millstream_machine::HeatWatch;
use millstream_predict::samples::SampleConditions;

/// More than this part of the time given to other guests disturbs a measurement.
const MOST_STEAL: f64 = 0.02;
/// Other programs that use more than this part of a core disturb a measurement.
pub const MOST_OTHER_LOAD: f64 = 0.1;
/// The kernel counts processor time in hundredths of a second for user space.
const TICKS_PER_SECOND: f64 = 100.0;

/// Whether a measurement under these conditions should be repeated.
pub(crate) fn is_disturbed(conditions: &SampleConditions) -> bool {
    conditions.heat_throttled || conditions.steal_fraction > MOST_STEAL || conditions.other_load > MOST_OTHER_LOAD
}

/// The more disturbed, the larger. Lowered clocks are worse than anything that others do: nobody knows by how much they
/// were lowered.
pub(crate) fn disturbance(conditions: &SampleConditions) -> (bool, f64) {
    (conditions.heat_throttled, conditions.steal_fraction.max(conditions.other_load))
}

/// The more disturbed one of two.
pub(crate) fn more_disturbed(one: (bool, f64), other: (bool, f64)) -> (bool, f64) {
    if one < other { other } else { one }
}

/// Watches a processor's cores from its creation until [`Watch::conditions`].
pub(crate) struct Watch {
    cores: Vec<CoreId>,
    start: Instant,
    before: Option<Counts>,
    heat: HeatWatch,
}

/// What the kernel has counted, in its clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    /// Time of the watched cores that other guests had.
    steal: u64,
    /// Time of the watched cores.
    total: u64,
    /// Time in which any core worked.
    busy: u64,
    /// Time in which any core worked for this process.
    by_process: u64,
}

impl Watch {
    pub(crate) fn start(processor: &Processor) -> Self {
        let cores = processor.cores.clone();
        let (before, heat) = (counts(&cores), HeatWatch::new(cores.clone()));
        Self { cores, start: Instant::now(), before, heat }
    }

    /// What happened since; nothing where the system does not tell.
    pub(crate) fn conditions(&self) -> SampleConditions {
        let hertz = self.cores.first().and_then(|&core| frequency(core));
        let heat_throttled = self.heat.is_throttled();
        let (Some(before), Some(after)) = (self.before, counts(&self.cores)) else {
            return SampleConditions { hertz, heat_throttled, ..SampleConditions::default() };
        };
        let total = after.total.saturating_sub(before.total).max(1);
        let busy = after.busy.saturating_sub(before.busy) as f64;
        let by_process = after.by_process.saturating_sub(before.by_process) as f64;
        let passed = (self.start.elapsed().as_secs_f64() * TICKS_PER_SECOND).max(1.0);
        SampleConditions {
            steal_fraction: after.steal.saturating_sub(before.steal) as f64 / total as f64,
            // Two counts of ticks differ by up to one each without meaning anything.
            other_load: ((busy - by_process - 2.0) / passed).max(0.0),
            hertz,
            heat_throttled,
        }
    }
}

fn counts(cores: &[CoreId]) -> Option<Counts> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let process_stat = fs::read_to_string("/proc/self/stat").ok()?;
    Some(parse_counts(&stat, &process_stat, cores))
}

/// In the machine's file, the fields after a core's name are user, nice, system, idle, iowait, irq, softirq and steal;
/// what follows is contained in user and nice. In the process's, user and system time are the 12th and 13th after its
/// name.
fn parse_counts(stat: &str, process_stat: &str, cores: &[CoreId]) -> Counts {
    let mut sum = Counts::default();
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(core) = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok()).map(CoreId) else {
            continue;
        };
        let times: Vec<u64> = fields.take(8).filter_map(|time| time.parse().ok()).collect();
        let time = |index: usize| times.get(index).copied().unwrap_or(0);
        sum.busy += [0, 1, 2, 5, 6].map(time).iter().sum::<u64>();
        if cores.contains(&core) {
            sum.steal += time(7);
            sum.total += times.iter().sum::<u64>();
        }
    }
    let after_name = process_stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    sum.by_process =
        after_name.split_ascii_whitespace().skip(11).take(2).filter_map(|time| time.parse::<u64>().ok()).sum();
    sum
}

/// The core's clock as the kernel's frequency driver last set it.
pub(crate) fn frequency(core: CoreId) -> Option<f64> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
    let kilohertz: f64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(kilohertz * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_of_the_watched_cores_and_load_of_all() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 70 0 0 5 5 3 0\ncpu1 1 0 0 0 0 0 0 1 0 0\ncpu10 7 7 7 7 7 7 7 7\n";
        let process_stat = "42 (a name) with) R 1 1 1 0 -1 4194304 100 0 0 0 17 4 0 0 20 0 3 0 100";
        let counts = parse_counts(stat, process_stat, &[CoreId(0), CoreId(1)]);
        assert_eq!(counts, Counts { steal: 6, total: 102, busy: 25 + 1 + 35, by_process: 21 });
        assert_eq!(parse_counts("intr 5\n", "", &[CoreId(0)]), Counts::default());
    }

    #[test]
    fn a_watch_that_sees_nothing_reports_no_steal() {
        let watch = Watch::start(&Processor::new("B", [4_000_000_000]));
        let conditions = watch.conditions();
        assert_eq!((conditions.steal_fraction, conditions.hertz), (0.0, None));
        assert!(!is_disturbed(&SampleConditions::default()) && disturbance(&conditions) >= (false, 0.0));
    }

    #[test]
    fn heat_disturbs_more_than_others_do() {
        let hot = SampleConditions { heat_throttled: true, ..SampleConditions::default() };
        let shared = SampleConditions { other_load: 3.0, ..SampleConditions::default() };
        assert!(is_disturbed(&hot) && disturbance(&hot) > disturbance(&shared));
        assert!(disturbance(&SampleConditions { steal_fraction: 0.5, ..hot }) > disturbance(&hot));
    }
}
