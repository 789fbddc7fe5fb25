//! What running an operator costs.
//!
//! A [`Profile`] holds samples: measured times of contiguous parts of networks on processors of a board. [`fit()`] turns
//! them into a [`CostTable`], the one interface that every search and every evaluation reads: operators x processor classes
//! to [`Nanoseconds`], and what a hand-over between stages costs.
//!
//! Runtimes fuse operators and change layouts within a segment, so times of single operators measured alone do not add up.
//! Samples are therefore of whole segments at several scales and of operators in context. Where a network was measured,
//! [`fit()`] estimates its blocks' times from both by Gaussian least squares; networks that were not are predicted by
//! [`CostModels`], one [`ProcessorModel`] per processor class. The papers' models ([`GemmModel`], [`MulticoreModel`],
//! [`FullyConnectedModel`], [`AcceleratorModel`], [`CpuUnitModel`], [`GranularityModel`], [`PowerModel`]) are here as they were
//! published; [`compare()`] sets them beside the default on the same samples.
//!
//! ```
//! use millstream_board::ProcessorClass;
//! use millstream_cost::{CostTable, HandOver, Nanoseconds};
//!
//! let class = ProcessorClass { cluster: "B".into(), count: 1 };
//! let mut table = CostTable::new(2, [class.clone()]);
//! let processor = table.find(&class).expect("just added");
//! table.set_time(processor, 0, Nanoseconds::from_seconds(0.001));
//! table.set_hand_over(processor, HandOver { seconds: 1e-5, seconds_per_byte: 1e-10 });
//! assert_eq!(table.time(processor, 0), Some(Nanoseconds(1_000_000)));
//! assert_eq!(table.time(processor, 1), None, "not supported there");
//! assert_eq!(table.hand_over(processor, 100_000), Nanoseconds(20_000));
//! ```
//!
//! Invariants: this crate does no I/O and measures nothing; all times in a [`CostTable`] are whole nanoseconds, so that sums
//! are exact in any order.

mod calibration;
mod clocks;
mod comparison;
mod context;
mod error;
mod evaluation;
mod fit;
mod line;
mod linear;
mod model;
mod models;
mod nanoseconds;
mod parts;
mod power;
mod profile;
mod published;
mod regression;
mod samples;
mod statistics;
mod table;
mod threads;
mod transfer;

pub use calibration::{
    AcceleratorCostModel, AcceleratorCosts, ActivePower, Calibration, CalibrationRow, CoreScaling, FamilyTerms,
    GranularityLine, MEASUREMENTS_FORMAT, MEASUREMENTS_VERSION, MeasuredNetwork, Measurements, NetworkFactor,
    StatedCosts, StatedTransfer, Statement, Throughput, Unsupported, calibrate,
};
pub use clocks::{Clocks, clock_combinations};
pub use comparison::{Comparison, compare};
pub use error::CostError;
pub use evaluation::{Evaluation, evaluate};
pub use fit::fit;
pub use line::{Line, Weighting};
pub use linear::LinearModel;
pub use model::{
    Accuracy, FamilyModel, FusionRule, ModelTerm, Observation, Prediction, Predictor, ProcessorModel, TrainingRange,
    cross_validate,
};
pub use models::{COST_FORMAT, COST_VERSION, CostModels};
pub use nanoseconds::Nanoseconds;
pub use power::{ClusterPower, PowerModel, PowerOrigin};
pub use profile::{NetworkProfile, PROFILE_FORMAT, PROFILE_VERSION, Profile, Provenance};
pub use published::{
    AcceleratorLatency, AcceleratorModel, AcceleratorSample, Buffering, Coherence, ConvolutionSize, CpuUnitModel,
    FullyConnectedModel, GemmModel, Granularity, GranularityModel, GranularitySample, MulticoreModel, MulticoreSample,
};
pub use regression::{Regression, Term};
pub use samples::{
    Conditions, GranularityRecord, OperatorRecord, OperatorSample, PartSample, PowerSample, SegmentSample,
    TransferSample,
};
pub use statistics::Statistics;
pub use table::{CostTable, Entry, HandOver, MemoryAccess, Origin, PartCost, ProcessorIndex, ProcessorPower};
pub use threads::threads_by_family;
pub use transfer::{BlockedEnd, ClusterTransfer, TransferModel};
