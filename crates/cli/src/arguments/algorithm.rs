//! Values of `schedule --algorithm`: Millstream's own search and the published ones.

use clap::ValueEnum;
use millstream::PublishedAlgorithm;
use millstream_pipeline::ParaPipeStrategy;

/// A scheduling algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// Millstream's own search: exact for stages on one processor each and replicas of it, unless memory or links hold
    /// stages up or the memory is too small, and within 1 % with --objective energy; a heuristic guided by estimates for
    /// teams
    #[value(name = "millstream", alias = "exact")]
    Millstream,
    /// A pipeline on the clusters' cores by splitting, flowing and merging (Wang et al., TCAD 2020, algorithms 1 to 3)
    PipeIt,
    /// One stage for each processor, highest throughput (Zhang et al., Para-Pipe, section V-B; so are the next four)
    ParaPipePipeOnly,
    /// All processors in one stage
    ParaPipeParaOnly,
    /// Several stages, at least one of them on several processors: lowest product of latency and period
    ParaPipeBalanced,
    /// Stages as in para-pipe-balanced: lowest latency
    #[value(alias = "para-pipe-hybrid-l")]
    HybridL,
    /// Stages as in para-pipe-balanced: highest throughput
    #[value(alias = "para-pipe-hybrid-t")]
    HybridT,
    /// Whole branches on processors, by an integer program for each subgraph (Para-Pipe, equations 1 and 2)
    CoarseIlp,
    /// Single operators, by an integer program for each subgraph (Para-Pipe, equations 3 to 7); its solver has a limit
    /// of some 30 s by the clock, so that a slower computer may find another schedule
    FineIlp,
    /// Operators by upward rank, each where it ends first (Topcuoglu et al., TPDS 2002), in one stage
    Heft,
    /// The critical path on one processor, the rest where it ends first (Topcuoglu et al.), in one stage
    Cpop,
    /// One operator after the other, each where it and the transfer take least, in one stage
    LayerSwitched,
    /// Channels of each convolution by the speeds of a CPU and an accelerator (Kim et al., IEEE Access 2020, equations
    /// 12 and 13), the rest on the CPU, in one stage
    CoScheduling,
    /// A table of all of them; the schedule of Millstream's own search is written
    All,
}

impl Algorithm {
    /// The published one, if it is one.
    pub(crate) fn published(self) -> Option<PublishedAlgorithm> {
        Some(match self {
            Self::Millstream | Self::All => return None,
            Self::PipeIt => PublishedAlgorithm::PipeIt,
            Self::ParaPipePipeOnly => PublishedAlgorithm::ParaPipe(ParaPipeStrategy::PipeOnly),
            Self::ParaPipeParaOnly => PublishedAlgorithm::ParaPipe(ParaPipeStrategy::ParaOnly),
            Self::ParaPipeBalanced => PublishedAlgorithm::ParaPipe(ParaPipeStrategy::Balanced),
            Self::HybridL => PublishedAlgorithm::ParaPipe(ParaPipeStrategy::HybridLatency),
            Self::HybridT => PublishedAlgorithm::ParaPipe(ParaPipeStrategy::HybridThroughput),
            Self::CoarseIlp => PublishedAlgorithm::CoarseIlp,
            Self::FineIlp => PublishedAlgorithm::FineIlp,
            Self::Heft => PublishedAlgorithm::Heft,
            Self::Cpop => PublishedAlgorithm::Cpop,
            Self::LayerSwitched => PublishedAlgorithm::LayerSwitched,
            Self::CoScheduling => PublishedAlgorithm::CoScheduling,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_the_library_use_the_same_names() {
        let named = Algorithm::value_variants().iter().filter_map(|variant| {
            let published = variant.published()?;
            assert_eq!(
                variant.to_possible_value().map(|value| value.get_name().to_owned()).as_deref(),
                Some(published.name())
            );
            Some(published)
        });
        let named: Vec<PublishedAlgorithm> = named.collect();
        assert!(PublishedAlgorithm::ALL.iter().all(|algorithm| named.contains(algorithm)));
        assert_eq!(named.len(), PublishedAlgorithm::ALL.len());
    }

    /// Whoever looks for a published one finds its paper and its file there.
    #[test]
    fn the_readme_has_a_row_for_each() {
        let readme = include_str!("../../../../README.md");
        for algorithm in Algorithm::value_variants().iter().filter(|algorithm| algorithm.published().is_some()) {
            let name = algorithm.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
            assert!(readme.contains(&format!("\n| `{name}` | ")), "the README has no row for {name}");
        }
    }
}
