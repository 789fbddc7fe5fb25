//! Problems with teams: several processors that may own a stage together.

use std::sync::Arc;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::Chain;

use crate::error::PipelineError;
use crate::inputs::ProblemInputs;
use crate::problem::Problem;
use crate::teams::context::TeamContext;
use crate::teams::effort::Effort;
use crate::teams::team::Team;
use crate::teams::team_bounds::DualPrices;
use crate::teams::team_way::TeamWay;
use crate::ways::way::WayId;

impl Problem {
    /// As [`Problem::new`], with stages that several processors own together as well: operators that do not depend on
    /// each other run side by side, and single operators are divided by output channels where that helps. `teams` names
    /// the processors of each; [`teams_of()`](crate::teams_of()) lists sensible ones.
    ///
    /// A team's stage starts and ends where all of the frame is in the values of one merged operator. How a team runs a
    /// stage is found by the searches, where it may matter: before that there is a bound on the time that it takes. A
    /// stage may have several teams as replicas, beside single processors.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn with_teams(
        graph: &Graph,
        chain: &Chain,
        board: &Board,
        table: &CostTable,
        teams: &[Vec<ProcessorClass>],
    ) -> Result<Self, PipelineError> {
        Self::with_teams_and_effort(ProblemInputs { graph, chain, board, table }, teams, Effort::USUAL)
    }

    /// As [`Problem::with_teams`], for searches that put more effort into teams, or less.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn with_teams_and_effort(
        inputs: ProblemInputs<'_>,
        teams: &[Vec<ProcessorClass>],
        effort: Effort,
    ) -> Result<Self, PipelineError> {
        let ProblemInputs { graph, chain, board, table } = inputs;
        Ok(Self::new(graph, chain, board, table)?.joined_by(teams, inputs, effort))
    }

    /// The problem, which was made from these inputs, with teams of these processors.
    pub(crate) fn joined_by(
        mut self,
        teams: &[Vec<ProcessorClass>],
        inputs: ProblemInputs<'_>,
        effort: Effort,
    ) -> Self {
        if teams.is_empty() {
            return self;
        }
        let context = Arc::new(TeamContext::new(inputs, &self.processors.kinds, effort));
        for classes in teams {
            let Some(cores) = self.cores_of(classes) else { continue };
            if let Some(team) = Team::new(&context, classes.clone()) {
                self.teams.push(TeamWay { cores, team: Arc::new(team), factor: 1.0 });
            }
        }
        self
    }

    /// Whether several processors may own a stage together.
    pub fn has_teams(&self) -> bool {
        !self.teams.is_empty()
    }

    /// The teams, with the dual prices that prove the bounds on their times.
    pub fn team_dual_prices(&self) -> impl Iterator<Item = (&[ProcessorClass], &DualPrices)> {
        self.teams.iter().map(|way| (way.team.classes.as_slice(), way.team.dual_prices()))
    }

    /// The problem without stages that several processors own together.
    #[must_use]
    pub fn without_teams(mut self) -> Self {
        self.teams.clear();
        self
    }

    /// Multiplies all times of a team by a factor without a unit: the ratio of measured to predicted times that running
    /// one of its stages showed. A factor that is not a finite number above 0 changes nothing.
    pub fn scale_team(&mut self, classes: &[ProcessorClass], factor: f64) {
        let is_factor = factor.is_finite() && factor > 0.0;
        for way in self.teams.iter_mut().filter(|way| is_factor && way.team.classes == classes) {
            way.factor *= factor;
        }
    }

    /// The team of this way; `None` for a single processor.
    pub(crate) fn team(&self, way: WayId) -> Option<&Team> {
        self.teams.get(way.index().checked_sub(self.processors.classes.len())?).map(|way| &*way.team)
    }
}
