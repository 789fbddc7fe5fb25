//! The co-scheduling paper's times of accelerators (equations 2 to 9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::line::{Line, Weighting};

/// A convolution as the co-scheduling paper describes it (its table 3). Sizes are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvolutionSize {
    /// All input feature maps.
    pub input: u64,
    /// One filter: kernel height x width x input channels.
    pub filter: u64,
    /// One output feature map.
    pub output: u64,
    /// Scale and shift of a batch normalisation, together; 0 without one.
    pub normalisation: u64,
    /// Number of filters, which is the number of output channels.
    pub filters: u64,
}

/// How the processor's caches and the accelerator's memory are kept the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// The processor flushes and invalidates its caches.
    Software,
    /// The interconnect sees to it: no latency (the paper's first variant).
    Interconnect,
}

/// Whether the accelerator computes while data is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// First one, then the other.
    Single,
    /// Both at once: the longer counts (the paper's second variant).
    Double,
}

/// Latency of a convolution on an accelerator whose processing elements make one output channel each (co-scheduling,
/// equations 2 to 9). Lines give seconds per element.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorModel {
    /// One output element on one processing element, by the elements of a filter (equation 2).
    pub computation: Line,
    /// Moving data, by elements (equation 4).
    pub transfer: Line,
    /// Flushing caches, by elements sent (equation 6).
    pub flush: Line,
    /// Invalidating caches, by elements received (equation 7).
    pub invalidation: Line,
    /// Channels that are computed at the same time.
    pub processing_elements: u64,
    /// How caches are kept coherent.
    pub coherence: Coherence,
    /// Whether transfers and computation overlap.
    pub buffering: Buffering,
}

/// What the latency of an accelerator consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceleratorLatency {
    /// Computation (equation 3).
    pub computation_seconds: f64,
    /// Transfer (equation 4).
    pub transfer_seconds: f64,
    /// Cache flush (equation 6).
    pub flush_seconds: f64,
    /// Cache invalidation (equation 7).
    pub invalidation_seconds: f64,
    /// From the start to the end (equation 9 and its variants).
    pub total_seconds: f64,
}

/// Measured phases of one convolution on an accelerator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceleratorSample {
    /// The convolution.
    pub size: ConvolutionSize,
    /// Measured phases; the total is not used.
    pub latency: AcceleratorLatency,
}

impl AcceleratorModel {
    /// Latency of making `filters` of the convolution's output channels.
    pub fn latency(&self, size: &ConvolutionSize, filters: u64) -> AcceleratorLatency {
        if filters == 0 {
            let nothing = 0.0;
            return AcceleratorLatency {
                computation_seconds: nothing,
                transfer_seconds: nothing,
                flush_seconds: nothing,
                invalidation_seconds: nothing,
                total_seconds: nothing,
            };
        }
        let waves = filters.div_ceil(self.processing_elements.max(1));
        let computation_seconds = self.computation.at(size.filter as f64) * size.output as f64 * waves as f64;
        let sent = (size.input + size.normalisation + size.filter * filters) as f64;
        let received = (size.output * filters) as f64;
        let transfer_seconds = self.transfer.at(sent + received);
        let (flush_seconds, invalidation_seconds) = match self.coherence {
            Coherence::Software => (self.flush.at(sent), self.invalidation.at(received)),
            Coherence::Interconnect => (0.0, 0.0),
        };
        let working = match self.buffering {
            Buffering::Single => computation_seconds + transfer_seconds,
            Buffering::Double => computation_seconds.max(transfer_seconds),
        };
        let total_seconds = working + flush_seconds + invalidation_seconds;
        AcceleratorLatency { computation_seconds, transfer_seconds, flush_seconds, invalidation_seconds, total_seconds }
    }

