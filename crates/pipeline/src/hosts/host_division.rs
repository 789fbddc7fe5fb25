//! Which blocks each host may have.

use millstream_partition::BlockRange;

use super::SystemProblem;
use super::place::HostPlace;

/// The blocks that each host of a system may run. The blocks of a stage are all its host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostDivision {
    /// Per host, the blocks that it may run.
    spans: Vec<BlockRange>,
    /// Whether a host may have several stages.
    has_pipelines: bool,
}

impl HostDivision {
    /// Every host may run everything but those at these places, which run nothing.
    pub fn without(problem: &SystemProblem, places: &[HostPlace]) -> Self {
        let span = |host: HostPlace| if places.contains(&host) { nothing() } else { everything(problem) };
        Self { spans: problem.places().map(span).collect(), has_pipelines: true }
    }

    /// One host runs everything.
    pub fn only(problem: &SystemProblem, place: HostPlace) -> Self {
        let span = |host: HostPlace| if host == place { everything(problem) } else { nothing() };
        Self { spans: problem.places().map(span).collect(), has_pipelines: true }
    }

    /// Every host has a part of the blocks in proportion to its share, which has no unit, one after the other in the
    /// order of the hosts: as programs divide networks by numbers of layers or by memory.
    pub fn by_shares(problem: &SystemProblem, shares: &[f64]) -> Self {
        let total: f64 = shares.iter().sum();
        let blocks = problem.blocks as f64;
        let (mut given, mut begin) = (0.0, 0);
        let mut span = |share: &f64| {
            given += share;
            let end = if total > 0.0 { (given / total * blocks).round() as usize } else { 0 };
            BlockRange::from(std::mem::replace(&mut begin, end)..end)
        };
        Self { spans: shares.iter().take(problem.hosts.len()).map(&mut span).collect(), has_pipelines: true }
    }

    /// As many blocks for each host, but for those at these places, which have none.
    pub fn equal(problem: &SystemProblem, without: &[HostPlace]) -> Self {
        Self::by_shares_of(problem, without, |_| 1.0)
    }

    /// Blocks in proportion to the memories of the hosts, but for those at these places, which have none; nor has a
    /// host whose memory is not known.
    pub fn by_memory(problem: &SystemProblem, without: &[HostPlace]) -> Self {
        Self::by_shares_of(problem, without, |place| {
            problem.host(place).within().costs.capacity.as_ref().map_or(0.0, |capacity| capacity.bytes() as f64)
        })
    }

    fn by_shares_of(problem: &SystemProblem, without: &[HostPlace], share: impl Fn(HostPlace) -> f64) -> Self {
        let share = |place: HostPlace| if without.contains(&place) { 0.0 } else { share(place) };
        Self::by_shares(problem, &problem.places().map(share).collect::<Vec<_>>())
    }

    /// The division with one stage per host at the most.
    #[must_use]
    pub fn with_single_stages(self) -> Self {
        Self { has_pipelines: false, ..self }
    }

    /// Whether a host may have several stages.
    pub(super) fn has_pipelines(&self) -> bool {
        self.has_pipelines
    }

    /// The blocks that each host may run, in the order of the hosts.
    pub fn spans(&self) -> &[BlockRange] {
        &self.spans
    }

    /// Whether a host may run a stage of these blocks.
    pub(super) fn allows(&self, host: HostPlace, blocks: BlockRange) -> bool {
        self.spans.get(host.index()).is_some_and(|span| span.start() <= blocks.start() && blocks.end() <= span.end())
    }
}

/// No block at all.
fn nothing() -> BlockRange {
    BlockRange::from(0..0)
}

/// All blocks of a network.
fn everything(problem: &SystemProblem) -> BlockRange {
    BlockRange::from(0..problem.blocks)
}
