//! The senders to the stages of a problem.

use crate::board::cluster_set::ClusterSet;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::problem::Problem;
use crate::times::stage_places::StagePlaces;
use crate::ways::prefixes::Prefixes;
use crate::ways::way::WayId;

impl Problem {
    /// All sets of clusters that a stage may take its frames over from, as far as they differ.
    pub(crate) fn all_senders(&self) -> impl Iterator<Item = Senders> + use<> {
        self.processors.kinds.all()
    }

    /// All pipelines of the first blocks.
    pub(crate) fn prefixes(&self) -> Prefixes {
        Prefixes::new(self.blocks(), self.all_senders().count())
    }

    /// All stages that there could be.
    pub(crate) fn stage_places(&self) -> StagePlaces {
        StagePlaces::new(self.blocks(), self.all_senders().count())
    }

    /// The senders to the stage after one on these cores.
    pub(crate) fn senders_on(&self, cores: Cores) -> Senders {
        let used = self.processors.counts.decode(cores);
        self.processors.kinds.of(self.clusters().filter(|cluster| used[cluster.index()] > 0))
    }

    /// The senders to the stage after one on these clusters.
    pub(crate) fn senders_on_clusters(&self, clusters: ClusterSet) -> Senders {
        self.processors.kinds.of(self.clusters().filter(|&cluster| clusters.contains(cluster)))
    }

    /// The senders to the stage after one with these replicas.
    pub(crate) fn senders(&self, ways: &[WayId]) -> Senders {
        let clusters = ways.iter().flat_map(|&way| self.processors(way)).map(|class| &class.cluster);
        self.processors.kinds.of(clusters.filter_map(|label| self.processors.cluster_named(label)))
    }
}
