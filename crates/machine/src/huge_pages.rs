//! Huge pages for what is large: pages of memory that hold 2 MiB instead of 4 KiB, so that a core looks up fewer of
//! them.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::resident::ResidentPages;
use crate::system_file::{number, text};

/// The folder in which Linux says how it makes pages huge by itself.
const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";
/// The smallest region that is worth it. Most of the time of a layer with fewer weights is not spent on reading them.
const LARGE_BYTES: usize = 16 << 20;
/// How often a page is tried that the system can't move just now, as while it looks at it itself.
const ATTEMPTS: usize = 3;
/// After so many pages in a row that the system gave no huge one for, it is asked for no more: each time it may look
/// through all of its memory.
const MOST_REFUSALS: usize = 3;

/// What memory this process had at some time: what it was given since can be moved to huge pages.
///
/// Weights that are read once for each frame, as those of fully connected layers, take a look-up for each page, which
/// costs more than reading it where a virtual machine has tables of its own. Libraries ask for no huge pages, and many
/// distributions give them only to those who ask.
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
#[derive(Debug, Clone)]
pub struct MemoryMark {
    /// `None` where the system did not tell.
    regions: Option<Vec<Range<usize>>>,
}

impl MemoryMark {
    /// What it has now.
    pub fn now() -> Self {
        Self { regions: own_memory() }
    }

    /// Moves what was allocated since to huge pages, where it lies in regions of 16 MiB or more and is in use, and
    /// returns how many bytes were moved or lay in such pages already. That took 0.4 s for AlexNet's 240 MB of weights,
    /// and takes longer where memory is in pieces. Ends early where the system gives no more.
    ///
    /// What other threads allocated meanwhile is moved as well: they see the same contents, but may wait for the
    /// system.
    ///
    /// Does nothing on other systems than Linux 6.1 or later, where huge pages are turned off (`never` in
    /// `/sys/kernel/mm/transparent_hugepage/enabled`) or larger than 16 MiB.
    pub fn move_new_to_huge_pages(&self) -> u64 {
        let (Some(page_bytes), Some(now)) = (huge_page_bytes(Path::new(SETTINGS)), own_memory()) else { return 0 };
        let Some(resident) = ResidentPages::open() else { return 0 };
        let new = self.large_since(now, page_bytes);
        let pages = new.into_iter().flat_map(|range| range.step_by(page_bytes)).map(|start| start..start + page_bytes);
        moved_bytes(pages.filter(|page| is_in_use(page, resident.bytes(page.clone()))), collapse)
    }

    /// The parts of large regions that are not in the mark, from the first whole huge page to the last.
    fn large_since(&self, now: Vec<Range<usize>>, page_bytes: usize) -> Vec<Range<usize>> {
        let Some(before) = &self.regions else { return Vec::new() };
        let whole_pages = |range: Range<usize>| {
            let start = range.start.checked_next_multiple_of(page_bytes)?;
            let end = range.end - range.end % page_bytes;
            (start < end).then_some(start..end)
        };
        let new = now.into_iter().flat_map(|region| without(region, before));
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

/// Whether all of a page but an eighth at the most, which it takes up when it is huge, is in memory.
fn is_in_use(page: &Range<usize>, resident_bytes: usize) -> bool {
    resident_bytes >= page.len() / 8 * 7
}

/// Moves pages one by one: a call for several tells that one failed but not which, and leaves out those after it for
/// some reasons; and other threads that ask for memory may wait for a call. Returns how many bytes were moved.
fn moved_bytes(pages: impl Iterator<Item = Range<usize>>, collapse: impl Fn(Range<usize>) -> Outcome) -> u64 {
    let (mut moved, mut refusals) = (0, 0);
    for page in pages {
        match (0..ATTEMPTS).map(|_| collapse(page.clone())).find(|outcome| *outcome != Outcome::NotNow) {
            Some(Outcome::Moved) => (moved, refusals) = (moved + page.len() as u64, 0),
            Some(Outcome::NoneGiven) => refusals += 1,
            _ => {}
        }
        if refusals == MOST_REFUSALS {
            break;
        }
    }
    moved
}

/// The bytes of a huge page; `None` where the system has none, must not make any, or has them larger than what is large
/// here.
fn huge_page_bytes(settings: &Path) -> Option<usize> {
    let is_off = text(&settings.join("enabled"))?.contains("[never]");
    let bytes: usize = number(&settings.join("hpage_pmd_size"))?;
    (!is_off && (1..=LARGE_BYTES).contains(&bytes)).then_some(bytes)
}

/// The regions of memory that only this process has, and no file; `None` where the system does not tell.
fn own_memory() -> Option<Vec<Range<usize>>> {
    // Names of files need not be text.
    let told = fs::read("/proc/self/maps").ok()?;
    Some(own_regions(&String::from_utf8_lossy(&told)))
}

/// The same in what Linux tells.
fn own_regions(maps: &str) -> Vec<Range<usize>> {
    maps.lines().filter(|line| is_own_memory(line)).filter_map(addresses).collect()
}

/// The addresses at the start of a line.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some(address(start)?..address(end)?)
}

/// Whether the region of such a line may be written to, is not shared, and is neither a file nor the first thread's
/// stack.
fn is_own_memory(line: &str) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_allocated = match fields.get(5) {
        None => true,
        Some(name) => *name == "[heap]" || name.starts_with("[anon:"),
    };
    fields.get(1).is_some_and(|mode| mode.starts_with("rw") && mode.ends_with('p')) && is_allocated
}

