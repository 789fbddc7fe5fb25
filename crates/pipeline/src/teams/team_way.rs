//! Ways to run a stage on a team.

use std::sync::Arc;

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::teams::team::{Team, TeamTime};
use crate::times::stage_times::possible;

/// A team as a way to run stages.
#[derive(Debug, Clone)]
pub(crate) struct TeamWay {
    pub(crate) cores: Cores,
    pub(crate) team: Arc<Team>,
    /// What its times are multiplied by.
    pub(crate) factor: f64,
}

/// Which times of teams' stages a search counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TeamTimeKind {
    /// Found times; stages that were not evaluated are left out.
    Found,
    /// Found times, and of stages that were not evaluated what may be hoped for, which is not proven.
    Hoped,
    /// The proven lower bounds of all stages.
    Least,
}

impl TeamWay {
    pub(crate) fn time(&self, kind: TeamTimeKind, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let scaled = |time: Nanoseconds| {
            if self.factor == 1.0 {
                Some(time)
            } else {
                possible(Nanoseconds((time.0 as f64 * self.factor).round() as u64))
            }
        };
        match kind {
            TeamTimeKind::Least => self.team.lower_bound(senders, blocks),
            TeamTimeKind::Found => self.team.found_time(senders, blocks).and_then(scaled),
            TeamTimeKind::Hoped => match self.team.time(senders, blocks) {
                TeamTime::Found(time) | TeamTime::Hoped(time) => scaled(time),
                TeamTime::Never => None,
            },
        }
    }
}
