//! What one layer takes on one platform, whole and divided.

use millstream_cosched::{Split, exact_split, published_split};
use millstream_predict::published::ConvolutionSize;

use crate::co_scheduling::data::{Layer, Platform};

/// One layer on one platform.
pub(super) struct Outcome {
    pub(super) cpu_seconds: f64,
    pub(super) accelerator_seconds: f64,
    pub(super) split: Split,
    /// What accelerator and CPU take for their parts of the published split.
    parts: [f64; 2],
    pub(super) exact_seconds: f64,
}

impl Outcome {
    pub(super) fn of(platform: &Platform, processing_elements: u64, layer: Layer) -> Self {
        Self::of_size(platform, processing_elements, &layer.convolution())
    }

    pub(super) fn of_size(platform: &Platform, processing_elements: u64, size: &ConvolutionSize) -> Self {
        let (model, cpu_model) = (platform.accelerator(processing_elements), platform.cpu());
        let accelerator = |channels: u64| model.latency(size, channels).total_seconds;
        let cpu = |channels: u64| cpu_model.seconds(size, channels);
        let (accelerator_seconds, cpu_seconds) = (accelerator(size.filters), cpu(size.filters));
        let split = published_split(size.filters, accelerator_seconds, cpu_seconds);
        let exact = exact_split(size.filters, accelerator, cpu);
        Self {
            cpu_seconds,
            accelerator_seconds,
            split,
            parts: [accelerator(split.accelerator), cpu(split.cpu)],
            exact_seconds: exact.seconds(accelerator, cpu),
        }
    }

    pub(super) fn both_seconds(&self) -> f64 {
        self.parts[0].max(self.parts[1])
    }

    /// Part of the time that the faster side waits, and who it is.
    pub(super) fn idle(&self) -> (f64, &'static str) {
        let [accelerator, cpu] = self.parts;
        ((accelerator - cpu).abs() / self.both_seconds(), if accelerator > cpu { "CPU" } else { "acc." })
    }
}
