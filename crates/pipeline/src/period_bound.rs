//! How far the best pipeline of a search's space can be from what was found.

use millstream_cost::Nanoseconds;

use crate::period::shortest_period;
use crate::team_way::Reading;
use crate::{PipelineError, Problem};

/// A period that no pipeline of a [`Problem`] goes below: none whose stages are ranges of blocks on processors and teams of the problem, or
/// replicas of these (of a team only where the stage's inputs would occupy no link to its clusters), however the teams share the operators of each subgraph among them, whole, divided by output
/// channels or by rows. Stages on teams begin and end where all of a frame is in what one merged operator made; operators of different
/// subgraphs are divided together by rows only.
///
/// It is what the search for the shortest period finds if every team takes no more than its lower bound: of each subgraph, the longest path,
/// each operator at its fastest or divided as well as can be, or the work of all operators by what it is worth;
/// of subgraphs that may be divided by rows, the latter. What trials have shown of teams does
/// not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodBound(pub Nanoseconds);

impl PeriodBound {
    /// The bound of a problem.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no division into stages can run every operator.
    pub fn of(problem: &Problem) -> Result<Self, PipelineError> {
        shortest_period(&problem.reading(Reading::Least)).map(|least| Self(least.period))
    }
}
