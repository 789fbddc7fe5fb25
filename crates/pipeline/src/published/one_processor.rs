//! The whole network on the one processor that is fastest for it.

use crate::error::PipelineError;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::search::Search;
use crate::ways::way::StageWays;

/// The fastest single processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneProcessor;

impl Search for OneProcessor {
    fn name(&self) -> &'static str {
        "one-processor"
    }

    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError> {
        let whole = problem.costs.chain.whole();
        let alone = problem.ways().filter(|&way| problem.team(way).is_none());
        let plans = alone.filter_map(|way| problem.plan(vec![StageWays::single(whole, way)]));
        plans.min_by_key(|plan| plan.latency).ok_or(PipelineError::Infeasible)
    }
}

#[cfg(test)]
mod tests {
    use millstream_partition::Chain;
    use millstream_test_support::{board, chain, table};

    use super::*;
    use crate::best_period;

    /// Small cores are quicker here, but do not run the last of the four operators.
    #[test]
    fn the_fastest_processor_that_runs_everything_is_chosen() -> Result<(), PipelineError> {
        let (graph, board) = (chain(4), board("B1+s2"));
        let table = table(&graph, &board, |operator, class| match class.cluster.as_str() {
            "B" => Some(10),
            _ => (operator.name != "o3").then_some(2),
        });
        let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table)?;

        let plan = OneProcessor.search(&problem)?;
        assert_eq!((plan.configuration().as_str(), plan.period.0, plan.latency.0), ("B1", 40, 40));
        assert!(best_period(&problem)?.period < plan.period);
        let evaluation = problem.schedule(&plan).evaluate(&graph, &table);
        assert_eq!(evaluation.map(|own| (own.period, own.latency)).ok(), Some((plan.period, plan.latency)));
        Ok(())
    }
}
