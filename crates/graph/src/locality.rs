//! Which places of its inputs an operator needs for some places of its output.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operator can be divided along, between processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// Output channels: each part is made from the whole inputs and its part of the weights.
    #[default]
    Channels,
    /// Rows of a map, or tokens of a sequence: each part is made from some rows of the inputs and all weights.
    Rows,
}

/// A part of what operators make that are divided together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Portion {
    /// What they are divided along.
    pub along: Along,
    /// The channels, or rows, of the last operator's output.
    pub range: Range<usize>,
}

/// Which places of its inputs an operator needs for a place of its output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Locality {
    /// Any place may need all of them, for all that is known.
    #[default]
    Global,
    /// The same place, but all places along some dimensions. Inputs that have one place along a dimension serve all places with it.
    SamePlace {
        /// The output's dimensions whose places mix.
        mixed: Vec<usize>,
    },
    /// Those below a window, for each dimension from the third on; all along the first two.
    Windows(Vec<Window>),
    /// Every place is copied so many times, for each dimension from the third on.
    Copies(Vec<usize>),
}

/// A window that slides along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Places from its first tap to its last one.
    pub span: usize,
    /// Places that it moves on for the next place of the output.
    pub stride: usize,
    /// Places of padding before the first one of the input.
    pub padding: usize,
}

impl Window {
    /// The places of an input of so many that the window covers for these places of the output, without padding.
    pub fn covered(self, places: &Range<usize>, size: usize) -> Range<usize> {
        let Some(last) = places.end.checked_sub(1).filter(|_| !places.is_empty()) else { return 0..0 };
        let start = places.start.saturating_mul(self.stride).saturating_sub(self.padding);
        let end = last.saturating_mul(self.stride).saturating_add(self.span).saturating_sub(self.padding);
        start.min(size)..end.min(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_covers_neighbours_but_no_padding() {
        let same = Window { span: 3, stride: 1, padding: 1 };
        assert_eq!(same.covered(&(0..4), 8), 0..5);
        assert_eq!(same.covered(&(4..8), 8), 3..8);
        let halving = Window { span: 7, stride: 2, padding: 3 };
        assert_eq!(halving.covered(&(2..5), 224), 1..12);
        assert_eq!(halving.covered(&(3..3), 224), 0..0);
    }
}
