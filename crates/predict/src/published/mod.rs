//! The models of the papers, under their own names, as they were published.

mod accelerator;
mod fully_connected;
mod gemm;
mod granularity;

pub use accelerator::{
    AcceleratorLatency, AcceleratorModel, AcceleratorSample, Buffering, Coherence, ConvolutionSize, CpuUnitModel,
};
pub use fully_connected::FullyConnectedModel;
pub use gemm::{GemmModel, MulticoreModel, MulticoreSample};
pub use granularity::{Granularity, GranularityModel, GranularitySample};
