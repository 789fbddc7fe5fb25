//! What the paper prints.

use millstream_predict::Line;
use millstream_predict::published::{AcceleratorModel, Buffering, Coherence, ConvolutionSize, CpuUnitModel};

/// One column of table 2: coefficients in microseconds per element, and microseconds.
pub(super) struct Platform {
    pub(super) name: &'static str,
    transfer: (f64, f64),
    computation: (f64, f64),
    flush: (f64, f64),
    invalidation: (f64, f64),
    cpu: (f64, f64),
}

/// Table 2.
pub(super) const PLATFORMS: [Platform; 4] = [
    Platform {
        name: "Ultra96",
        transfer: (0.01, 2.697551),
        computation: (0.099999, 0.237558),
        flush: (0.008811, 0.514771),
        invalidation: (0.008812, 1.663402),
        cpu: (0.049176, 0.116896),
    },
    Platform {
        name: "Zed",
        transfer: (0.009999, 2.162106),
        computation: (0.150077, 0.309062),
        flush: (0.009323, 6.101897),
        invalidation: (0.003748, 0.986305),
        cpu: (0.072254, 0.164479),
    },
    Platform {
        name: "ZCU104",
        transfer: (0.009998, 2.458088),
        computation: (0.090014, 0.218302),
        flush: (0.006082, 0.491329),
        invalidation: (0.006084, 1.036251),
        cpu: (0.049155, 0.113563),
    },
    Platform {
        name: "ZCU106",
        transfer: (0.009999, 2.472711),
        computation: (0.090021, 0.218306),
        flush: (0.006101, 0.314022),
        invalidation: (0.006091, 0.900236),
        cpu: (0.049176, 0.113043),
    },
];

impl Platform {
    /// The accelerator with so many processing elements, in seconds.
    pub(super) fn accelerator(&self, processing_elements: u64) -> AcceleratorModel {
        AcceleratorModel {
            computation: seconds(self.computation),
            transfer: seconds(self.transfer),
            flush: seconds(self.flush),
            invalidation: seconds(self.invalidation),
            processing_elements,
            coherence: Coherence::Software,
            buffering: Buffering::Single,
        }
    }

    /// The CPU, in seconds.
    pub(super) fn cpu(&self) -> CpuUnitModel {
        CpuUnitModel { unit: seconds(self.cpu) }
    }
}

fn seconds((slope, intercept): (f64, f64)) -> Line {
    Line::new(slope * 1e-6, intercept * 1e-6)
}

/// Processing elements of the three versions of the accelerator.
pub(super) const PROCESSING_ELEMENTS: [u64; 3] = [2, 4, 8];

/// A row of table 3: size of the square map, input channels, kernel, filters, and the network.
#[derive(Clone, Copy)]
pub(super) struct Layer {
    pub(super) size: u64,
    pub(super) channels: u64,
    pub(super) kernel: u64,
    pub(super) filters: u64,
    pub(super) network: &'static str,
}

const fn layer(size: u64, channels: u64, kernel: u64, filters: u64, network: &'static str) -> Layer {
    Layer { size, channels, kernel, filters, network }
}

/// Table 3 (SN SqueezeNet, MN MobileNet-v2, SG synthetically generated).
pub(super) const LAYERS: [Layer; 14] = [
    layer(57, 16, 1, 64, "SN"),
    layer(57, 16, 3, 64, "SN"),
    layer(29, 32, 1, 128, "SN"),
    layer(29, 32, 3, 128, "SN"),
    layer(28, 32, 1, 192, "MN"),
    layer(15, 64, 3, 256, "SN"),
    layer(15, 48, 3, 192, "SN"),
    layer(14, 96, 1, 576, "MN"),
    layer(7, 576, 1, 160, "MN"),
    layer(7, 320, 1, 1280, "MN"),
    layer(7, 160, 1, 960, "MN"),
    layer(7, 160, 3, 160, "SG"),
    layer(7, 160, 3, 960, "SG"),
    layer(7, 160, 3, 1280, "SG"),
];

impl Layer {
    /// The layer in the terms of the models.
    pub(super) fn convolution(self) -> ConvolutionSize {
        ConvolutionSize {
            input: self.size * self.size * self.channels,
            filter: self.kernel * self.kernel * self.channels,
            output: self.size * self.size,
            normalisation: 0,
            filters: self.filters,
        }
    }
}

