//! Energy of frames.

use std::fmt;

/// An energy in whole nanojoules, so that equal means equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanojoules(pub u64);

impl Nanojoules {
    /// Rounds to the nearest nanojoule; negative and undefined energies become zero.
    pub fn from_joules(joules: f64) -> Self {
        Self((joules * 1e9).round() as u64)
    }

    /// In joules.
    pub fn joules(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl fmt::Display for Nanojoules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} mJ", self.joules() * 1e3)
    }
}
