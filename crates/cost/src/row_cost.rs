//! What an operator takes that is divided into tiles.

use crate::nanoseconds::Nanoseconds;

/// How an operator's time depends on how many rows of its output a processor makes. Columns and heads are taken to be as
/// dear as rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowCost {
    /// Part of the operator's time that does not become shorter with fewer rows, from 0 to 1.
    pub fixed_fraction: f64,
    /// What starting a tile with this operator takes, whatever its rows.
    pub start: Nanoseconds,
    /// What bringing its input into its own layout takes if it is the first of a tile; for all rows.
    pub read: Nanoseconds,
    /// What bringing its output back and writing it to its place takes if it is the last of a tile; for all rows.
    pub write: Nanoseconds,
}

/// Where in a tile an operator stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TilePlace {
    /// Whether it is the first one.
    pub is_head: bool,
    /// Whether it is the last one.
    pub is_last: bool,
    /// Whether every tile reads the whole input, as heads read all tokens.
    pub reads_whole: bool,
}

impl RowCost {
    /// What a tile takes of an operator whose time for all rows is this. It is never less than the tile's share of that
    /// time.
    pub fn time(&self, whole: Nanoseconds, rows: usize, of: usize, place: TilePlace) -> Nanoseconds {
        let share = rows as f64 / of.max(1) as f64;
        let fixed = self.fixed_fraction.clamp(0.0, 1.0);
        let computing = whole.0 as f64 * (fixed + (1.0 - fixed) * share).min(1.0);
        let read_share = if place.reads_whole { 1.0 } else { share };
        let read = if place.is_head { self.start.0 as f64 + self.read.0 as f64 * read_share } else { 0.0 };
        let write = if place.is_last { self.write.0 as f64 * share } else { 0.0 };
        Nanoseconds::rounded(computing + read + write)
    }
}
