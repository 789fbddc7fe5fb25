//! Memory is moved to huge pages. In a process of its own, as other tests count what theirs has.

#![cfg(target_os = "linux")]

use std::fs;
use std::hint::black_box;

use millstream_machine::MemoryMark;
use millstream_test_support::not_tested;

const BYTES: usize = 64 << 20;

#[test]
fn what_is_new_moves_to_huge_pages_and_holds_what_it_held() {
    let old = filled();
    let (before, huge_before) = (MemoryMark::now(), huge_bytes());
    let new = filled();
    let moved = before.move_new_to_huge_pages();
    let holds = |memory: &[u8]| memory.iter().enumerate().all(|(index, &byte)| byte == content(index));
    assert!(holds(&old) && holds(&new));
    if moved == 0 {
        return not_tested("HUGE_PAGES", "this system has no huge pages, or gives none");
    }

    // All of the new, and nothing of what was there before.
    let about_all = BYTES * 7 / 8..=BYTES * 9 / 8;
    assert!(about_all.contains(&(moved as usize)), "{moved}");
    let huge = huge_bytes() - huge_before;
    assert!(about_all.contains(&huge), "{huge}");
}

fn filled() -> Vec<u8> {
    black_box((0..BYTES).map(content).collect())
}

fn content(index: usize) -> u8 {
    (index % 251) as u8
}

/// How much of this process's memory is in huge pages.
fn huge_bytes() -> usize {
    let told = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let kilobytes = told.lines().find_map(|line| line.strip_prefix("AnonHugePages:")).unwrap();
    kilobytes.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}
