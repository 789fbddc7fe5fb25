//! Which of this process's pages are in memory.

use std::ops::Range;

/// What Linux tells of each page, in `/proc/self/pagemap`.
pub(crate) struct ResidentPages {
    #[cfg(target_os = "linux")]
    pagemap: std::fs::File,
}

#[cfg(target_os = "linux")]
impl ResidentPages {
    /// Bytes for each page.
    const ENTRY: usize = 8;
    /// The bit of an entry that says that the page is in memory.
    const PRESENT: u64 = 1 << 63;

    /// `None` where the system does not tell.
    pub(crate) fn open() -> Option<Self> {
        Some(Self { pagemap: std::fs::File::open("/proc/self/pagemap").ok()? })
    }

    /// How much of a range of whole pages is in memory.
    pub(crate) fn bytes(&self, range: Range<usize>) -> usize {
        use std::os::unix::fs::FileExt;

        let page_bytes = rustix::param::page_size();
        let mut entries = vec![0; range.len() / page_bytes * Self::ENTRY];
        let offset = (range.start / page_bytes * Self::ENTRY) as u64;
        if self.pagemap.read_exact_at(&mut entries, offset).is_err() {
            return 0;
        }
        let (entries, _) = entries.as_chunks::<{ Self::ENTRY }>();
        entries.iter().filter(|entry| u64::from_ne_bytes(**entry) & Self::PRESENT != 0).count() * page_bytes
    }
}

#[cfg(not(target_os = "linux"))]
impl ResidentPages {
    pub(crate) fn open() -> Option<Self> {
        None
    }

    pub(crate) fn bytes(&self, _: Range<usize>) -> usize {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_to_is_in_memory_and_what_is_not_mapped_is_not() {
        let page = rustix::param::page_size();
        let held = vec![1_u8; 64 * page];
        let start = (held.as_ptr() as usize).next_multiple_of(page);
        let resident = ResidentPages::open().unwrap();
        assert_eq!(resident.bytes(start..start + 62 * page), 62 * page);
        assert_eq!(resident.bytes(page..9 * page), 0);
        assert_eq!(held.last(), Some(&1));
    }
}
