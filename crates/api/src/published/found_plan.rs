//! What a published algorithm found for a network on a board.

use std::fmt;

use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Schedule, ScheduleDocument};

use crate::published_algorithm::PublishedAlgorithm;

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

/// The amount of work of an algorithm's search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchWork {
    /// How many.
    pub count: u64,
    /// Of what: `states` of a pipeline that grew, `pipelines`, `operators` that were placed, integer `programs` solved,
    /// `convolutions` divided, or `rounds` of the search for teams.
    pub unit: &'static str,
}

impl fmt::Display for SearchWork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, unit } = self;
        write!(formatter, "{count} {}", if *count == 1 { unit.trim_end_matches('s') } else { unit })
    }
}
