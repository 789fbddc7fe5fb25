//! What this process holds.

use std::io::{Error, ErrorKind};

/// Memory, threads and descriptors of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    pub(crate) resident_bytes: u64,
    /// What of it is in use: the rest has been freed, and is kept for later allocations.
    pub(crate) held_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Footprint {
    pub(crate) fn of_this_process() -> Result<Self, Error> {
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        let (resident_bytes, threads) = (1024 * status("VmRSS")?, status("Threads")?);
        millstream_machine::release_freed_memory();
        Ok(Self { resident_bytes, held_bytes: 1024 * status("VmRSS")?, threads, descriptors })
    }
}

/// A number that the system tells of this process.
fn status(name: &str) -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("/proc/self/status has no {name}")))
}
