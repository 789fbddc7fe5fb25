//! Looking at what teams take where that can change a result.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::range_table::ranges;
use crate::senders::Senders;
use crate::team::TeamTime;
use crate::team_way::Reading;
use crate::way::{StageWays, WayId};
use crate::{PipelineError, Plan, Problem, SearchProgress};

/// What is no better than something known by more than this part of it is not looked at.
const NOT_WORTH: f64 = 0.005;

/// Whether a known time is so short that another, which may be hoped for, is not worth a look.
pub(crate) fn is_about_as_short(known: Nanoseconds, hoped: Nanoseconds) -> bool {
    is_about_as_little(known.0, hoped.0)
}

/// The same of any other measure that is to be small.
pub(crate) fn is_about_as_little(known: u64, hoped: u64) -> bool {
    known as f64 <= hoped as f64 * (1.0 + NOT_WORTH)
}

/// A stage's replica that nobody knows the time of.
struct Unknown {
    /// Its stage.
    stage: usize,
    /// Its place among the stage's replicas.
    replica: usize,
    /// Its team.
    way: WayId,
    senders: Senders,
}

impl Reading {
    /// A period that is enough shorter than another to be of interest.
    pub(crate) fn shorter(self, period: Nanoseconds) -> Option<u64> {
        let step = if self == Self::Hoped { (period.0 as f64 * NOT_WORTH) as u64 } else { 0 };
        period.0.checked_sub(step.max(1))
    }
}

/// Searches with hopes in place of times. Usually there is nothing left to look at before.
const MOST_ROUNDS: u64 = 10;

fn shortest(plans: &[Plan]) -> f64 {
    plans.iter().map(|plan| plan.period.0).min().map_or(f64::INFINITY, |period| period as f64)
}

/// What came of looking at a plan.
struct Look {
    /// Whether something is known that was not.
    has_found: bool,
    /// The plan with its times, if nothing that is known beats it.
    plan: Option<Plan>,
}

impl Problem {
    /// What a search says, with teams looked at as far as that can change it.
    pub(crate) fn refined(
        &self,
        search: impl Fn(&Self) -> Result<Vec<Plan>, PipelineError>,
        is_beaten: impl Fn(&Plan, &[Plan]) -> bool,
    ) -> Result<Vec<Plan>, PipelineError> {
        if self.teams.is_empty() || self.reading != Reading::Found {
            return search(self);
        }
        let known = match search(self) {
            Err(PipelineError::Infeasible) => Vec::new(),
            known => known?,
        };
        self.look_where_hopeful(known, &search, is_beaten, MOST_ROUNDS)?;
        search(self)
    }

    /// Looks at teams where that can change what a search says.
    ///
    /// The search is asked with hopes in place of all times that nobody has looked at: bounds, and what teams that were looked at took in
    /// terms of theirs. What comes out of that is looked at, until it no longer looks better than everything known (`is_beaten`) or is known
    /// itself, again and again until nothing new comes out.
    pub(crate) fn look_where_hopeful(
        &self,
        mut known: Vec<Plan>,
        search: impl Fn(&Self) -> Result<Vec<Plan>, PipelineError>,
        is_beaten: impl Fn(&Plan, &[Plan]) -> bool,
        most_rounds: u64,
    ) -> Result<(), PipelineError> {
        let Some(first) = self.teams.first().filter(|_| self.reading == Reading::Found) else { return Ok(()) };
        let hoped = self.reading(Reading::Hoped);
        let ground = first.team.ground();
        let most_rounds = ground.effort.steps(most_rounds).max(1);
        let most_spent = ground.most_spent();
        for rounds in 0..most_rounds {
            let mut is_settled = true;
            let hopes = search(&hoped)?;
            let gap = shortest(&known) / shortest(&hopes).max(1.0) - 1.0;
            if !self.goes_on(&SearchProgress { rounds, most_rounds, gap: gap.max(0.0) }) {
                break;
            }
            for plan in hopes {
                // Something has to be known in the end.
                let most = if known.is_empty() { u64::MAX } else { most_spent };
                let look = hoped.look_at(&plan, most, |plan| is_beaten(plan, &known))?;
                is_settled &= !look.has_found;
                known.extend(look.plan);
            }
            if is_settled {
                break;
            }
        }

        Ok(())
    }

    /// Looks at the teams of a plan until nothing is left to look at or the plan is beaten. If another team with as many cores looks better
    /// than one that has been looked at, it takes its place.
    fn look_at(&self, plan: &Plan, most: u64, is_beaten: impl Fn(&Plan) -> bool) -> Result<Look, PipelineError> {
        let mut look = Look { has_found: false, plan: None };
        let Some(mut stages) = self.stages_of(plan) else { return Ok(look) };
        loop {
            let Some(now) = self.plan(stages.clone()) else { return Ok(look) };
            if is_beaten(&now) {
                return Ok(look);
            }
            let Some(unknown) = self.unknown_team(&stages) else {
                return Ok(Look { plan: Some(now), ..look });
            };
            let Unknown { stage, replica, way, senders } = unknown;
            let blocks = stages[stage].0;
            let Some(team) = self.team(way).filter(|team| team.ground().spent() < most) else { return Ok(look) };
            team.look_at(blocks)?;
            look.has_found = true;
            stages[stage].1[replica] = self.most_promising(way, senders, blocks);
        }
    }

    /// Of all teams with as many cores as one, the one that is quickest, as far as is known.
    fn most_promising(&self, way: WayId, senders: Senders, blocks: BlockRange) -> WayId {
        let cores = self.cores(way);
        let alike = self.team_ways().filter(|&other| self.cores(other) == cores);
        let able = alike.filter_map(|other| Some((self.time(other, senders, blocks)?, other != way, other)));
        able.min().map_or(way, |(_, _, best)| best)
    }

    /// Looks at everything that a team could run.
    pub(crate) fn look_at_all(&self, way: WayId) -> Result<(), PipelineError> {
        let Some(team) = self.team(way) else { return Ok(()) };
        for blocks in ranges(self.blocks()) {
            while !team.look_at(blocks)? {}
        }
        Ok(())
    }

    /// A team of these stages that nobody has looked at.
    fn unknown_team(&self, stages: &[StageWays]) -> Option<Unknown> {
        let mut senders = Senders::NETWORK;
        for (stage, (blocks, ways)) in stages.iter().enumerate() {
            let is_unknown = |way: &WayId| {
                let time = self.team(*way).map(|team| team.time(senders, *blocks));
                matches!(time, Some(TeamTime::Hoped(_)))
            };
            if let Some(replica) = ways.iter().position(is_unknown) {
                return Some(Unknown { stage, replica, way: ways[replica], senders });
            }
            senders = self.senders(ways);
        }
        None
    }

    fn stages_of(&self, plan: &Plan) -> Option<Vec<StageWays>> {
        plan.stages.iter().map(|stage| Some((stage.blocks, self.ways_of(stage)?))).collect()
    }
}
