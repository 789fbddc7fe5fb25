//! Times in whole nanoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A time in whole nanoseconds: the unit in which schedules are evaluated, so that equal means equal.
///
/// Sums and differences stay within what it can express: a sum ends at the longest time, a difference at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Nanoseconds(pub u64);

impl Nanoseconds {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// Rounds to the nearest nanosecond; negative and undefined times become zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self::rounded(seconds * 1e9)
    }

    /// The nearest whole number of nanoseconds; none below nothing. Searches ask so often for times that calling a
    /// library for it, as rounding does on processors of no particular kind, took a tenth of theirs.
    #[inline]
    pub(crate) fn rounded(nanoseconds: f64) -> Self {
        let below = nanoseconds as u64;
        let is_nearer_to_next = nanoseconds - below as f64 >= 0.5;
        Self(below.saturating_add(u64::from(is_nearer_to_next)))
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Nanoseconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanoseconds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

impl From<Duration> for Nanoseconds {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Rounded to nothing otherwise.
            1..500 => write!(formatter, "{} ns", self.0),
            _ => write!(formatter, "{:.3} ms", self.0 as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_the_library_does() {
        // Numbers of all sizes and signs, and those between whole ones.
        let bits = (0..100_000_u64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for bits in bits {
            let whole = (bits >> (11 + bits % 53)) as f64;
            for number in [f64::from_bits(bits), whole, whole + 0.25, whole + 0.5, whole + 0.75] {
                assert_eq!(Nanoseconds::rounded(number).0, number.round() as u64, "{number}");
            }
        }
    }

    #[test]
    fn what_is_no_number_of_nanoseconds_is_the_nearest_one() {
        let below_half = 0.5_f64.next_down();
        let rounded = [f64::NAN, -1.0, below_half, 0.5, f64::INFINITY].map(|number| Nanoseconds::rounded(number).0);
        assert_eq!(rounded, [0, 0, 0, 1, u64::MAX]);
    }
}
