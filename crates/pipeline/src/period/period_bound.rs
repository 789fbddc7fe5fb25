//! The bound on the period of pipelines with teams, to hold what a search found against.

use millstream_cost::Nanoseconds;

use crate::error::PipelineError;
use crate::period::period_search::shortest_period;
use crate::problem::Problem;
use crate::problem::known_options::OptionCache;
use crate::teams::team_way::TeamTimeKind;

/// A period that no pipeline of a [`Problem`] goes below. These are the pipelines that it holds for:
///
/// - Each stage is a range of blocks on a processor or a team of the problem, or on replicas of these; a team has
///   replicas beside it only where the stage's inputs would occupy no link to its clusters.
/// - A stage on a team begins and ends where all of a frame is in what one merged operator made.
/// - Teams share the operators of each subgraph in any way, whole, divided by output channels or into tiles; operators of
///   different subgraphs are divided together into tiles only.
///
/// It is what the search for the shortest period finds if every team takes no more than its lower bound. That of a
/// subgraph is the longer of its longest path, each operator at its fastest or divided as well as can be, and of the
/// work of all its operators by dual prices; where it may be divided into tiles, only the latter counts. What trials have
/// shown of teams does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodBound(pub Nanoseconds);

impl PeriodBound {
    /// The bound of a problem.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no division into stages can run every operator.
    pub fn of(problem: &Problem) -> Result<Self, PipelineError> {
        // With options of its own, so that a search may go on meanwhile; teams that it evaluates don't change a bound.
        let mut least = problem.with_team_times(TeamTimeKind::Least);
        least.known_options = OptionCache::default();
        shortest_period(&least).map(|least| Self(least.period))
    }
}
