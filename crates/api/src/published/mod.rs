//! Published algorithms on the user's own network, board and costs.

mod algorithm;
mod co_scheduled;
mod comparison;
mod found_plan;
mod ground;
mod mapped;
mod pipelines;
mod plan;
mod processors;
#[cfg(feature = "highs")]
mod programs;
#[cfg(not(feature = "highs"))]
#[path = "no_programs.rs"]
mod programs;

pub use algorithm::{PublishedAlgorithm, SearchWork};
pub use comparison::{PublishedComparison, PublishedRow, compare_published};
pub use found_plan::PublishedPlan;
pub use plan::plan_published;
