//! Whom a stage takes its frames from, as far as that changes what it pays.

use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, LinkCost, ProcessorIndex};
use millstream_partition::BlockId;
use millstream_schedule::Entry;

/// The clusters of a stage as the one after it sees them: a set of kinds of clusters, all of which hand over at the same cost whoever
/// receives. Of a problem without links there is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Senders(usize);

impl Senders {
    /// Stands before the first stage, which takes its frames over from nobody.
    pub(crate) const NETWORK: Self = Self(0);

    /// The first so many of all sets.
    pub(crate) fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// Its place among all sets of kinds.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Kinds of clusters.
#[derive(Debug, Clone)]
pub(crate) struct SenderKinds {
    /// The kind of each cluster.
    kind_of: Vec<usize>,
    /// The clusters of each kind.
    members: Vec<Vec<Member>>,
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

    /// Tells clusters apart that reach some other over different links. `clusters` are their first classes, with their numbers of cores.
    pub(crate) fn new(table: &CostTable, clusters: &[(ProcessorIndex, usize)]) -> Self {
        // What a cluster of one core hands over to itself does not matter: it is in one stage only.
        let row = |from: usize| -> Vec<Option<Option<LinkCost>>> {
            let link = |to: usize| {
                let link = table.link(clusters[from].0, clusters[to].0);
                (from != to || clusters[from].1 > 1 || link.is_some()).then_some(link)
            };
            (0..clusters.len()).map(link).collect()
        };
        let mut kinds: Vec<Vec<Option<Option<LinkCost>>>> = Vec::new();
        let mut kind_of = Vec::with_capacity(clusters.len());
        let mut members: Vec<Vec<Member>> = Vec::new();
        for from in 0..clusters.len() {
            let own = row(from);
            let agrees = |kind: &Vec<Option<Option<LinkCost>>>| {
                kind.iter().zip(&own).all(|(known, own)| known.is_none() || own.is_none() || known == own)
            };
            let kind = kinds.iter().position(agrees).unwrap_or_else(|| {
                kinds.push(vec![None; clusters.len()]);
                members.push(Vec::new());
                kinds.len() - 1
            });
            kinds[kind].iter_mut().zip(own).for_each(|(known, own)| *known = known.or(own));
            let class = table.classes()[clusters[from].0.index()].clone();
            members[kind].push(Member { class, is_single: clusters[from].1 == 1 });
            kind_of.push(kind);
        }
        Self { kind_of, members }
    }

    /// One sender for all stages but the first, whatever comes before them.
    pub(crate) fn only(class: ProcessorClass, clusters: usize) -> Self {
        Self { kind_of: vec![0; clusters], members: vec![vec![Member { class, is_single: false }]] }
    }

    /// All sets of kinds.
    pub(crate) fn all(&self) -> impl Iterator<Item = Senders> + use<> {
        (0..(1_usize << self.members.len()) - 1).map(Senders)
    }

    /// The set of a stage on these clusters.
    pub(crate) fn of(&self, clusters: impl Iterator<Item = usize>) -> Senders {
        let mask = clusters.fold(0_usize, |mask, cluster| mask | 1 << self.kind_of[cluster]);
        Senders(mask.saturating_sub(1))
    }

    /// How a stage on clusters of these labels is entered that starts at this block.
    pub(crate) fn entry(&self, senders: Senders, start: BlockId, receivers: &[&str]) -> Entry {
        if start.index() == 0 {
            return Entry::Network;
        }
        let mask = senders.0 + 1;
        let kinds = self.members.iter().enumerate().filter(|(kind, _)| mask >> kind & 1 == 1);
        let is_other = |member: &&Member| !member.is_single || !receivers.contains(&member.class.cluster.as_str());
        let members = kinds.flat_map(|(_, members)| members.iter()).filter(is_other);
        Entry::Stage { senders: members.map(|member| member.class.clone()).collect() }
    }
}
