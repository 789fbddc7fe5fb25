//! Numbers of things in words.

/// So many of something, in words: `1 box`, `3 boxes`.
pub fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
