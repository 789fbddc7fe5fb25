//! Clock limits of single cores, as Linux keeps them in sysfs.

use std::path::PathBuf;

use millstream_board::CoreId;

/// The highest clock, in hertz, that the system lets a core run at now; `None` if it does not tell.
pub fn clock_limit(core: CoreId) -> Option<u64> {
    let kilohertz: u64 = std::fs::read_to_string(clock_limit_file(core)).ok()?.trim().parse().ok()?;
    kilohertz.checked_mul(1000)
}

/// Where the system keeps that limit, in kilohertz. Writing it needs rights.
pub fn clock_limit_file(core: CoreId) -> PathBuf {
    format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_max_freq").into()
}
