//! Which elements of its inputs an operator needs for some elements of its output.

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
    /// Columns of a map, in the same way.
    Columns,
    /// Heads of attention: each part is made from all tokens, with the weights of its heads.
    Heads,
}

impl Along {
    /// What is counted, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Channels => "channels",
            Self::Rows => "rows",
            Self::Columns => "columns",
            Self::Heads => "heads",
        }
    }

    /// Whether parts are tiles: they need only some positions of what they read.
    pub fn makes_tiles(self) -> bool {
        self != Self::Channels
    }
}

/// A part of what operators make that are divided together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Portion {
    /// What they are divided along.
    pub along: Along,
    /// The channels, rows, columns or heads of the last operator's output.
    pub range: Range<usize>,
}

/// Which elements of its inputs an operator needs for one element of its output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Locality {
    /// Any element may need all of them, for all that is known.
    #[default]
    Global,
    /// Those at the same position, but all along some dimensions. Of inputs that have size 1 along a dimension, the
    /// only one there.
    SamePosition {
        /// The output's dimensions along which all are needed.
        mixed: Vec<usize>,
    },
    /// Those below a window, for each dimension from the third on; all along the first two.
    Windows(Vec<Window>),
    /// Every element is stretched over so many, for each dimension from the third on.
    Stretched(Vec<Stretch>),
    /// Dimensions of the output come from dimensions of the inputs, perhaps others: for each of the output's
    /// dimensions, what is needed of each input; `None` where nothing smaller than everything can be told.
    Moved(Vec<Option<Vec<Need>>>),
}

/// What an operator needs of a value, for some positions along a dimension of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// All of it.
    Whole,
    /// Some positions along a dimension of the value.
    Some {
        /// The dimension.
        axis: usize,
        /// Which ones.
        positions: Positions,
    },
}

/// Which positions of a value are needed for a position of what is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// The same one.
    Same,
    /// Those that a window covers.
    Window(Window),
    /// So many neighbours, one group after the other.
    Several(usize),
    /// One that is stretched over several.
    Stretched(Stretch),
}

/// How an element is stretched over several of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// How many elements come from one.
    pub factor: usize,
    /// How many neighbours on either side have a part in them.
    pub reach: usize,
}

impl Positions {
    /// The positions that are needed, of `size`, for these.
    pub(crate) fn of(self, made: &Range<usize>, size: usize) -> Range<usize> {
        match self {
            Self::Same => made.clone(),
            Self::Window(window) => window.covered(made, size),
            Self::Several(each) => made.start.saturating_mul(each)..made.end.saturating_mul(each).min(size),
            Self::Stretched(Stretch { factor, reach }) => {
                let factor = factor.max(1);
                let end = made.end.div_ceil(factor).saturating_add(reach);
                (made.start / factor).saturating_sub(reach)..end.min(size)
            }
        }
    }
}

/// A window that slides along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Elements from its first tap to its last one, both included.
    pub span: usize,
    /// Elements that it moves on for the next element of the output.
    pub stride: usize,
    /// Elements of padding before the first one of the input.
    pub padding: usize,
}

impl Window {
    /// The positions in an input of `size` elements that the window covers for these positions in the output, without
    /// padding.
    pub fn covered(self, made: &Range<usize>, size: usize) -> Range<usize> {
        let Some(last) = made.end.checked_sub(1).filter(|_| !made.is_empty()) else { return 0..0 };
        let start = made.start.saturating_mul(self.stride).saturating_sub(self.padding);
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
