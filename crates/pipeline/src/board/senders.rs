//! Sender sets: the clusters that a stage receives its frames from, as far as they change what it pays.

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, CostTable, LinkCost};
use millstream_partition::BlockId;
use millstream_schedule::Entry;

use crate::board::cluster_id::ClusterId;

/// The clusters of a stage as the one after it sees them: a set of kinds of clusters, all of which hand over at the
/// same cost to every receiver. Of a problem without links there is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Senders(usize);

impl Senders {
    /// The network's input, before the first stage. Before later stages, the same number is the set of the first kind:
    /// only the first stage begins at the first block, so the two never meet.
    pub(crate) const NETWORK: Self = Self(0);

    /// Whether a stage that begins with this block may have these senders: the first stage has only the network.
    pub(crate) fn may_send_to(self, start: BlockId) -> bool {
        start.index() > 0 || self == Self::NETWORK
    }

    /// The first so many of all sets.
    pub(crate) fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// Its place among all sets of kinds.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Kinds of clusters: those of one kind hand over at the same cost to every receiver.
#[derive(Debug, Clone)]
pub(crate) struct SenderKinds {
    /// The kind of each cluster.
    kind_of: Vec<usize>,
    /// The clusters of each kind.
    members: Vec<Vec<Member>>,
}

/// A cluster by its smallest class, that of a single core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterClass {
    pub(crate) class_id: ClassId,
    /// The number of cores of the cluster.
    pub(crate) cores: usize,
}

/// The links from clusters of one kind to each cluster.
type LinkRow = Vec<KindLink>;

/// The link from clusters of one kind to a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
enum KindLink {
    /// Nothing goes there, so that any link will do.
    Any,
    /// This link, or none that is known.
    Known(Option<LinkCost>),
}

impl KindLink {
    fn agrees_with(self, other: Self) -> bool {
        self == Self::Any || other == Self::Any || self == other
    }

    /// What both know.
    fn or(self, other: Self) -> Self {
        if self == Self::Any { other } else { self }
    }
}

#[derive(Debug, Clone)]
struct Member {
    /// The cluster, as its class of one core.
    class: ProcessorClass,
    /// Whether it has no other core, so that it is in one stage only.
    is_single: bool,
}

impl SenderKinds {
    /// More kinds than this make more sets of them than a search can go through.
    pub(crate) const MOST: usize = 6;

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    /// Tells clusters apart that reach some other over different links.
    pub(crate) fn new(table: &CostTable, clusters: &[ClusterClass]) -> Self {
        // What a cluster of one core hands over to itself does not matter: it is in one stage only.
        let row = |from: ClusterId| -> LinkRow {
            let sender = clusters[from.index()];
            let link = |to: ClusterId| {
                let link = table.link(sender.class_id, clusters[to.index()].class_id);
                let matters = from != to || sender.cores > 1 || link.is_some();
                if matters { KindLink::Known(link) } else { KindLink::Any }
            };
            ClusterId::all(clusters.len()).map(link).collect()
        };

        let mut kinds: Vec<LinkRow> = Vec::new();
        let mut kind_of = Vec::with_capacity(clusters.len());
        let mut members: Vec<Vec<Member>> = Vec::new();
        for (from, cluster) in ClusterId::all(clusters.len()).zip(clusters) {
            let links = row(from);
            let agrees = |kind: &LinkRow| kind.iter().zip(&links).all(|(known, &link)| known.agrees_with(link));
            let kind = kinds.iter().position(agrees).unwrap_or_else(|| {
                kinds.push(vec![KindLink::Any; clusters.len()]);
                members.push(Vec::new());
                kinds.len() - 1
            });

            kinds[kind].iter_mut().zip(links).for_each(|(known, link)| *known = known.or(link));
            let class = table.classes()[cluster.class_id.index()].clone();
            members[kind].push(Member { class, is_single: cluster.cores == 1 });
            kind_of.push(kind);
        }
        Self { kind_of, members }
    }

    /// One sender for all stages but the first, whatever comes before them.
    pub(crate) fn only(class: ProcessorClass, cluster_count: usize) -> Self {
        Self { kind_of: vec![0; cluster_count], members: vec![vec![Member { class, is_single: false }]] }
    }

    /// All sets of kinds.
    pub(crate) fn all(&self) -> impl Iterator<Item = Senders> + use<> {
        (0..(1_usize << self.members.len()) - 1).map(Senders)
    }

    /// The set of a stage on these clusters.
    pub(crate) fn of(&self, clusters: impl Iterator<Item = ClusterId>) -> Senders {
        let mask = clusters.fold(0_usize, |mask, cluster| mask | 1 << self.kind_of[cluster.index()]);
        Senders(mask.saturating_sub(1))
    }

    /// How a stage on clusters of these labels is entered that starts at this block.
    pub(crate) fn entry(&self, senders: Senders, start: BlockId, receivers: &[&str]) -> Entry {
        match start.index() {
            0 => Entry::Network,
            _ => Entry::Stage { senders: self.sending_to(senders, receivers) },
        }
    }

    /// The classes of a set that a stage on clusters of these labels may take frames over from: a cluster of one core
    /// is not in both stages.
    pub(crate) fn sending_to(&self, senders: Senders, receivers: &[&str]) -> Vec<ProcessorClass> {
        let mask = senders.0 + 1;
        let kinds = self.members.iter().enumerate().filter(|(kind, _)| mask >> kind & 1 == 1);
        let is_other = |member: &&Member| !member.is_single || !receivers.contains(&member.class.cluster.as_str());
        let members = kinds.flat_map(|(_, members)| members.iter()).filter(is_other);
        members.map(|member| member.class.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use millstream_cost::HandOver;

    use super::*;

    /// Two clusters of one core each, and a third one. Each of the two reaches the others over links of one cost, and
    /// hands over nothing to itself: they are of one kind, whichever comes first.
    #[test]
    fn links_that_nothing_goes_over_tell_no_clusters_apart() {
        let classes = ["A", "B", "C"].map(|label| ProcessorClass::new(label, 1));
        let mut table = CostTable::new(1, classes);
        let ids: Vec<ClassId> = table.class_ids().collect();
        let link = |seconds| LinkCost {
            hand_over: HandOver { seconds, seconds_per_byte: 0.0 },
            occupied_seconds_per_byte: 0.0,
        };
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2)] {
            table.set_link(ids[from], ids[to], link(1e-3));
        }
        let clusters: Vec<ClusterClass> = ids.iter().map(|&class_id| ClusterClass { class_id, cores: 1 }).collect();
        // C, from which no link is known, is a kind of its own.
        assert_eq!(SenderKinds::new(&table, &clusters).count(), 2);

        table.set_link(ids[1], ids[2], link(2e-3));
        assert_eq!(SenderKinds::new(&table, &clusters).count(), 3);
    }
}
