//! What tiles of rows take.

use crate::{CostTable, Nanoseconds, ProcessorIndex};

/// How an operator's time depends on how many rows of its output a processor makes.
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
}

impl RowCost {
    /// What a tile takes of an operator whose time for all rows is this. It is never less than the tile's share of that time.
    pub fn time(&self, whole: Nanoseconds, rows: usize, of: usize, place: TilePlace) -> Nanoseconds {
        let share = rows as f64 / of.max(1) as f64;
        let fixed = self.fixed_fraction.clamp(0.0, 1.0);
        let own = whole.0 as f64 * (fixed + (1.0 - fixed) * share).min(1.0);
        let read = if place.is_head { self.start.0 as f64 + self.read.0 as f64 * share } else { 0.0 };
        let write = if place.is_last { self.write.0 as f64 * share } else { 0.0 };
        Nanoseconds((own + read + write).round() as u64)
    }
}

impl CostTable {
    /// How an operator's time depends on its rows; `None` if the processor makes no tiles.
    pub fn rows(&self, processor: ProcessorIndex, operator: usize) -> Option<RowCost> {
        self.row_costs.get(self.place(processor, operator)).copied().flatten()
    }

    /// Sets how an operator's time depends on its rows.
    pub fn set_rows(&mut self, processor: ProcessorIndex, operator: usize, rows: RowCost) {
        let place = self.place(processor, operator);
        self.row_costs[place] = Some(rows);
    }

    /// The same costs where no processor makes tiles.
    #[must_use]
    pub fn without_tiles(mut self) -> Self {
        self.row_costs.fill(None);
        self
    }

    /// Time of an operator in a tile that has so many of its rows. `None` if the processor does not support it, or makes no tiles.
    pub fn tile_time(
        &self,
        processor: ProcessorIndex,
        operator: usize,
        rows: usize,
        of: usize,
        place: TilePlace,
    ) -> Option<Nanoseconds> {
        let whole = self.time(processor, operator)?;
        Some(self.rows(processor, operator)?.time(whole, rows, of, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_takes_its_share_and_what_borders_cost() {
        let [start, read, write] = [100, 40, 80].map(Nanoseconds);
        let cost = RowCost { fixed_fraction: 0.2, start, read, write };
        let time = |rows, is_head, is_last| cost.time(Nanoseconds(1000), rows, 10, TilePlace { is_head, is_last }).0;
        assert_eq!([time(5, false, false), time(10, false, false)], [600, 1000]);
        assert_eq!([time(5, true, false), time(5, false, true)], [600 + 100 + 20, 600 + 40]);
    }
}
