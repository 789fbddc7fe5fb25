//! Memory is moved to huge pages. In a process of its own, as other tests count what theirs has.

#![cfg(target_os = "linux")]

use std::hint::black_box;

use millstream_machine::MemoryMark;
use millstream_test_support::{bytes_in_huge_pages, refused_huge_pages, were_refused_since};

const BYTES: usize = 64 << 20;

#[test]
fn what_is_new_moves_to_huge_pages_and_holds_what_it_held() {
    let old = filled();
    let before = MemoryMark::now();
    let Some(huge_before) = bytes_in_huge_pages() else { return };
    let refused_before = refused_huge_pages();
    let new = filled();
    let moved = before.move_new_to_huge_pages() as usize;
    let holds = |memory: &[u8]| memory.iter().enumerate().all(|(index, &byte)| byte == content(index));
    assert!(holds(&old) && holds(&new));

    // All of the new but where it begins and ends, and nothing of what was there before; less where the system had no
    // more.
    let huge = bytes_in_huge_pages().unwrap_or_default().saturating_sub(huge_before);
    assert!(moved.abs_diff(huge) <= BYTES / 8, "{moved} and {huge}");
    assert!(moved <= BYTES);
    assert!(moved >= BYTES / 8 * 7 || were_refused_since(refused_before), "{moved}");
}

fn filled() -> Vec<u8> {
    black_box((0..BYTES).map(content).collect())
}

fn content(index: usize) -> u8 {
    (index % 251) as u8
}
