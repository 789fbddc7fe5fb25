//! What running an operator will take: everything that fills a [`CostTable`](millstream_cost::CostTable).
//!
//! A [`Profile`] holds samples: measured times of contiguous parts of networks on processors of a board. [`fit()`]
//! turns them into a table for a network that was measured.
//!
//! Runtimes fuse operators and change layouts within a segment, so times of single operators measured alone do not add
//! up. Samples are therefore of whole segments at several scales and of operators in context. Where a network was
//! measured, [`fit()`] estimates its blocks' times from both by Gaussian least squares; networks that were not are
//! predicted by [`CostModels`], one [`ProcessorModel`] per processor class. The papers' models are in [`published`] as
//! they were published (and [`PowerModel`]); [`compare()`] sets them beside the default on the same samples.
//! [`published::AcceleratorFit`] fits the co-scheduling paper's model to measured phases of an accelerator, and
//! [`CostModels::with_accelerator`] predicts with it; [`ConvolutionChoice`] says whether a paper's formula predicts the
//! convolutions of a measured accelerator better than the default. [`calibration`] makes cost models of a board that you do not have
//! from what others measured on it. [`explained`] says how the estimate of times in context works.
//!
//! ```
//! use millstream_predict::{Line, Weighting};
//!
//! let fitted = Line::fit("transfers", &[(4096.0, 3e-6), (65536.0, 18e-6), (1e6, 252e-6)], Weighting::Relative)?;
//! assert!((fitted.slope * 4e9 - 1.0).abs() < 0.01, "4 gigabytes a second");
//! # Ok::<(), millstream_predict::PredictError>(())
//! ```
//!
//! Invariants: this crate does no I/O and measures nothing; the same profile gives the same table, bit for bit.

mod accelerator_costs;
mod board_costs;
pub mod calibration;
mod comparison;
mod context;
mod convolution_size;
mod error;
mod evaluation;
mod fill;
mod first_look;
mod fit;
mod fixed_fraction;
mod fused_groups;
mod granularity_choice;
mod left_out;
mod line;
mod linear;
mod measured_convolutions;
mod model;
mod models;
mod operator_time;
mod partial_engines;
mod parts;
mod pipe_it_costs;
mod power;
mod profile;
pub mod published;
mod regression;
mod rows;
pub mod samples;
mod statistics;
mod threads;
mod traced;
mod transfer;
mod unseen;
mod unsupported;
mod with_accelerator;
mod with_pipe_it;

/// How the hardest algorithm of this crate works: its data, steps, invariants and complexity, and why it is as it is.
pub mod explained {
    #[doc = include_str!("../docs/context-fit.md")]
    pub mod context_fit {}
}

pub use comparison::{ModelComparison, compare};
pub use error::PredictError;
pub use evaluation::{HeldOutErrors, evaluate};
pub use first_look::TICK_SECONDS;
pub use fit::fit;
pub use granularity_choice::GranularityChoice;
pub use left_out::LeftOutEngine;
pub use line::{Line, Weighting};
pub use linear::LinearModel;
pub use measured_convolutions::{ConvolutionChoice, ConvolutionFormula, FormulaName};
pub use model::{
    Accuracy, FamilyModel, FusionRule, ModelTerm, PredictedTime, Predictor, ProcessorModel, TimedOperators,
    TrainingRange, cross_validate,
};
pub use models::{COST_FORMAT, COST_VERSION, CostModels};
pub use pipe_it_costs::{PipeItCosts, SeveralCores};
pub use power::{ClusterPower, PowerModel};
pub use profile::{NetworkProfile, PROFILE_FORMAT, PROFILE_VERSION, Profile};
pub use regression::{Regression, Term};
pub use rows::makes_tiles;
pub use statistics::{Statistics, Summary};
pub use threads::threads_by_family;
pub use transfer::{ClusterTransfer, fit_transfer};
pub use unseen::{OperatorPrediction, predict_unseen};
pub use unsupported::UnsupportedOperators;
pub use with_accelerator::accelerator_of;
