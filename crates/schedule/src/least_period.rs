//! What no order of frames goes below.

use millstream_cost::Nanoseconds;

use crate::evaluate::{Evaluation, StageEvaluation};
use crate::service_rates::{LinkUse, OccupiedLink, replicated_period};

impl Evaluation {
    /// A bound that no execution goes below, however its stages wait for each other: [`Self::period`], but where
    /// replicas that occupy the same link for different times share it. There the period counts as if a link that holds
    /// replicas up did so in proportion to how often each would take a frame, and more may pass where those get more of
    /// them that occupy it for less. In the bound, all do.
    pub fn least_period(&self) -> Nanoseconds {
        let of_stages = self.stages.iter().map(|stage| replicated_period(&stage.replica_times));
        let of_links = self.host_links.iter().map(|link| link.period);
        let uses = self.stages.iter().flat_map(|stage| stage.link_uses.iter().flatten());
        let of_board_links = uses.map(|link| self.least_occupied(link));
        of_stages.chain(of_links).chain(of_board_links).max().unwrap_or_default()
    }

    /// The least that a frame occupies a link, over all stages.
    fn least_occupied(&self, link: &LinkUse) -> Nanoseconds {
        let of_stages = self.stages.iter().map(|stage| stage.least_occupied(link));
        of_stages.fold(Nanoseconds::ZERO, |sum, period| sum + period)
    }
}

impl StageEvaluation {
    /// The least that any replica occupies a link for a frame; nothing if one of them does without.
    fn least_occupied(&self, link: &LinkUse) -> Nanoseconds {
        let of_replica = |links: &Vec<LinkUse>| {
            links.iter().find(|other| other.is_of_same_link(link)).map_or(Nanoseconds::ZERO, |link| link.time)
        };
        self.link_uses.iter().map(of_replica).min().unwrap_or_default()
    }
}
