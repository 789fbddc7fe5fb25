use clap::ValueEnum;
use millstream::PublishedAlgorithm;
use millstream_pipeline::Strategy;

/// Who finds a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// Our search: exact for stages on one processor each and replicas of it, by bounds for teams
    Exact,
    /// A pipeline on the clusters' cores by splitting, flowing and merging (Wang et al., TCAD 2020, algorithms 1 to 3)
    PipeIt,
    /// One stage for each processor, highest throughput (Zhang et al., Para-Pipe, section V-B; so are the next four)
    ParaPipePipeOnly,
    /// All processors in one stage
    ParaPipeParaOnly,
    /// Several stages, one of several processors at least: lowest product of latency and period
    ParaPipeBalanced,
    /// The same: lowest latency
    #[value(alias = "para-pipe-hybrid-l")]
    HybridL,
    /// The same: highest throughput
    #[value(alias = "para-pipe-hybrid-t")]
    HybridT,
    /// Whole branches on processors, by an integer program for each subgraph (Para-Pipe, equations 1 and 2)
    CoarseIlp,
    /// Single operators, by an integer program for each subgraph (Para-Pipe, equations 3 to 7); its solver heeds the
    /// clock, some 30 s in all, so that a slower computer may find another schedule
    FineIlp,
    /// Operators by upward rank, each where it ends first (Topcuoglu et al., TPDS 2002), in one stage
    Heft,
    /// The critical path on one processor, the rest where it ends first (the same), in one stage
    Cpop,
    /// One operator after the other, each where it and the transfer take least, in one stage
    LayerSwitched,
    /// Channels of each convolution by the speeds of a CPU and an accelerator (Kim et al., IEEE Access 2020, equations
    /// 12 and 13), the rest on the CPU, in one stage
    CoScheduling,
    /// A table of all of them beside the exact front; the exact schedule is written
    All,
}

impl Algorithm {
    /// The published one, if it is one.
    pub(crate) fn published(self) -> Option<PublishedAlgorithm> {
        Some(match self {
            Self::Exact | Self::All => return None,
            Self::PipeIt => PublishedAlgorithm::PipeIt,
            Self::ParaPipePipeOnly => PublishedAlgorithm::ParaPipe(Strategy::PipeOnly),
            Self::ParaPipeParaOnly => PublishedAlgorithm::ParaPipe(Strategy::ParaOnly),
            Self::ParaPipeBalanced => PublishedAlgorithm::ParaPipe(Strategy::Balanced),
            Self::HybridL => PublishedAlgorithm::ParaPipe(Strategy::HybridLatency),
            Self::HybridT => PublishedAlgorithm::ParaPipe(Strategy::HybridThroughput),
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
        let named = Algorithm::value_variants().iter().filter_map(|own| {
            let published = own.published()?;
            assert_eq!(
                own.to_possible_value().map(|value| value.get_name().to_owned()).as_deref(),
                Some(published.name())
            );
            Some(published)
        });
        let named: Vec<PublishedAlgorithm> = named.collect();
        assert!(PublishedAlgorithm::ALL.iter().all(|own| named.contains(own)));
        assert_eq!(named.len(), PublishedAlgorithm::ALL.len());
    }
}
