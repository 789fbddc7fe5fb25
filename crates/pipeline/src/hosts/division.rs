//! Which blocks each host may have.

use std::ops::Range;

use super::SystemProblem;

/// The blocks that each host of a system may run. The blocks of a stage are all its host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostDivision {
    /// Per host.
    spans: Vec<Range<usize>>,
    /// Whether a host may have several stages.
    has_pipelines: bool,
}

impl HostDivision {
    /// Every host may run everything but those at these places, which run nothing.
    pub fn without(problem: &SystemProblem, places: &[usize]) -> Self {
        let span = |host: usize| if places.contains(&host) { 0..0 } else { 0..problem.blocks };
        Self { spans: (0..problem.hosts.len()).map(span).collect(), has_pipelines: true }
    }

    /// One host runs everything; `place` is its place among the hosts.
    pub fn only(problem: &SystemProblem, place: usize) -> Self {
        let span = |host: usize| if host == place { 0..problem.blocks } else { 0..0 };
        Self { spans: (0..problem.hosts.len()).map(span).collect(), has_pipelines: true }
    }

    /// Every host has a part of the blocks in proportion to its share, one after the other in the order of the hosts: as programs divide
    /// networks by numbers of layers or by memory.
    pub fn by_shares(problem: &SystemProblem, shares: &[f64]) -> Self {
        let total: f64 = shares.iter().sum();
        let blocks = problem.blocks as f64;
        let (mut given, mut begin) = (0.0, 0);
        let mut span = |share: &f64| {
            given += share;
            let end = if total > 0.0 { (given / total * blocks).round() as usize } else { 0 };
            std::mem::replace(&mut begin, end)..end
        };
        Self { spans: shares.iter().take(problem.hosts.len()).map(&mut span).collect(), has_pipelines: true }
    }

    /// As many blocks for each host, but for those at these places, which have none.
    pub fn equal(problem: &SystemProblem, without: &[usize]) -> Self {
        Self::by_shares_of(problem, without, |_| 1.0)
    }

    /// Blocks in proportion to the memories of the hosts, but for those at these places, which have none; nor has a host whose memory is not
    /// known.
    pub fn by_memory(problem: &SystemProblem, without: &[usize]) -> Self {
        Self::by_shares_of(problem, without, |place| {
            problem.hosts[place].own().capacity.as_ref().map_or(0.0, |own| own.bytes() as f64)
        })
    }

    fn by_shares_of(problem: &SystemProblem, without: &[usize], share: impl Fn(usize) -> f64) -> Self {
        let share = |place: usize| if without.contains(&place) { 0.0 } else { share(place) };
        Self::by_shares(problem, &(0..problem.hosts.len()).map(share).collect::<Vec<_>>())
    }

    /// The same with one stage per host at the most.
    #[must_use]
    pub fn with_single_stages(self) -> Self {
        Self { has_pipelines: false, ..self }
    }

    /// Whether a host may have several stages.
    pub(super) fn has_pipelines(&self) -> bool {
        self.has_pipelines
    }

    /// The blocks of each host, counted from 0.
    pub fn spans(&self) -> &[Range<usize>] {
        &self.spans
    }

    /// Whether a host may run a stage of these blocks.
    pub(super) fn allows(&self, host: usize, start: usize, end: usize) -> bool {
        self.spans.get(host).is_some_and(|span| span.start <= start && end <= span.end)
    }
}
