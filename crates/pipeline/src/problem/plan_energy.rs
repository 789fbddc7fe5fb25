//! What frames cost in energy.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;
use millstream_schedule::replica_rates;

use crate::board::senders::Senders;
use crate::board::stage_power::StagePower;
use crate::plan::nanojoules::Nanojoules;
use crate::plan::{Plan, PlannedStage};
use crate::problem::Problem;
use crate::teams::team_way::TeamTimeKind;
use crate::ways::replica_link::ReplicaLink;
use crate::ways::way::WayId;

/// Power of a stage whose replicas take frames as often as they and their links can.
pub(crate) fn replicated_power(replicas: &[StagePower], times: &[Nanoseconds], links: &[ReplicaLink]) -> StagePower {
    let rates = replica_rates(times, links);
    let rate: f64 = rates.iter().sum();
    let more: f64 = replicas.iter().zip(&rates).map(|(power, rate)| power.dynamic_joules * rate).sum();
    let idle_watts = replicas.iter().map(|power| power.idle_watts).sum();
    StagePower { dynamic_joules: more / rate, idle_watts }
}

impl Problem {
    /// The energy of a frame through a plan, by the plan's times; `None` if the power of one of its processors is not
    /// known.
    pub fn energy(&self, plan: &Plan) -> Option<Nanojoules> {
        let mut joules = 0.0;
        let mut senders = Senders::NETWORK;
        for stage in &plan.stages {
            let ways = self.ways_of(stage)?;
            let StagePower { dynamic_joules, idle_watts } = self.stage_power(stage, &ways, senders)?;
            joules += dynamic_joules + idle_watts * plan.period.seconds();
            senders = self.senders(&ways);
        }
        Some(Nanojoules::from_joules(joules))
    }

    fn stage_power(&self, stage: &PlannedStage, ways: &[WayId], senders: Senders) -> Option<StagePower> {
        let times = stage.times();
        let power = |(&way, &time): (&WayId, &Nanoseconds)| self.way_power(way, senders, stage.blocks, time);
        let powers: Option<Vec<StagePower>> = ways.iter().zip(&times).map(power).collect();
        Some(replicated_power(&powers?, &times, &self.links(ways, senders, stage.blocks)))
    }

    /// What a class or a team draws for a frame that takes it this long. Of a stage of a team that was not evaluated,
    /// what may be hoped for, where that counts.
    pub(crate) fn way_power(
        &self,
        way: WayId,
        senders: Senders,
        blocks: BlockRange,
        time: Nanoseconds,
    ) -> Option<StagePower> {
        let Some(team) = self.team(way) else {
            return Some(self.processors.classes.get(way.index())?.power?.for_time(time));
        };
        match team.power(senders, blocks) {
            Some(predicted) => {
                let factor = time.seconds() / self.time(way, senders, blocks)?.seconds().max(1e-12);
                Some(StagePower { dynamic_joules: predicted.dynamic_joules * factor, ..predicted })
            }
            None if self.settings.team_time_kind == TeamTimeKind::Hoped => team.least_power(blocks),
            None => None,
        }
    }
}
