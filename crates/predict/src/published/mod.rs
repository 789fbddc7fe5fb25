//! The models of the papers, under their own names, as they were published.

mod accelerator;
mod accelerator_fit;
mod fully_connected;
mod gemm;
mod granularity;
mod phases;

pub use accelerator::{
    AcceleratorLatency, AcceleratorModel, AcceleratorSample, Buffering, Coherence, ConvolutionSize, CpuUnitModel,
};
pub use accelerator_fit::{AcceleratorFit, FittedLine};
pub use fully_connected::{FullyConnectedModel, FullyConnectedSample};
pub use gemm::{GemmModel, MulticoreModel, MulticoreSample};
pub use granularity::{Granularity, GranularityModel, GranularitySample};
pub use phases::Phases;
