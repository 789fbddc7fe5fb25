//! Numbers that the paper prints.

/// A printed optimum of tables 6 and 7.
pub(super) struct Optimum {
    pub(super) layers: &'static [usize],
    pub(super) rank: usize,
    /// In percent, where printed.
    pub(super) variation: Option<f64>,
}

pub(super) const fn optimum(layers: &'static [usize], rank: usize, variation: Option<f64>) -> Optimum {
    Optimum { layers, rank, variation }
}

/// A row of table 6: VGG16's optimum and throughput under a governor setting.
pub(super) struct Setting {
    pub(super) optimum: Optimum,
    pub(super) frames_per_second: f64,
}

const fn setting(layers: &'static [usize], rank: usize, frames_per_second: f64) -> Setting {
    Setting { optimum: optimum(layers, rank, None), frames_per_second }
}

/// Table 6, settings 1 to 4.
pub(super) const VGG16: [Setting; 4] = [
    setting(&[6, 5, 10], 1, 1.22),
    setting(&[5, 16], 7, 0.36),
    setting(&[9, 12], 2, 0.21),
    setting(&[7, 4, 10], 3, 0.17),
];

/// Table 7: weights, the seeds with their variation, and the optima (the columns for two governor settings).
pub(super) struct Synthetic {
    pub(super) name: &'static str,
    pub(super) weights: &'static [u64],
    pub(super) seeds: &'static [&'static [usize]],
    pub(super) seed_variation: f64,
    pub(super) optima: [Optimum; 2],
}

pub(super) const SYNTHETIC: [Synthetic; 3] = [
    Synthetic {
        name: "Synth 1",
        weights: &[1, 4, 8, 4, 8, 8, 4],
        seeds: &[&[3, 2, 2]],
        seed_variation: 3.8,
        optima: [optimum(&[4, 1, 1, 1], 6, Some(51.4)), optimum(&[5, 1, 1], 10, Some(73.8))],
    },
    Synthetic {
        name: "Synth 2",
        weights: &[1, 9, 4, 8, 5, 4, 8, 5, 7, 1, 1, 1, 4, 8, 22],
        seeds: &[&[8, 7], &[4, 4, 6, 1]],
        seed_variation: 0.0,
        optima: [optimum(&[4, 7, 4], 8, Some(18.5)), optimum(&[8, 6, 1], 22, Some(35.0))],
    },
    Synthetic {
        name: "Synth 3",
        weights: &[1, 9, 4, 8, 20, 2, 22, 3, 4, 8, 7, 11, 11],
        seeds: &[&[4, 2, 1, 4, 2]],
        seed_variation: 0.0,
        optima: [optimum(&[3, 1, 2, 1, 4, 2], 9, Some(29.8)), optimum(&[7, 4, 2], 22, Some(56.5))],
    },
];

/// Table 3: trials of both searches, and the optimum that both found.
pub(super) const TRIALS: (u64, u64) = (38, 1970);
/// Table 4: percentages of configurations whose slowest stage takes 1.0-1.5 s, 1.5-2.0 s, 2.0-5.0 s.
pub(super) const DISTRIBUTION: [[f64; 3]; 2] = [[79.0, 21.0, 0.0], [11.0, 18.3, 70.7]];