/// What came of moving a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no other system moves any"))]
enum Outcome {
    Moved,
    /// Something else held the page, which may be over in a moment.
    NotNow,
    /// The system gave no huge page: it has none here, or this container may have no more. Or the memory was given back
    /// meanwhile, which is told in the same way.
    NoneGiven,
    /// Another reason.
    Never,
}

/// Has the system copy a page to a huge one.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library wraps this use of the function")]
fn collapse(page: Range<usize>) -> Outcome {
    /// `MADV_COLLAPSE`, which `libc` does not have for all systems.
    const COLLAPSE: libc::c_int = 25;
    let start = std::ptr::without_provenance_mut::<libc::c_void>(page.start);
    // SAFETY: nothing is read or written through the pointer. The system moves the range to another page while all who
    // use it see what was there before, and refuses what is not mapped any more; had another thread mapped something
    // else there meanwhile, that would be moved in the same way.
    if unsafe { libc::madvise(start, page.len(), COLLAPSE) } == 0 {
        return Outcome::Moved;
    }
    std::io::Error::last_os_error().raw_os_error().map_or(Outcome::Never, outcome_of)
}

#[cfg(target_os = "linux")]
fn outcome_of(error: libc::c_int) -> Outcome {
    match error {
        libc::EAGAIN => Outcome::NotNow,
        libc::ENOMEM | libc::EBUSY => Outcome::NoneGiven,
        _ => Outcome::Never,
    }
}

