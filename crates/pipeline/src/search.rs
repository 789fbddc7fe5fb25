use crate::{PipelineError, Plan, Problem, best_period};

/// A way to find a pipeline with a high throughput.
pub trait Search {
    /// What the literature calls it.
    fn name(&self) -> &'static str;

    /// Finds a pipeline.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if it finds none that can run every operator.
    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError>;
}

/// The shortest period there is ([`best_period`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestPeriod;

impl Search for ShortestPeriod {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError> {
        best_period(problem)
    }
}
