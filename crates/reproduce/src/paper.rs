//! Papers of which something can be computed, and why nothing could be.

use std::fmt;
use std::str::FromStr;

use millstream_board::BoardError;
use millstream_mapping::MappingError;
use millstream_pipeline::PipelineError;
use millstream_predict::PredictError;
use millstream_report::PlotError;
use millstream_schedule::ScheduleError;
use millstream_tune::TuneError;
use millstream_zoo::ZooError;
use thiserror::Error;

/// A paper of which something can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// Kim et al., CPU-Accelerator Co-Scheduling for CNN Acceleration at the Edge, IEEE Access 2020.
    CoScheduling,
    /// Motamedi et al., Machine Intelligence on Resource-Constrained IoT Devices, TECS 2017.
    Granularity,
    /// Zhang et al., Para-Pipe: Exploiting Hierarchical Operator Parallelism of ML Computational Graphs on SoCs.
    ParaPipe,
    /// Wang et al., High-Throughput CNN Inference on Embedded ARM big.LITTLE Multicore Processors, TCAD 2020.
    PipeIt,
    /// Soomro et al., An online guided tuning approach to run CNN pipelines on edge devices, CF 2021.
    PipeSearch,
    /// Soomro et al., Shisha: Online scheduling of CNN pipelines on heterogeneous architectures, 2022.
    Shisha,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::CoScheduling, Self::Granularity, Self::ParaPipe, Self::PipeIt, Self::PipeSearch, Self::Shisha];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CoScheduling => "co-scheduling",
            Self::Granularity => "granularity",
            Self::ParaPipe => "para-pipe",
            Self::PipeIt => "pipe-it",
            Self::PipeSearch => "pipe-search",
            Self::Shisha => "shisha",
        }
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Paper {
    type Err = ReproduceError;

    fn from_str(text: &str) -> Result<Self, ReproduceError> {
        let known = Self::ALL.into_iter().find(|paper| paper.name() == text);
        known.ok_or_else(|| ReproduceError::UnknownPaper { name: text.to_owned() })
    }
}

/// Why nothing could be computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// No paper has this name.
    #[error("there is no paper '{name}'; there are {}", Paper::ALL.map(Paper::name).join(", "))]
    UnknownPaper {
        /// The name asked for.
        name: String,
    },
    /// A model could not be fitted.
    #[error(transparent)]
    Cost(#[from] PredictError),
    /// A figure could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A network could not be mapped.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The paper has no such table or figure among what can be computed.
    #[error("of {paper}, there is no such table or figure among what is computed")]
    NothingSelected {
        /// The paper.
        paper: Paper,
    },
    /// A board could not be built.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// No pipeline was found.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A search failed.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// What was mapped can't run.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A network could not be built.
    #[error(transparent)]
    Zoo(#[from] ZooError),
}
