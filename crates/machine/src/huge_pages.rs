//! Huge pages for what is large: a page of memory that holds 2 MiB instead of 4 KiB, so that a core looks up fewer of them.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::system_file::{number, text};

/// The folder in which Linux says how it makes pages huge by itself.
const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";
/// The smallest region that is worth it. Most of the time of a layer with fewer weights is not spent on reading them.
const LARGE_BYTES: usize = 16 << 20;

/// What memory this process had at some time: what it was given since can be moved to huge pages.
///
/// Weights that are read once for each frame, as those of fully connected layers, take a look-up for each page, which
/// costs more than reading it where a virtual machine has tables of its own. Libraries ask for no huge pages, and by
/// default, Linux gives them to those who ask.
///
/// ```
/// use millstream_machine::MemoryMark;
///
/// let before = MemoryMark::now();
/// let weights = vec![1.0_f32; 8 << 20];
/// let moved_bytes = before.move_new_to_huge_pages();
/// assert!(moved_bytes <= 64 << 20, "what lies in large regions, and nothing where the system can't or must not");
/// # drop(weights);
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryMark {
    regions: Vec<Range<usize>>,
}

/// A region of memory that only this process has, and no file.
#[derive(Debug, PartialEq, Eq)]
struct Region {
    addresses: Range<usize>,
    /// How much of it is in memory.
    resident_bytes: usize,
}

impl MemoryMark {
    /// What it has now; nothing where the system does not tell.
    pub fn now() -> Self {
        let told = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Self { regions: own_regions(&told).into_iter().map(|region| region.addresses).collect() }
    }

    /// Moves what was allocated since to huge pages, where it lies in regions of 16 MiB or more that are in use, and
    /// returns how many bytes were moved. Takes a second or less for 500 MiB. What other threads allocated meanwhile is
    /// moved as well; nothing that they see of it changes.
    ///
    /// Does nothing on other systems than Linux 6.1 or later, and where its administrator has turned huge pages off.
    pub fn move_new_to_huge_pages(&self) -> u64 {
        let Some(page_bytes) = huge_page_bytes(Path::new(SETTINGS)) else { return 0 };
        let told = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let moved = self.large_since(&told, page_bytes).into_iter().filter(|range| collapse(range.clone()));
        moved.map(|range| range.len() as u64).sum()
    }

    /// The parts of large regions that are not in the mark, from the first whole huge page to the last.
    fn large_since(&self, smaps: &str, page_bytes: usize) -> Vec<Range<usize>> {
        let is_in_use = |region: &Region| region.resident_bytes >= region.addresses.len() / 8 * 7;
        let regions = own_regions(smaps).into_iter().filter(is_in_use);
        let new = regions.flat_map(|region| without(region.addresses, &self.regions));
        let whole_pages = |range: Range<usize>| {
            let start = range.start.checked_next_multiple_of(page_bytes)?;
            let end = range.end - range.end % page_bytes;
            (start < end).then_some(start..end)
        };
        new.filter(|range| range.len() >= LARGE_BYTES).filter_map(whole_pages).collect()
    }
}

/// What is left of a range without others.
fn without(range: Range<usize>, others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = vec![range];
    for other in others {
        let cut =
            |range: Range<usize>| [range.start..range.end.min(other.start), range.start.max(other.end)..range.end];
        left = left.into_iter().flat_map(cut).filter(|range| !range.is_empty()).collect();
    }
    left
}

/// The bytes of a huge page; `None` where the system has none, or must not make any.
fn huge_page_bytes(settings: &Path) -> Option<usize> {
    let is_off = text(&settings.join("enabled"))?.contains("[never]");
    let bytes: usize = number(&settings.join("hpage_pmd_size"))?;
    (!is_off && bytes > 0).then_some(bytes)
}

/// The regions in what Linux tells of a process in `maps` or `smaps`.
fn own_regions(told: &str) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    // The lines below a region that is none of ours say nothing of the last one of ours.
    let mut is_own = false;
    for line in told.lines() {
        if let Some(kilobytes) = line.strip_prefix("Rss:") {
            let kilobytes = kilobytes.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
            if let (true, Some(region), Some(kilobytes)) = (is_own, regions.last_mut(), kilobytes) {
                region.resident_bytes = kilobytes.saturating_mul(1024);
            }
        } else if let Some(addresses) = addresses(line) {
            is_own = is_own_memory(line);
            if is_own {
                regions.push(Region { addresses, resident_bytes: 0 });
            }
        }
    }
    regions
}

