//! The ways to run stages that a problem offers, and what each takes.

use std::slice::from_ref;

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::cores::Cores;
use crate::replica_link::{ClusterLink, ReplicaLink};
use crate::senders::Senders;
use crate::stage_times::possible;
use crate::team::Team;
use crate::team_way::Reading;
use crate::way::WayId;
use crate::{PlannedReplica, PlannedStage, Problem};

impl Problem {
    /// All ways to run stages.
    pub(crate) fn ways(&self) -> impl Iterator<Item = WayId> + use<> {
        (0..self.classes.len() + self.teams.len()).map(WayId::new)
    }

    /// The teams among them.
    pub(crate) fn team_ways(&self) -> impl Iterator<Item = WayId> + use<> {
        self.ways().skip(self.classes.len())
    }

    /// The classes of a cluster, counts ascending from 1.
    pub(crate) fn classes_of(
        &self,
        cluster: usize,
    ) -> impl ExactSizeIterator<Item = WayId> + DoubleEndedIterator + use<> {
        let own = &self.clusters[cluster];
        (own.offset..own.offset + own.count).map(WayId::new)
    }

    /// The class of so many cores, at least one, of a cluster.
    pub(crate) fn class_with(&self, cluster: usize, cores: usize) -> WayId {
        WayId::new(self.clusters[cluster].offset + cores - 1)
    }

    /// The cluster of a class and its cores; `None` for teams.
    pub(crate) fn cluster_of(&self, way: WayId) -> Option<(usize, usize)> {
        let count = self.classes.get(way.index())?.count;
        let cluster = self.clusters.partition_point(|own| own.offset <= way.index()).checked_sub(1)?;
        Some((cluster, count))
    }

    /// The processors of a way.
    pub(crate) fn processors(&self, way: WayId) -> &[ProcessorClass] {
        match self.team(way) {
            Some(team) => &team.classes,
            None => from_ref(&self.classes[way.index()]),
        }
    }

