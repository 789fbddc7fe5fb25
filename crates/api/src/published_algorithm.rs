//! The published algorithms by name.

use std::fmt;
use std::str::FromStr;

use millstream_pipeline::ParaPipeStrategy;
use millstream_schedule::Objective;

/// An algorithm that others published, as it makes a schedule for any network on any board that it suits.
///
/// Searches that run schedules to learn from them are in [`TuneAlgorithm`](crate::TuneAlgorithm).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublishedAlgorithm {
    /// Pipe-it's three nested heuristics (Wang et al., TCAD 2020, algorithms 1 to 3): a pipeline on the cores of
    /// clusters, without replicas. Accelerators are left out, as in the paper.
    PipeIt,
    /// Para-Pipe's choice among all ways to deal whole processors out to stages and to cut the network (Zhang et al.,
    /// sections III-B and V-B). Within stages of several processors, subgraphs are mapped by our own mapper; as in the
    /// paper, no operator is divided.
    ParaPipe(ParaPipeStrategy),
    /// Para-Pipe's coarse integer program (equations 1 and 2) for every subgraph, on all processors as one stage.
    CoarseIlp,
    /// Para-Pipe's fine integer program (equations 3 to 7) for every subgraph, on all processors as one stage. Its
    /// solver is stopped by the clock, so that a slower computer may find another schedule.
    FineIlp,
    /// HEFT (Topcuoglu et al., TPDS 2002): the whole network's operators by upward rank, each where it ends first, as
    /// one stage.
    Heft,
    /// CPOP (the same): the critical path on one processor, as one stage.
    Cpop,
    /// One operator after the other, each on the processor that suits it where that pays for the transfer, as one
    /// stage. Operators of branches that end up on several processors do run at once.
    LayerSwitched,
    /// Every convolution's output channels in proportion to the speeds of a CPU and an accelerator (Kim et al., IEEE
    /// Access 2020, equations 12 and 13), the rest on the CPU, as one stage.
    CoScheduling,
}

impl PublishedAlgorithm {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::PipeIt,
        Self::ParaPipe(ParaPipeStrategy::PipeOnly),
        Self::ParaPipe(ParaPipeStrategy::ParaOnly),
        Self::ParaPipe(ParaPipeStrategy::HybridLatency),
        Self::ParaPipe(ParaPipeStrategy::HybridThroughput),
        Self::ParaPipe(ParaPipeStrategy::Balanced),
        Self::CoarseIlp,
        Self::FineIlp,
        Self::Heft,
        Self::Cpop,
        Self::LayerSwitched,
        Self::CoScheduling,
    ];

    /// Its name in commands and in schedule files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PipeIt => "pipe-it",
            Self::ParaPipe(ParaPipeStrategy::PipeOnly) => "para-pipe-pipe-only",
            Self::ParaPipe(ParaPipeStrategy::ParaOnly) => "para-pipe-para-only",
            Self::ParaPipe(ParaPipeStrategy::HybridLatency) => "hybrid-l",
            Self::ParaPipe(ParaPipeStrategy::HybridThroughput) => "hybrid-t",
            Self::ParaPipe(ParaPipeStrategy::Balanced) => "para-pipe-balanced",
            Self::CoarseIlp => "coarse-ilp",
            Self::FineIlp => "fine-ilp",
            Self::Heft => "heft",
            Self::Cpop => "cpop",
            Self::LayerSwitched => "layer-switched",
            Self::CoScheduling => "co-scheduling",
        }
    }

    /// Where it was published.
    pub fn source(self) -> &'static str {
        match self {
            Self::PipeIt => "Wang et al., TCAD 2020, algorithms 1 to 3",
            Self::ParaPipe(_) => "Zhang et al., Para-Pipe, sections III-B and V-B",
            Self::CoarseIlp => "Zhang et al., Para-Pipe, equations 1 and 2",
            Self::FineIlp => "Zhang et al., Para-Pipe, equations 3 to 7",
            Self::Heft | Self::Cpop => "Topcuoglu et al., TPDS 2002",
            Self::LayerSwitched => "Zhang et al., Para-Pipe, section VII-A",
            Self::CoScheduling => "Kim et al., IEEE Access 2020, equations 12 and 13",
        }
    }

    /// What it makes small, first of all.
    pub fn objective(self) -> Objective {
        match self {
            Self::PipeIt | Self::ParaPipe(ParaPipeStrategy::PipeOnly | ParaPipeStrategy::HybridThroughput) => {
                Objective::Throughput
            }
            Self::ParaPipe(ParaPipeStrategy::Balanced) => Objective::Balanced,
            Self::ParaPipe(ParaPipeStrategy::ParaOnly | ParaPipeStrategy::HybridLatency)
            | Self::CoarseIlp
            | Self::FineIlp
            | Self::Heft
            | Self::Cpop
            | Self::LayerSwitched
            | Self::CoScheduling => Objective::Latency,
        }
    }
}

impl fmt::Display for PublishedAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for PublishedAlgorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.name() == text);
        found.ok_or_else(|| format!("'{text}' is no published algorithm; there are {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_all_different() {
        for algorithm in PublishedAlgorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
            assert!(!algorithm.source().is_empty());
        }
        assert!("heft2".parse::<PublishedAlgorithm>().is_err_and(|error| error.contains("hybrid-l")));
    }
}
