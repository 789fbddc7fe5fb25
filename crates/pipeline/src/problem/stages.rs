//! What a stage takes, and what it occupies of links, on whatever runs it.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cluster_id::ClusterId;
use crate::board::senders::Senders;
use crate::problem::Problem;
use crate::times::stage_times::possible;
use crate::ways::replica_link::{ClusterLink, ReplicaLink};
use crate::ways::way::WayId;

impl Problem {
    /// Time of the stage of these blocks on a class or a team that takes its frames over from these senders; `None` if
    /// it can't run there.
    #[inline]
    pub(crate) fn time(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let time = match way.index().checked_sub(self.costs.times.classes()) {
            None => self.costs.times.time(way, senders, blocks),
            Some(team) => self.teams[team].time(self.settings.team_time_kind, senders, blocks),
        };
        let crossing = self.costs.crossing.as_ref().map_or(Nanoseconds::ZERO, |crossing| crossing.of(blocks));
        possible(time? + crossing)
    }

    /// Times of replicas of a stage; `None` if one can't run it.
    pub(crate) fn times(&self, ways: &[WayId], senders: Senders, blocks: BlockRange) -> Option<Vec<Nanoseconds>> {
        ways.iter().map(|&way| self.time(way, senders, blocks)).collect()
    }

    /// What a stage occupies of the link to its cluster; zero for nothing.
    #[inline]
    pub(crate) fn link_time(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Nanoseconds {
        if way.index() < self.costs.times.classes() {
            self.costs.times.link_time(way, senders, blocks)
        } else {
            Nanoseconds::ZERO
        }
    }

    /// The clusters to which a stage of these blocks, on one of them, would occupy a link to take its frames over from
    /// these senders.
    pub(crate) fn occupied_links(&self, senders: Senders, blocks: BlockRange) -> Vec<ClusterId> {
        let is_occupied = |cluster: &ClusterId| {
            self.processors.clusters[cluster.index()].count > 0
                && self.link_time(self.class_with(*cluster, 1), senders, blocks) > Nanoseconds::ZERO
        };
        let count = if self.costs.times.have_links() { self.cluster_count() } else { 0 };
        ClusterId::all(count).filter(is_occupied).collect()
    }

    /// Whether a way has a stage for itself, in which links to these clusters are occupied: what several processors of
    /// a team take over a link that others use as well is not known.
    pub(crate) fn is_alone(&self, way: WayId, occupied: &[ClusterId]) -> bool {
        !occupied.is_empty() && self.team(way).is_some() && {
            let used = self.processors.counts.decode(self.cores(way));
            occupied.iter().any(|cluster| used[cluster.index()] > 0)
        }
    }

    /// Whether stages may occupy links, so that some teams can't have other replicas beside them in such a stage.
    pub fn has_links(&self) -> bool {
        self.costs.times.have_links()
    }

    /// What replicas of a stage occupy of links, one by one. The sender makes no difference to a stage: all links to a
    /// cluster count as one.
    pub(crate) fn links(&self, ways: &[WayId], senders: Senders, blocks: BlockRange) -> Vec<ReplicaLink> {
        let link = |&way: &WayId| {
            let time = self.link_time(way, senders, blocks);
            let class = self.cluster_of(way).filter(|_| time > Nanoseconds::ZERO)?;
            Some(ClusterLink { receiver: class.cluster, time })
        };
        let have_links = self.costs.times.have_links();
        ways.iter().map(|way| ReplicaLink(link(way).filter(|_| have_links))).collect()
    }
}
