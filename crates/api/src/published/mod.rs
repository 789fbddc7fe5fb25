//! Published algorithms on the user's own network, board and costs.

mod co_scheduled;
mod comparison;
mod found_plan;
mod instance;
mod mapped;
mod pipelines;
mod plan;
mod processors;
#[cfg(feature = "highs")]
mod programs;
#[cfg(not(feature = "highs"))]
#[path = "no_programs.rs"]
mod programs;

pub use comparison::{PublishedComparison, PublishedRow, compare_published};
pub use found_plan::{PublishedPlan, SearchWork};
pub use plan::plan_published;
