//! Rows that say what a processor has to do at least, one for each part of the time that is worth a look.

use highs::Col;
use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;

use crate::programs::columns::Item;

/// What occupies one processor, starts at `head` or later and is followed by at least `tail`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoadRow {
    pub(super) head: Nanoseconds,
    pub(super) tail: Nanoseconds,
    pub(super) processor: ProcessorId,
}

impl LoadRow {
    pub(super) fn has(self, item: &Item) -> bool {
        item.processor == self.processor && item.head >= self.head && item.tail >= self.tail
    }
}

/// The row for the solver, with the least that it may be: the makespan, less what occupies the processor, is no less
/// than head and tail. `unit` has the nanoseconds in one unit of the solver.
pub(super) fn row_of(row: LoadRow, makespan: Col, items: &[Item], unit: f64) -> (f64, Vec<(Col, f64)>) {
    let loads = items.iter().filter(|item| row.has(item)).map(|item| (item.column.col, -item.weight));
    let factors = std::iter::once((makespan, 1.0)).chain(loads).collect();
    ((row.head + row.tail).0 as f64 / unit, factors)
}
