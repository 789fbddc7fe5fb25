//! What Linux tells of huge pages.

use std::fs;

use crate::untested::not_tested;

/// The first version of Linux that moves memory to huge pages for those who ask.
const FIRST_VERSION: (u32, u32) = (6, 1);

/// How much of this process's memory is in huge pages; `None`, with a word, where the system has none for those who
/// ask, or makes all memory huge by itself.
pub fn bytes_in_huge_pages() -> Option<usize> {
    let bytes = if gives_when_asked() { told_bytes() } else { None };
    if bytes.is_none() {
        not_tested("HUGE_PAGES", "this system has no huge pages of 2 MiB for those who ask");
    }
    bytes
}

/// Whether the system had no huge page for somebody since it had been so often, with a word: then a test can't tell how
/// much should have moved.
pub fn were_refused_since(refused_before: u64) -> bool {
    let were_refused = refused_huge_pages() > refused_before;
    if were_refused {
        not_tested("HUGE_PAGES", "this system has no huge pages of 2 MiB left");
    }
    were_refused
}

/// How often the system had no huge page for one who asked, since it was started and for whoever it was.
pub fn refused_huge_pages() -> u64 {
    let told = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let refused = told.lines().find_map(|line| line.strip_prefix("thp_collapse_alloc_failed "));
    refused.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

fn told_bytes() -> Option<usize> {
    let told = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let kilobytes = told.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    Some(kilobytes.trim().trim_end_matches(" kB").parse::<usize>().ok()? << 10)
}

fn gives_when_asked() -> bool {
    let setting = |file: &str| fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}"));
    let has_pages = setting("hpage_pmd_size").is_ok_and(|bytes| bytes.trim() == "2097152");
    has_pages && setting("enabled").is_ok_and(|told| told.contains("[madvise]")) && version() >= Some(FIRST_VERSION)
}

fn version() -> Option<(u32, u32)> {
    let told = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = told.split(|sign: char| !sign.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}
