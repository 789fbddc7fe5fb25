//! What a published algorithm found for a network on a board.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Schedule, ScheduleDocument};

use crate::published::algorithm::{PublishedAlgorithm, SearchWork};

/// The schedule that a published algorithm made for a network on a board.
#[derive(Debug, Clone)]
pub struct PublishedPlan {
    /// The algorithm.
    pub algorithm: PublishedAlgorithm,
    /// The schedule.
    pub schedule: Schedule,
    /// Its file, with what it should achieve by the same costs and rules as every other schedule.
    pub document: ScheduleDocument,
    /// The costs that it was made from.
    pub table: CostTable,
    /// A period that no schedule on the board goes below under these costs.
    pub bound: Nanoseconds,
    /// What the algorithm looked at.
    pub work: SearchWork,
}
