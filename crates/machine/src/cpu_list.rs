//! Core numbers from the lists of CPUs in the kernel's files.

use millstream_board::CoreId;

/// Reads the kernel's notation for sets of CPUs, such as `0-3,6`. `None` if the text is not in it.
pub fn parse_cpu_list(text: &str) -> Option<Vec<CoreId>> {
    let mut cores = Vec::new();
    for part in text.trim().split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last - first > 4096 {
            return None;
        }
        cores.extend((first..=last).map(CoreId));
    }
    Some(cores)
}