    /// The processors of a way with the engines that are quickest for the stage of these blocks that takes its frames over from these
    /// senders. A team has its engines in any case.
    pub(crate) fn processors_for(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Vec<ProcessorClass> {
        let mut processors = self.processors(way).to_vec();
        if let (Some((cluster, _)), [single]) = (self.cluster_of(way), processors.as_mut_slice()) {
            let quickest = self.times.quickest(way, senders, blocks);
            single.engine = self.clusters[cluster].engines.iter().nth(quickest).unwrap_or(single.engine);
        }
        processors
    }

    /// The cores of a way.
    pub(crate) fn cores(&self, way: WayId) -> Cores {
        match self.cluster_of(way) {
            Some((cluster, cores)) => self.counts.of_cluster(cluster, cores),
            None => self.teams[way.index() - self.classes.len()].cores,
        }
    }

    /// The way that runs stages on these processors: a single one with whatever engine.
    pub(crate) fn way_of(&self, processors: &[&ProcessorClass]) -> Option<WayId> {
        if let [single] = processors {
            return self.classes.iter().position(|class| class.has_same_cores(single)).map(WayId::new);
        }
        let order = |one: &&ProcessorClass, other: &&ProcessorClass| {
            (&one.cluster, one.count, one.engine).cmp(&(&other.cluster, other.count, other.engine))
        };
        let mut wanted: Vec<&ProcessorClass> = processors.to_vec();
        wanted.sort_unstable_by(order);
        let is_wanted = |way: &WayId| {
            let mut own: Vec<&ProcessorClass> = self.processors(*way).iter().collect();
            own.sort_unstable_by(order);
            own == wanted
        };
        self.team_ways().find(is_wanted)
    }

    /// The ways of a stage's replicas; `None` if there is no such team.
    pub(crate) fn ways_of(&self, stage: &PlannedStage) -> Option<Vec<WayId>> {
        let way = |replica: &PlannedReplica| self.way_of(&replica.processors.iter().collect::<Vec<_>>());
        stage.replicas.iter().map(way).collect()
    }

    /// Time of the stage of these blocks on a class or a team that takes its frames over from these senders; `None` if it can't run there.
    #[inline]
    pub(crate) fn time(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let time = match way.index().checked_sub(self.times.classes()) {
            None => self.times.time(way, senders, blocks),
            Some(team) => self.teams[team].time(self.reading, senders, blocks),
        };
        match &self.crossing {
            None => time,
            Some(crossing) => possible(time? + crossing.of(blocks)),
        }
    }

    /// Times of replicas of a stage; `None` if one can't run it.
    pub(crate) fn times(&self, ways: &[WayId], senders: Senders, blocks: BlockRange) -> Option<Vec<Nanoseconds>> {
        ways.iter().map(|&way| self.time(way, senders, blocks)).collect()
    }

    /// What a stage occupies of the link to its cluster; zero for nothing.
    #[inline]
    pub(crate) fn link_time(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Nanoseconds {
        match way.index() < self.times.classes() {
            true => self.times.link_time(way, senders, blocks),
            false => Nanoseconds::ZERO,
        }
    }

    /// The clusters to which a stage of these blocks, on one of them, would occupy a link to take its frames over from these senders.
    pub(crate) fn occupied_links(&self, senders: Senders, blocks: BlockRange) -> Vec<usize> {
        let is_occupied = |cluster: &usize| {
            self.clusters[*cluster].count > 0
                && self.link_time(self.class_with(*cluster, 1), senders, blocks) > Nanoseconds::ZERO
        };
        let all = if self.times.have_links() { self.clusters.len() } else { 0 };
        (0..all).filter(is_occupied).collect()
    }

    /// Whether a way has a stage for itself, in which links to these clusters are occupied: what several processors of a team take over a
    /// link that others use as well is not known.
    pub(crate) fn is_alone(&self, way: WayId, occupied: &[usize]) -> bool {
        !occupied.is_empty() && self.team(way).is_some() && {
            let used = self.counts.decode(self.cores(way));
            occupied.iter().any(|&cluster| used[cluster] > 0)
        }
    }

    /// Whether stages may occupy links, so that some teams can't have other replicas beside them in such a stage.
    pub fn has_links(&self) -> bool {
        self.times.have_links()
    }

    /// What replicas of a stage occupy of links, one by one. To a stage it is the same who sends: all links to a cluster count as one.
    pub(crate) fn links(&self, ways: &[WayId], senders: Senders, blocks: BlockRange) -> Vec<ReplicaLink> {
        let link = |&way: &WayId| {
            let time = self.link_time(way, senders, blocks);
            let (receiver, _) = self.cluster_of(way).filter(|_| time > Nanoseconds::ZERO)?;
            Some(ClusterLink { receiver, time })
        };
        let have_links = self.times.have_links();
        ways.iter().map(|way| ReplicaLink(link(way).filter(|_| have_links))).collect()
    }

    /// All sets of clusters that a stage may take its frames over from, as far as they differ.
    pub(crate) fn all_senders(&self) -> impl Iterator<Item = Senders> + use<> {
        self.kinds.all()
    }

    /// What a stage on these cores is to the stage after it.
    pub(crate) fn senders_on(&self, cores: Cores) -> Senders {
        let used = self.counts.decode(cores);
        self.kinds.of((0..used.len()).filter(|&cluster| used[cluster] > 0))
    }

    /// What a stage on these clusters is to the stage after it: a bit for each.
    pub(crate) fn senders_of_mask(&self, mask: usize) -> Senders {
        self.kinds.of((0..self.clusters.len()).filter(|cluster| mask >> cluster & 1 == 1))
    }

    /// What a stage with these replicas is to the stage after it.
    pub(crate) fn senders(&self, ways: &[WayId]) -> Senders {
        let clusters = ways.iter().flat_map(|&way| self.processors(way)).map(|class| &class.cluster);
        self.kinds.of(clusters.filter_map(|label| self.clusters.iter().position(|own| own.label == *label)))
    }

    /// The team of this way; `None` for a single processor.
    pub(crate) fn team(&self, way: WayId) -> Option<&Team> {
        self.teams.get(way.index().checked_sub(self.classes.len())?).map(|own| &*own.team)
    }

    /// The same with other times of teams' stages.
    pub(crate) fn reading(&self, reading: Reading) -> Self {
        Self { reading, ..self.clone() }
    }

    /// The cores of these processors together; `None` if the board does not have them all.
    pub(crate) fn cores_of(&self, classes: &[ProcessorClass]) -> Option<Cores> {
        let mut used = vec![0; self.clusters.len()];
        for class in classes {
            let cluster = self.clusters.iter().position(|cluster| cluster.label == class.cluster)?;
            used[cluster] += class.count;
        }
        self.counts.encode(&used)
    }
}
