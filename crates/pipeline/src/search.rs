//! What searches on costs have in common, and the search for the shortest period as one of them.

use crate::best_period;
use crate::error::PipelineError;
use crate::plan::Plan;
use crate::problem::Problem;

/// A way to find a pipeline with a high throughput.
pub trait Search {
    /// A short name for tables.
    fn name(&self) -> &'static str;

    /// Finds a pipeline.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if it finds none that can run every operator.
    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError>;
}

/// The shortest period of contiguous stages on single processors and replicas, exactly but for memory and links, and
/// with teams the shortest that was found ([`best_period()`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestPeriod;

impl Search for ShortestPeriod {
    fn name(&self) -> &'static str {
        "shortest-period"
    }

    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError> {
        best_period(problem)
    }
}
