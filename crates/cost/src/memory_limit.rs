//! What an operator moves to and from memory, which its time can't be below.

use crate::cost_entry::CostEntry;
use crate::nanoseconds::Nanoseconds;

/// Of an operator that takes any time on a processor: what it takes where memory is no limit, and what it moves to and
/// from memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemoryLimit {
    pub(crate) unlimited: CostEntry,
    pub(crate) bytes: u64,
    pub(crate) bytes_per_second: f64,
}

impl MemoryLimit {
    /// What moving a part of its channels or rows takes at least.
    pub(crate) fn of_part(&self, part: usize, of: usize) -> Nanoseconds {
        Nanoseconds::from_seconds(bytes_of_part(self.bytes, part, of) as f64 / self.bytes_per_second)
    }

    pub(crate) fn of_whole(&self) -> Nanoseconds {
        self.of_part(1, 1)
    }

    /// The same for a processor with other times, and the same memory.
    pub(crate) fn with_times(self, other: impl Fn(CostEntry) -> CostEntry) -> Self {
        Self { unlimited: other(self.unlimited), ..self }
    }

    /// The times within what memory moves.
    pub(crate) fn entry(&self) -> CostEntry {
        let CostEntry { time, low, high, origin } = self.unlimited;
        let [time, low, high] = [time, low, high].map(|time| time.max(self.of_whole()));
        CostEntry { time, low, high, origin }
    }
}

/// What a part of an operator moves to and from memory of these bytes of the whole: so many of its channels or rows.
/// Parts of bytes count as whole ones: memory moves whole ones.
pub fn bytes_of_part(whole: u64, part: usize, of: usize) -> u64 {
    // Numbers of twice the length take several times as long to divide.
    if let Some(product) = whole.checked_mul(part as u64) {
        return product.div_ceil((of as u64).max(1));
    }
    let moved = (u128::from(whole) * part as u128).div_ceil((of as u128).max(1));
    u64::try_from(moved).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_bytes_count_as_whole_ones_however_many_there_are() {
        let parts = [(10, 1, 3), (9, 1, 3), (10, 0, 3), (0, 2, 3), (10, 2, 0)];
        assert_eq!(parts.map(|(whole, part, of)| bytes_of_part(whole, part, of)), [4, 3, 0, 0, 20]);
        // More than a number of 64 bits holds on the way, and in the end.
        assert_eq!(bytes_of_part(u64::MAX - 1, 4, 8), u64::MAX / 2);
        assert_eq!(bytes_of_part(u64::MAX, 2, 1), u64::MAX);
    }
}