#[cfg(not(target_os = "linux"))]
fn collapse(_: Range<usize>) -> Outcome {
    Outcome::Never
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c4000000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0004000000 rw-p 00000000 00:00 0 
7f0010000000-7f0014000000 rw-p 00000000 00:00 0                          [anon:scudo:secondary]
7f0018000000-7f001c000000 rw-p 00000000 08:01 77                         /srv/weights of all.bin
7f0020000000-7f0024000000 r--p 00000000 00:00 0 
7f0030000000-7f0034000000 rw-s 00000000 00:01 5                          /dev/shm/frames
7f0040000000-7f0040f00000 rw-p 00000000 00:00 0 
7ffc00000000-7ffc04000000 rw-p 00000000 00:00 0                          [stack]
7ffc08000000-7ffc08001000 r-xp 00000000 00:00 0                          [vdso]
";
    const HEAP: Range<usize> = 0x55d0_c000_0000..0x55d0_c400_0000;
    const FIRST: Range<usize> = 0x7f00_0000_0000..0x7f00_0400_0000;
    const NAMED: Range<usize> = 0x7f00_1000_0000..0x7f00_1400_0000;

    fn large_since(before: &[Range<usize>], page_bytes: usize) -> Vec<Range<usize>> {
        MemoryMark { regions: Some(before.to_vec()) }.large_since(own_regions(MAPS), page_bytes)
    }

    #[test]
    fn regions_are_large_and_of_this_process_alone() {
        assert_eq!(large_since(&[], 2 << 20), [HEAP, FIRST, NAMED]);
        assert_eq!(own_regions(MAPS).len(), 4, "a small one as well");
    }

    #[test]
    fn only_what_is_new_is_moved_in_whole_pages() {
        // The first 9 MiB of the heap and all of the next region but its last 17 MiB were there before.
        let before = [HEAP.start..HEAP.start + (9 << 20), FIRST.start..FIRST.end - (17 << 20), NAMED];
        let whole = [HEAP.start + (10 << 20)..HEAP.end, FIRST.end - (16 << 20)..FIRST.end];
        assert_eq!(large_since(&before, 2 << 20), whole);
        let nothing_is_known = MemoryMark { regions: None };
        assert_eq!(nothing_is_known.large_since(own_regions(MAPS), 2 << 20), []);
    }

    #[test]
    fn what_is_left_of_a_range_lies_around_the_others() {
        assert_eq!(without(0..10, &[2..4, 6..7]), [0..2, 4..6, 7..10]);
        assert_eq!(without(2..5, &[0..1, 7..9]).first(), Some(&(2..5)));
        assert_eq!(without(2..5, &[0..9, 20..30]), []);
    }

    /// What another thread has only begun to fill does not keep what lies beside it from being moved.
    #[test]
    fn pages_are_in_use_that_are_in_memory_but_for_an_eighth() {
        assert!(is_in_use(&(16..24), 8));
        assert!(is_in_use(&(16..24), 7));
        assert!(!is_in_use(&(16..24), 6));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_not_mapped_is_not_moved() {
        assert_ne!(collapse(2 << 20..4 << 20), Outcome::Moved);
        let outcomes = [libc::EAGAIN, libc::ENOMEM, libc::EBUSY, libc::EINVAL].map(outcome_of);
        assert_eq!(outcomes, [Outcome::NotNow, Outcome::NoneGiven, Outcome::NoneGiven, Outcome::Never]);
    }

    #[test]
    fn a_page_that_cannot_be_moved_keeps_no_other_from_it() {
        let pages = || (0..6).map(|index| index * 8..index * 8 + 8);
        let moved_where = |outcome: &dyn Fn(usize, usize) -> Outcome| {
            let calls = RefCell::new([0; 6]);
            let collapse = |page: Range<usize>| {
                calls.borrow_mut()[page.start / 8] += 1;
                outcome(page.start / 8, calls.borrow()[page.start / 8])
            };
            let moved = moved_bytes(pages(), collapse);
            (moved, calls.into_inner())
        };
        let second = |outcome: Outcome| move |page, _| if page == 1 { outcome } else { Outcome::Moved };
        assert_eq!(moved_where(&second(Outcome::Moved)), (48, [1; 6]));
        assert_eq!(moved_where(&second(Outcome::Never)), (40, [1; 6]));
        assert_eq!(moved_where(&second(Outcome::NotNow)), (40, [1, 3, 1, 1, 1, 1]), "tried again, but not for ever");
        assert_eq!(moved_where(&second(Outcome::NoneGiven)), (40, [1; 6]), "it may have been given back");
        let at_the_third = |_, call| if call < 3 { Outcome::NotNow } else { Outcome::Moved };
        assert_eq!(moved_where(&at_the_third), (48, [3; 6]));
        let from_the_third = |page, _| if page >= 2 { Outcome::NoneGiven } else { Outcome::Moved };
        assert_eq!(moved_where(&from_the_third), (16, [1, 1, 1, 1, 1, 0]), "there are none left");
        let every_other = |page, _| if page % 2 == 1 { Outcome::NoneGiven } else { Outcome::Moved };
        assert_eq!(moved_where(&every_other), (24, [1; 6]));
    }

    #[test]
    fn huge_pages_that_were_turned_off_stay_off() {
        let folder = tempfile::tempdir().unwrap();
        let set = |file: &str, told: &str| fs::write(folder.path().join(file), told).unwrap();
        assert_eq!(huge_page_bytes(folder.path()), None);
        set("enabled", "always [madvise] never\n");
        assert_eq!(huge_page_bytes(folder.path()), None, "of unknown size");
        set("hpage_pmd_size", "2097152\n");
        assert_eq!(huge_page_bytes(folder.path()), Some(2 << 20));
        set("hpage_pmd_size", "536870912\n");
        assert_eq!(huge_page_bytes(folder.path()), None, "larger than what is large");
        set("hpage_pmd_size", "2097152\n");
        set("enabled", "always madvise [never]\n");
        assert_eq!(huge_page_bytes(folder.path()), None);
    }
}
