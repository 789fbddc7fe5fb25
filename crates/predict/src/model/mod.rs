//! The default model: what predicts operators that were never measured.

mod accuracy;
mod basis;
mod family;
mod fusion;
mod nonnegative;
mod observation;
mod processor;

pub use accuracy::{Accuracy, cross_validate};
pub(crate) use basis::amounts as basis_amounts;
pub use family::{FamilyModel, ModelTerm, TrainingRange};
pub(crate) use fusion::Fusion;
pub use fusion::FusionRule;
pub(crate) use nonnegative::least_squares;
pub use observation::TimedOperators;
pub(crate) use observation::main_of;
pub use processor::{PredictedTime, Predictor, ProcessorModel};

/// Names of the amounts that models count, in the order of [`basis_amounts`].
pub(crate) fn amount_names() -> &'static [&'static str] {
    &basis::NAMES
}