/// Table 4, in percent: for every platform and 2, 4, 8 processing elements and the CPU, 1x1 and 3x3 convolutions.
pub(super) const MAPE: [[[f64; 2]; 4]; 4] = [
    [[1.01, 0.14], [0.74, 0.16], [0.47, 0.26], [0.65, 0.76]],
    [[0.82, 0.18], [0.26, 0.17], [0.98, 0.26], [0.40, 0.67]],
    [[1.06, 0.13], [0.63, 0.12], [0.87, 0.19], [0.48, 0.68]],
    [[1.06, 0.13], [0.63, 0.11], [0.87, 0.19], [0.47, 0.68]],
];

/// What a time by the models may be off: the largest error of table 4. A speedup may be off by twice as much, since it
/// is a ratio of two.
pub(super) const STATED_ERROR: f64 = 0.0106;

/// Table 5, in percent: for every layer and platform, idle time with 2, 4 and 8 processing elements.
pub(super) const IDLE: [[[f64; 3]; 4]; 14] = [
    [[2.22, 3.04, 6.85], [2.81, 2.79, 7.16], [0.14, 1.63, 6.00], [0.13, 1.64, 5.97]],
    [[0.35, 3.19, 1.94], [1.02, 3.98, 3.06], [0.85, 0.31, 0.39], [0.84, 0.33, 0.39]],
    [[0.63, 0.06, 1.83], [0.41, 0.83, 6.55], [1.34, 0.91, 3.84], [1.33, 0.92, 3.86]],
    [[0.73, 0.77, 1.14], [0.60, 0.38, 2.15], [1.02, 0.37, 1.59], [1.02, 0.38, 1.59]],
    [[1.11, 1.06, 1.93], [1.50, 2.50, 0.81], [0.61, 1.86, 2.88], [0.61, 1.86, 2.90]],
    [[0.07, 0.43, 1.71], [0.31, 0.03, 0.47], [0.33, 0.74, 1.49], [0.33, 0.75, 1.49]],
    [[0.66, 1.51, 1.91], [0.25, 0.65, 0.70], [0.74, 0.81, 0.94], [0.74, 0.79, 0.98]],
    [[2.91, 4.92, 2.08], [4.18, 3.43, 0.70], [4.14, 2.29, 4.89], [4.10, 2.29, 4.91]],
    [[1.17, 1.51, 2.89], [0.17, 0.60, 1.79], [0.56, 2.41, 1.51], [0.57, 2.40, 1.52]],
    [[0.73, 0.15, 0.07], [1.85, 0.56, 0.18], [0.45, 1.29, 1.04], [0.45, 1.29, 1.03]],
    [[0.08, 1.16, 1.41], [0.86, 0.91, 0.67], [0.82, 2.36, 1.32], [0.82, 2.35, 1.34]],
    [[1.36, 2.52, 4.82], [0.90, 1.12, 6.59], [1.95, 1.97, 3.28], [1.94, 1.95, 3.29]],
    [[0.82, 1.22, 1.56], [0.23, 0.71, 1.77], [1.01, 1.55, 1.40], [1.00, 1.54, 1.40]],
    [[0.85, 1.09, 2.29], [0.44, 0.88, 1.28], [0.61, 1.10, 1.67], [0.60, 1.09, 1.66]],
];

/// Section IV-B, for 2, 4 and 8 processing elements: ranges over the platforms.
pub(super) struct Speedups {
    /// The accelerator alone over the CPU alone; printed for 2 processing elements only.
    pub(super) accelerator_over_cpu: Option<[f64; 2]>,
    pub(super) both_over_cpu: [f64; 2],
    pub(super) both_over_accelerator: [f64; 2],
}

pub(super) const SPEEDUPS: [Speedups; 3] = [
    Speedups {
        accelerator_over_cpu: Some([0.97, 1.09]),
        both_over_cpu: [1.93, 2.05],
        both_over_accelerator: [1.89, 2.00],
    },
    Speedups { accelerator_over_cpu: None, both_over_cpu: [2.84, 3.07], both_over_accelerator: [1.43, 1.48] },
    Speedups { accelerator_over_cpu: None, both_over_cpu: [4.58, 4.98], both_over_accelerator: [1.18, 1.21] },
];
