//! The papers' tables and figures, computed anew beside the printed numbers.
//!
//! ```
//! use millstream_reproduce::{Paper, Selection, reproduce};
//!
//! let reproduction = reproduce(Paper::Granularity, Selection::default())?;
//! assert!(reproduction.sections[0].table.to_string().contains("1, 2, 16, 8, 4, 32"));
//! let tally = reproduction.tally();
//! println!("{tally}");
//! assert_eq!(tally.miss(), reproduction.misses().filter(|claim| claim.counts()).count());
//! assert_eq!(reproduction.faults().count(), 0, "every miss has a reason, and no reason is out of date");
//! # Ok::<(), millstream_reproduce::ReproduceError>(())
//! ```
//!
//! A [`Claim`] says by its [`Evidence`] what agreement would mean. Counted is only what the paper prints and what ours is computed without: an input
//! of a calibration, a fit beside the lines that its samples are from, and what is true by definition are checks, shown and never counted. A
//! [`ClaimTolerance`] is the rounding or the error that the paper states; where it states none, it is [`GENERAL_TOLERANCE`] everywhere, 10 %. What misses it
//! is shown as a miss, with the reason; a miss without one is a [`Fault`], and so is a reason without a miss. What a paper has beyond the sections is named
//! with the reason as well ([`LeftOut`]).
//!
//! Invariants: the same on every machine but for the times that searches take; nothing is read or written. Numbers of the papers stand in this crate
//! with the table, figure or equation that they are from.

mod claim;
mod co_scheduling;
mod evidence;
mod granularity;
mod layers;
mod para_pipe;
mod pipe_it;
mod pipe_search;
mod report;
mod shisha;

use std::fmt;
use std::str::FromStr;

use millstream_board::BoardError;
use millstream_mapping::MappingError;
use millstream_pipeline::PipelineError;
use millstream_predict::PredictError;
use millstream_report::PlotError;
use millstream_tune::TuneError;
use millstream_zoo::ZooError;
use thiserror::Error;

pub use claim::{Claim, Comparison, Fault};
pub use evidence::{ClaimTolerance, Evidence, GENERAL_TOLERANCE};
pub use report::{Figure, Kind, LeftOut, Reproduction, Section, Selection, Tally};

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

    fn name(self) -> &'static str {
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
    #[error("of {paper}, there is no such table or figure; without --table and --figure everything is computed")]
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
    /// A network could not be built.
    #[error(transparent)]
    Zoo(#[from] ZooError),
}

/// Computes what there is of a paper, or the part of it that is selected.
///
/// # Errors
/// [`ReproduceError::NothingSelected`] if the paper has nothing that is selected; others are not expected.
pub fn reproduce(paper: Paper, selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut reproduction = match paper {
        Paper::CoScheduling => co_scheduling::reproduce()?,
        Paper::Granularity => granularity::reproduce()?,
        Paper::ParaPipe => para_pipe::reproduce(selection)?,
        Paper::PipeIt => pipe_it::reproduce()?,
        Paper::PipeSearch => pipe_search::reproduce()?,
        Paper::Shisha => shisha::reproduce(selection)?,
    };
    reproduction.sections.retain(|section| selection.wants(&section.title));
    if !selection.is_everything() {
        reproduction.left_out.clear();
    }
    if reproduction.sections.is_empty() {
        return Err(ReproduceError::NothingSelected { paper });
    }
    Ok(reproduction)
}
