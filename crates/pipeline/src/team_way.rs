//! Ways to run a stage on a team.

use std::sync::Arc;

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::cores::Cores;
use crate::senders::Senders;
use crate::stage_times::possible;
use crate::team::{Team, TeamTime};

/// A team as a way to run stages.
#[derive(Debug, Clone)]
pub(crate) struct TeamWay {
    pub(crate) cores: Cores,
    pub(crate) team: Arc<Team>,
    /// What its times are multiplied by.
    pub(crate) factor: f64,
}

/// Which times of teams' stages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// Those that were found; what nobody has looked at is left out.
    Found,
    /// The same, and what may be hoped for of others, which is not proven.
    Hoped,
    /// The bounds of all.
    Least,
}

impl TeamWay {
    pub(crate) fn time(&self, reading: Reading, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let scaled = |time: Nanoseconds| match self.factor == 1.0 {
            true => Some(time),
            false => possible(Nanoseconds((time.0 as f64 * self.factor).round() as u64)),
        };
        match reading {
            Reading::Least => self.team.lower_bound(senders, blocks),
            Reading::Found => self.team.found(senders, blocks).and_then(scaled),
            Reading::Hoped => match self.team.time(senders, blocks) {
                TeamTime::Found(time) | TeamTime::Hoped(time) => scaled(time),
                TeamTime::Never => None,
            },
        }
    }
}
