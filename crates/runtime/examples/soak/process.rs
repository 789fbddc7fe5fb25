//! What this process holds.

use std::io::{Error, ErrorKind};

/// Memory, threads and descriptors of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    pub(crate) resident_bytes: u64,
    /// What of it is allocated: the rest has been freed and is kept for later allocations, or is the program itself.
    pub(crate) allocated_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Footprint {
    pub(crate) fn of_this_process() -> Result<Self, Error> {
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        let (resident_bytes, threads) = (1024 * status("VmRSS")?, status("Threads")?);
        // Where the allocator does not tell, all that is resident counts.
        let allocated_bytes = millstream_machine::allocated_bytes().unwrap_or(resident_bytes);
        Ok(Self { resident_bytes, allocated_bytes, threads, descriptors })
    }
}

/// A number that the system tells of this process.
fn status(name: &str) -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("/proc/self/status has no {name}")))
}
