//! The ways to run stages that a problem offers, and what each takes.

use std::slice::from_ref;

use millstream_board::ProcessorClass;
use millstream_partition::BlockRange;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::plan::{PlannedReplica, PlannedStage};
use crate::problem::Problem;
use crate::ways::way::WayId;

/// The cores of a single processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClusterCores {
    /// Its cluster, or the accelerator.
    pub(crate) cluster: ClusterId,
    /// How many of the cluster's cores it has; 1 for an accelerator.
    pub(crate) cores: usize,
}

impl Problem {
    /// All ways to run stages.
    pub(crate) fn ways(&self) -> impl Iterator<Item = WayId> + use<> {
        (0..self.processors.classes.len() + self.teams.len()).map(WayId::new)
    }

    /// The teams among them.
    pub(crate) fn team_ways(&self) -> impl Iterator<Item = WayId> + use<> {
        self.ways().skip(self.processors.classes.len())
    }

    /// The classes of a cluster, counts ascending from 1.
    pub(crate) fn classes_of(
        &self,
        cluster: ClusterId,
    ) -> impl ExactSizeIterator<Item = WayId> + DoubleEndedIterator + use<> {
        let units = &self.processors.clusters[cluster.index()];
        (units.offset..units.offset + units.count).map(WayId::new)
    }

    /// The class of so many cores, at least one, of a cluster.
    pub(crate) fn class_with(&self, cluster: ClusterId, cores: usize) -> WayId {
        WayId::new(self.processors.clusters[cluster.index()].offset + cores - 1)
    }

    /// What a single processor is made of; `None` for teams.
    pub(crate) fn cluster_of(&self, way: WayId) -> Option<ClusterCores> {
        let count = self.processors.classes.get(way.index())?.processor.count;
        let begun = self.processors.clusters.partition_point(|units| units.offset <= way.index());
        Some(ClusterCores { cluster: ClusterId::new(begun.checked_sub(1)?), cores: count })
    }

    /// The processors of a way.
    pub(crate) fn processors(&self, way: WayId) -> &[ProcessorClass] {
        match self.team(way) {
            Some(team) => &team.classes,
            None => from_ref(&self.processors.classes[way.index()].processor),
        }
    }

    /// The processors of a way with the engines that are quickest for the stage of these blocks that takes its frames
    /// over from these senders. A team has its engines in any case.
    pub(crate) fn processors_for(&self, way: WayId, senders: Senders, blocks: BlockRange) -> Vec<ProcessorClass> {
        let mut processors = self.processors(way).to_vec();
        if let (Some(ClusterCores { cluster, .. }), [single]) = (self.cluster_of(way), processors.as_mut_slice()) {
            let quickest = self.costs.times.quickest(way, senders, blocks);
            let engines = &self.processors.clusters[cluster.index()].engines;
            single.engine = engines.iter().nth(quickest).unwrap_or(single.engine);
        }
        processors
    }

    /// The cores of a way.
    pub(crate) fn cores(&self, way: WayId) -> Cores {
        match self.cluster_of(way) {
            Some(ClusterCores { cluster, cores }) => self.processors.counts.of_cluster(cluster, cores),
            None => self.teams[way.index() - self.processors.classes.len()].cores,
        }
    }

    /// The way that runs stages on these processors: a single one with whatever engine.
    pub(crate) fn way_of(&self, processors: &[&ProcessorClass]) -> Option<WayId> {
        if let [single] = processors {
            return self
                .processors
                .classes
                .iter()
                .position(|class| class.processor.has_same_cores(single))
                .map(WayId::new);
        }
        let order = |one: &&ProcessorClass, other: &&ProcessorClass| {
            (&one.cluster, one.count, one.engine).cmp(&(&other.cluster, other.count, other.engine))
        };
        let mut wanted: Vec<&ProcessorClass> = processors.to_vec();
        wanted.sort_unstable_by(order);
        let is_wanted = |way: &WayId| {
            let mut processors: Vec<&ProcessorClass> = self.processors(*way).iter().collect();
            processors.sort_unstable_by(order);
            processors == wanted
        };
        self.team_ways().find(is_wanted)
    }

    /// The ways of a stage's replicas; `None` if there is no such team.
    pub(crate) fn ways_of(&self, stage: &PlannedStage) -> Option<Vec<WayId>> {
        let way = |replica: &PlannedReplica| self.way_of(&replica.processors.iter().collect::<Vec<_>>());
        stage.replicas.iter().map(way).collect()
    }

    /// The cores of these processors together; `None` if the board does not have them all.
    pub(crate) fn cores_of(&self, classes: &[ProcessorClass]) -> Option<Cores> {
        let mut used = vec![0; self.cluster_count()];
        for class in classes {
            let cluster = self.processors.cluster_named(&class.cluster)?;
            used[cluster.index()] += class.count;
        }
        self.processors.counts.encode(&used)
    }
}
