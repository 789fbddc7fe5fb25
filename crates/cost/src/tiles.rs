//! What tiles take.

use millstream_graph::OperatorId;

use crate::memory_limit::MemoryLimit;
use crate::nanoseconds::Nanoseconds;
use crate::row_cost::{RowCost, TilePlace};
use crate::table::{ClassId, CostTable};

/// What tiles of one operator take on a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileCost {
    whole: Nanoseconds,
    rows: RowCost,
    limit: Option<MemoryLimit>,
}

impl TileCost {
    /// Time of a tile that has so many of the operator's rows.
    pub fn time(&self, rows: usize, of: usize, place: TilePlace) -> Nanoseconds {
        let unlimited = self.rows.time(self.whole, rows, of, place);
        self.limit.map_or(unlimited, |limit| unlimited.max(limit.of_part(rows, of)))
    }
}

impl CostTable {
    /// How an operator's time depends on its rows; `None` if the processor makes no tiles.
    pub fn rows(&self, class: ClassId, operator: OperatorId) -> Option<RowCost> {
        self.row_costs.get(self.operator_cell(class, operator)).copied().flatten()
    }

    /// Sets how an operator's time depends on its rows.
    pub fn set_rows(&mut self, class: ClassId, operator: OperatorId, rows: RowCost) {
        let cell = self.operator_cell(class, operator);
        self.row_costs[cell] = Some(rows);
    }

    /// The same costs where no processor makes tiles.
    #[must_use]
    pub fn without_tiles(mut self) -> Self {
        self.row_costs.fill(None);
        self
    }

    /// What tiles of an operator take. `None` if the processor does not support it, or makes no tiles.
    pub fn tile_cost(&self, class: ClassId, operator: OperatorId) -> Option<TileCost> {
        let whole = self.unlimited_time(class, operator)?;
        let rows = self.rows(class, operator)?;
        Some(TileCost { whole, rows, limit: self.memory_limit(class, operator) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_takes_its_share_and_what_borders_cost() {
        let [start, read, write] = [100, 40, 80].map(Nanoseconds);
        let cost = RowCost { fixed_fraction: 0.2, start, read, write };
        let time = |rows, is_head, is_last| {
            cost.time(Nanoseconds(1000), rows, 10, TilePlace { is_head, is_last, reads_whole: false }).0
        };
        assert_eq!([time(5, false, false), time(10, false, false)], [600, 1000]);
        assert_eq!(time(12, false, false), 1000, "no more than all of it");
        assert_eq!([time(5, true, false), time(5, false, true)], [600 + 100 + 20, 600 + 40]);
        let of_head = TilePlace { is_head: true, is_last: false, reads_whole: true };
        assert_eq!(cost.time(Nanoseconds(1000), 5, 10, of_head).0, 600 + 100 + 40);
    }
}
