//! Memory is moved to huge pages. In a process of its own, as other tests count what theirs has.

#![cfg(target_os = "linux")]

use std::hint::black_box;

use millstream_machine::MemoryMark;
use millstream_test_support::bytes_in_huge_pages;

const BYTES: usize = 64 << 20;

#[test]
fn what_is_new_moves_to_huge_pages_and_holds_what_it_held() {
    let old = filled();
    let before = MemoryMark::now();
    let Some(huge_before) = bytes_in_huge_pages() else { return };
    let new = filled();
    let moved = before.move_new_to_huge_pages();
    let holds = |memory: &[u8]| memory.iter().enumerate().all(|(index, &byte)| byte == content(index));
    assert!(holds(&old) && holds(&new));

    // All of the new but where it begins and ends, and nothing of what was there before.
    let about_all = BYTES * 7 / 8..=BYTES * 9 / 8;
    assert!(about_all.contains(&(moved as usize)), "{moved}");
    let huge = bytes_in_huge_pages().map(|huge| huge.saturating_sub(huge_before));
    assert!(huge.is_some_and(|huge| about_all.contains(&huge)), "{huge:?}");
}

fn filled() -> Vec<u8> {
    black_box((0..BYTES).map(content).collect())
}

fn content(index: usize) -> u8 {
    (index % 251) as u8
}
