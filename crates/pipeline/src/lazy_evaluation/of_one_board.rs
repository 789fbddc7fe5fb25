//! A problem as searches see it that have its teams evaluated.

use millstream_partition::BlockRange;

use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::lazy_evaluation::{LazyProblem, StageParts};
use crate::plan::{Plan, PlannedStage};
use crate::problem::Problem;
use crate::teams::effort::Effort;
use crate::teams::progress::SearchProgress;
use crate::teams::team_way::TeamTimeKind;
use crate::times::range_table::ranges;
use crate::ways::way::{StageWays, WayId};

impl LazyProblem for Problem {
    type Stage = StageWays;

    fn effort(&self) -> Option<Effort> {
        let first = self.teams.first().filter(|_| self.settings.team_time_kind == TeamTimeKind::Found)?;
        Some(first.team.context().effort)
    }

    fn spent(&self) -> u64 {
        self.teams.first().map_or(0, |first| first.team.context().spent())
    }

    fn should_continue(&self, progress: &SearchProgress) -> bool {
        self.settings.progress.as_ref().is_none_or(|callback| callback.should_continue(progress))
    }

    fn with_hoped_times(&self) -> Self {
        self.with_team_times(TeamTimeKind::Hoped).with_wide_steps()
    }

    fn with_wide_steps(&self) -> Self {
        let mut other = self.clone();
        other.settings.has_wide_steps = true;
        other
    }

    fn stages_of(&self, plan: &Plan) -> Option<Vec<StageWays>> {
        let ways = |stage: &PlannedStage| Some(StageWays { blocks: stage.blocks, ways: self.ways_of(stage)? });
        plan.stages.iter().map(ways).collect()
    }

    fn plan_of(&self, stages: &[StageWays]) -> Option<Plan> {
        self.plan(stages.to_vec())
    }

    fn parts_of<'s>(&'s self, stages: &'s [StageWays], place: usize) -> StageParts<'s> {
        let before = place.checked_sub(1).map(|before| &stages[before]);
        let senders = before.map_or(Senders::NETWORK, |before| self.senders(&before.ways));
        let StageWays { blocks, ways } = &stages[place];
        StageParts { problem: self, senders, blocks: *blocks, ways }
    }

    fn ways_mut(stage: &mut StageWays) -> &mut [WayId] {
        &mut stage.ways
    }
}

impl Problem {
    /// Of all teams with as many cores as one, the one that is quickest, as far as is known.
    pub(crate) fn most_promising(&self, way: WayId, senders: Senders, blocks: BlockRange) -> WayId {
        let cores = self.cores(way);
        let alike = self.team_ways().filter(|&other| self.cores(other) == cores);
        let able = alike.filter_map(|other| Some((self.time(other, senders, blocks)?, other != way, other)));
        able.min().map_or(way, |(_, _, best)| best)
    }

    /// Evaluates everything that a team could run.
    pub(crate) fn evaluate_everywhere(&self, way: WayId) -> Result<(), PipelineError> {
        let Some(team) = self.team(way) else { return Ok(()) };
        for blocks in ranges(self.blocks()) {
            while !team.evaluate_next_part(blocks)? {}
        }
        Ok(())
    }
}