    /// Fits the four lines to measured phases of whole convolutions; the paper weights errors as
    /// [`Weighting::Absolute`].
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`].
    pub fn fit(
        samples: &[AcceleratorSample],
        processing_elements: u64,
        coherence: Coherence,
        buffering: Buffering,
        weighting: Weighting,
    ) -> Result<Self, PredictError> {
        let line = |what: &str, point: &dyn Fn(&AcceleratorSample) -> (f64, f64)| {
            Line::fit(what, &samples.iter().map(point).collect::<Vec<_>>(), weighting)
        };
        let sent = |size: &ConvolutionSize| (size.input + size.normalisation + size.filter * size.filters) as f64;
        let received = |size: &ConvolutionSize| (size.output * size.filters) as f64;
        let computation = line("the accelerator's computation", &|sample| {
            let waves = sample.size.filters.div_ceil(processing_elements.max(1));
            let unit = sample.latency.computation_seconds / (sample.size.output * waves).max(1) as f64;
            (sample.size.filter as f64, unit)
        })?;
        let transfer = line("the accelerator's transfers", &|sample| {
            (sent(&sample.size) + received(&sample.size), sample.latency.transfer_seconds)
        })?;
        let (flush, invalidation) = match coherence {
            Coherence::Interconnect => (Line::new(0.0, 0.0), Line::new(0.0, 0.0)),
            Coherence::Software => (
                line("cache flushes", &|sample| (sent(&sample.size), sample.latency.flush_seconds))?,
                line("cache invalidations", &|sample| (received(&sample.size), sample.latency.invalidation_seconds))?,
            ),
        };
        Ok(Self { computation, transfer, flush, invalidation, processing_elements, coherence, buffering })
    }
}

/// Latency of a convolution on a CPU, per output element linear in the filter's size (co-scheduling, equations 10 and
/// 11).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuUnitModel {
    /// Seconds for one output element, by the elements of a filter (equation 10).
    pub unit: Line,
}

impl CpuUnitModel {
    /// Seconds for `filters` of the convolution's output channels (equation 11).
    pub fn seconds(&self, size: &ConvolutionSize, filters: u64) -> f64 {
        self.unit.at(size.filter as f64) * (size.output * filters) as f64
    }

    /// Fits the line to measured times of whole convolutions; the paper weights errors as [`Weighting::Absolute`].
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`].
    pub fn fit(samples: &[(ConvolutionSize, f64)], weighting: Weighting) -> Result<Self, PredictError> {
        let point = |(size, seconds): &(ConvolutionSize, f64)| {
            (size.filter as f64, seconds / (size.output * size.filters).max(1) as f64)
        };
        let points: Vec<(f64, f64)> = samples.iter().map(point).collect();
        Ok(Self { unit: Line::fit("the CPU's convolutions", &points, weighting)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(coherence: Coherence, buffering: Buffering) -> AcceleratorModel {
        AcceleratorModel {
            computation: Line::new(0.1, 0.2),
            transfer: Line::new(0.01, 2.0),
            flush: Line::new(0.008, 0.5),
            invalidation: Line::new(0.004, 1.0),
            processing_elements: 10,
            coherence,
            buffering,
        }
    }

    const SIZE: ConvolutionSize =
        ConvolutionSize { input: 1000, filter: 27, output: 100, normalisation: 4, filters: 28 };

    #[test]
    fn computation_goes_in_waves() {
        // The paper's own example: 28 channels on 10 processing elements are 3 waves.
        let software = model(Coherence::Software, Buffering::Single);
        let latency = software.latency(&SIZE, 28);
        assert!((latency.computation_seconds - 2.9 * 100.0 * 3.0).abs() < 1e-9);
        assert_eq!(software.latency(&SIZE, 30).computation_seconds, latency.computation_seconds);
        let sent = (1000 + 4 + 27 * 28) as f64;
        assert!((latency.transfer_seconds - (0.01 * (sent + 2800.0) + 2.0)).abs() < 1e-9);
        assert!((latency.flush_seconds - (0.008 * sent + 0.5)).abs() < 1e-9);
        assert!((latency.invalidation_seconds - (0.004 * 2800.0 + 1.0)).abs() < 1e-9);
        assert_eq!(software.latency(&SIZE, 0).total_seconds, 0.0);
    }

    #[test]
    fn variants_leave_out_coherence_or_overlap_transfers() {
        let plain = model(Coherence::Software, Buffering::Single).latency(&SIZE, 28);
        let coherent = model(Coherence::Interconnect, Buffering::Single).latency(&SIZE, 28);
        let double = model(Coherence::Interconnect, Buffering::Double).latency(&SIZE, 28);
        let saved = plain.flush_seconds + plain.invalidation_seconds;
        assert!((plain.total_seconds - coherent.total_seconds - saved).abs() < 1e-9);
        assert_eq!(double.total_seconds, plain.computation_seconds.max(plain.transfer_seconds));
    }
}
