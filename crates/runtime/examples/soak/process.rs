//! What this process holds.

use std::io::{Error, ErrorKind};

/// Memory, threads and descriptors of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    pub(crate) resident_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Footprint {
    pub(crate) fn of_this_process() -> Result<Self, Error> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            number.ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("/proc/self/status has no {name}")))
        };
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        Ok(Self { resident_bytes: 1024 * field("VmRSS")?, threads: field("Threads")?, descriptors })
    }
}