/// The addresses at the start of a line for a region.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some(address(start)?..address(end)?)
}

/// Whether the region of such a line may be written to, is not shared, and is no file or stack.
fn is_own_memory(line: &str) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_allocated = match fields.get(5) {
        None => true,
        Some(name) => *name == "[heap]" || name.starts_with("[anon:"),
    };
    fields.get(1).is_some_and(|mode| mode.starts_with("rw") && mode.ends_with('p'))
        && fields.get(4) == Some(&"0")
        && is_allocated
}

/// Has the system copy a range to huge pages. `false` where it can't, or not all of it.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library wraps this use of the function")]
fn collapse(range: Range<usize>) -> bool {
    /// `MADV_COLLAPSE`, which `libc` does not have for all systems.
    const COLLAPSE: libc::c_int = 25;
    let start = std::ptr::without_provenance_mut::<libc::c_void>(range.start);
    // SAFETY: nothing is read or written through the pointer. The system moves the range to other pages while all who
    // use it see what was there before, and refuses what is not mapped any more; had another thread mapped something
    // else there meanwhile, that would be moved in the same way.
    unsafe { libc::madvise(start, range.len(), COLLAPSE) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn collapse(_: Range<usize>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "\
55d0c0000000-55d0c4000000 rw-p 00000000 00:00 0                          [heap]
Rss:               65536 kB
7f0000000000-7f0004000000 rw-p 00000000 00:00 0 
Size:              65536 kB
Rss:               60000 kB
7f0010000000-7f0014000000 rw-p 00000000 00:00 0 
Rss:                4096 kB
7f0020000000-7f0024000000 r--p 00000000 08:01 77                         /usr/lib/libweights.so
Rss:               65536 kB
7f0030000000-7f0034000000 rw-s 00000000 00:01 0 
Rss:               65536 kB
7f0040000000-7f0040f00000 rw-p 00000000 00:00 0 
Rss:               15360 kB
7ffc00000000-7ffc04000000 rw-p 00000000 00:00 0                          [stack]
Rss:               65536 kB
";

    #[test]
    fn regions_are_large_in_use_and_of_this_process_alone() {
        let large = MemoryMark::default().large_since(TOLD, 2 << 20);
        assert_eq!(large, [0x55d0_c000_0000..0x55d0_c400_0000, 0x7f00_0000_0000..0x7f00_0400_0000]);
        assert_eq!(own_regions(TOLD)[1].resident_bytes, 60_000 << 10);
    }

    #[test]
    fn only_what_is_new_is_moved_in_whole_pages() {
        // The first 9 MiB of the heap and all of the next region but its last 17 MiB were there before.
        let before = [0x55d0_c000_0000..0x55d0_c090_0000, 0x7f00_0000_0000..0x7f00_02f0_0000];
        let large = MemoryMark { regions: before.to_vec() }.large_since(TOLD, 2 << 20);
        assert_eq!(large, [0x55d0_c0a0_0000..0x55d0_c400_0000, 0x7f00_0300_0000..0x7f00_0400_0000]);
        // Pages of 512 MiB fit nowhere.
        assert_eq!(MemoryMark::default().large_since(TOLD, 512 << 20), []);
    }

    #[test]
    fn what_is_left_of_a_range_lies_around_the_others() {
        assert_eq!(without(0..10, &[2..4, 6..7]), [0..2, 4..6, 7..10]);
        assert_eq!(without(2..5, &[0..1, 7..9]), [2..5, 2..5][..1]);
        assert_eq!(without(2..5, &[0..9]), []);
    }

    #[test]
    fn huge_pages_that_were_turned_off_stay_off() {
        let folder = tempfile::tempdir().unwrap();
        let set = |enabled: &str| fs::write(folder.path().join("enabled"), enabled).unwrap();
        assert_eq!(huge_page_bytes(folder.path()), None);
        set("always [madvise] never\n");
        assert_eq!(huge_page_bytes(folder.path()), None, "of unknown size");
        fs::write(folder.path().join("hpage_pmd_size"), "2097152\n").unwrap();
        assert_eq!(huge_page_bytes(folder.path()), Some(2 << 20));
        set("always madvise [never]\n");
        assert_eq!(huge_page_bytes(folder.path()), None);
    }
}
