//! The times that blocks have in context, from the times of segments.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::samples::SegmentSample;
use millstream_cost::HandOver;

/// Samples are not believed beyond this relative accuracy.
const SAMPLE_DEVIATION: f64 = 0.005;
/// A hand-over before anything is known about it.
pub(crate) const ASSUMED_HAND_OVER: HandOver = HandOver { seconds: 2e-5, seconds_per_byte: 1e-10 };
/// No block takes less than this fraction of what was expected.
const SMALLEST_FRACTION: f64 = 0.05;

/// What is expected of a block before any segment was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPrior {
    pub(crate) seconds: f64,
    /// How far the truth may be from it: one standard deviation, relative to it.
    pub(crate) relative_deviation: f64,
}

/// Times of the blocks and of hand-overs on one processor.
pub(crate) struct InContext {
    pub(crate) block_seconds: Vec<f64>,
    /// One standard deviation of each block's time.
    pub(crate) block_deviations: Vec<f64>,
    pub(crate) hand_over: HandOver,
}

/// The most probable block times and hand-over costs, given a prior for the blocks and segment samples; times that
/// would come out negative are raised.
///
/// A segment takes as long as its blocks, plus one hand-over if it does not start the network. Prior and samples are
/// Gaussian, so the estimate is a linear least-squares problem, solved through its normal equations.
pub(crate) fn estimate(priors: &[BlockPrior], samples: &[&SegmentSample]) -> InContext {
    let prior: Vec<f64> = priors.iter().map(|prior| prior.seconds).collect();
    let blocks = prior.len();
    let size = blocks + 2;
    let mut precision = DMatrix::<f64>::zeros(size, size);
    let mut moment = DVector::<f64>::zeros(size);
    let hand_over = [ASSUMED_HAND_OVER.seconds, ASSUMED_HAND_OVER.seconds_per_byte];
    for (index, &mean) in prior.iter().chain(&hand_over).enumerate() {
        let deviation = priors.get(index).map_or(mean, |prior| prior.relative_deviation * mean + 1e-9);
        precision[(index, index)] += deviation.powi(-2);
        moment[index] += mean * deviation.powi(-2);
    }

    for sample in samples {
        let time = sample.time.median_seconds;
        let deviation = sample.time.standard_error_seconds().max(SAMPLE_DEVIATION * time);
        let weight = deviation.powi(-2);
        let mut row: Vec<(usize, f64)> = (sample.start..sample.end).map(|block| (block, 1.0)).collect();
        if sample.start > 0 {
            row.extend([(blocks, 1.0), (blocks + 1, sample.input_bytes as f64)]);
        }
        for &(left, left_factor) in &row {
            moment[left] += weight * left_factor * time;
            for &(right, right_factor) in &row {
                precision[(left, right)] += weight * left_factor * right_factor;
            }
        }
    }

    let (solution, deviations) = solve_scaled(&precision, &moment, prior.iter().chain(&hand_over).copied());
    let block_seconds =
        solution.iter().zip(&prior).map(|(&seconds, &prior)| seconds.max(SMALLEST_FRACTION * prior)).collect();
    let block_deviations = deviations.into_iter().take(blocks).collect();
    let term = |index: usize| solution.get(index).map_or(0.0, |&seconds| seconds.max(0.0));
    InContext {
        block_seconds,
        block_deviations,
        hand_over: HandOver { seconds: term(blocks), seconds_per_byte: term(blocks + 1) },
    }
}

/// Solves the normal equations in units of the prior means, which differ by ten orders of magnitude, and returns the
/// solution with its standard deviations.
fn solve_scaled(
    precision: &DMatrix<f64>,
    moment: &DVector<f64>,
    means: impl Iterator<Item = f64>,
) -> (Vec<f64>, Vec<f64>) {
    let units: Vec<f64> = means.map(|mean| mean.max(1e-12)).collect();
    let scaled =
        DMatrix::from_fn(units.len(), units.len(), |row, column| precision[(row, column)] * units[row] * units[column]);
    let right = DVector::from_fn(units.len(), |row, _| moment[row] * units[row]);
    match Cholesky::new(scaled) {
        Some(factors) => {
            let scale = |values: &DVector<f64>| values.iter().zip(&units).map(|(value, unit)| value * unit).collect();
            let deviations = factors.inverse().diagonal().map(|variance| variance.max(0.0).sqrt());
            (scale(&factors.solve(&right)), scale(&deviations))
        }
        // The prior makes the matrix positive definite; should rounding deny it, the prior itself is the answer.
        None => (units.clone(), units),
    }
}
