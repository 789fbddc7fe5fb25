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
        Self((seconds * 1e9).round() as u64)
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
