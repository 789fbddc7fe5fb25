//! The columns of the relaxation, and what they stand for.

use highs::Col;
use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;

/// What occupies a processor if its column says so: a node, or a transfer of a value.
pub(super) struct Item {
    pub(super) processor: ProcessorId,
    /// Earliest start.
    pub(super) head: Nanoseconds,
    /// Least time from its end until everything is done.
    pub(super) tail: Nanoseconds,
    pub(super) column: Column,
    /// Time for each unit of the column, in the solver's unit.
    pub(super) weight: f64,
}

/// A column of the program.
#[derive(Clone, Copy)]
pub(super) struct Column {
    /// As rows name it.
    pub(super) col: Col,
    /// The place of its value in a solution.
    pub(super) number: usize,
}

/// A processor that a node may be on, and the column that says whether it is.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) processor: ProcessorId,
    pub(super) column: Column,
}

/// A column that is one where a maker is on the one and a reader on the other processor.
pub(super) struct Product {
    pub(super) maker: ProcessorId,
    pub(super) reader: ProcessorId,
    pub(super) col: Col,
}
