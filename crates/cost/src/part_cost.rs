//! How the time of an operator depends on the channels that are made.

use crate::nanoseconds::Nanoseconds;

/// How an operator's time depends on how many of its output channels a processor makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartCost {
    /// Part of the operator's time that does not become shorter with fewer channels, from 0 to 1.
    pub fixed_fraction: f64,
    /// Channels that the processor makes at once: an incomplete wave takes as long as a whole one.
    pub wave: usize,
    /// What the operator takes longer when it runs alone instead of among its neighbours, whatever its number of
    /// channels: starting it, and converting its input to its own layout.
    pub apart: Nanoseconds,
}

impl Default for PartCost {
    /// Time in proportion to the channels.
    fn default() -> Self {
        Self { fixed_fraction: 0.0, wave: 1, apart: Nanoseconds::ZERO }
    }
}

impl PartCost {
    /// The time of a part, in terms of that of the whole.
    pub fn fraction(&self, channels: usize, of: usize) -> f64 {
        let wave = self.wave.max(1);
        let waves = |channels: usize| channels.div_ceil(wave) as f64;
        self.fixed_fraction + (1.0 - self.fixed_fraction) * waves(channels) / waves(of).max(1.0)
    }
}
