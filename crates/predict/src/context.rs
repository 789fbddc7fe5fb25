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

/// What is expected of one of the unknowns, with its standard deviation.
#[derive(Debug, Clone, Copy)]
struct Expected {
    mean: f64,
    deviation: f64,
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
    let blocks = priors.len();
    let size = blocks + 2;
    let mut precision = DMatrix::<f64>::zeros(size, size);
    let mut moment = DVector::<f64>::zeros(size);
    let of_block = |&BlockPrior { seconds: mean, relative_deviation }: &BlockPrior| Expected {
        mean,
        deviation: relative_deviation * mean + 1e-9,
    };
    let hand_over = [ASSUMED_HAND_OVER.seconds, ASSUMED_HAND_OVER.seconds_per_byte];
    let of_hand_over = hand_over.map(|mean| Expected { mean, deviation: mean });
    let expected: Vec<Expected> = priors.iter().map(of_block).chain(of_hand_over).collect();
    for (index, &Expected { mean, deviation }) in expected.iter().enumerate() {
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

    let (solution, deviations) = solve_scaled(&precision, &moment, &expected);
    let at_least = |(&seconds, prior): (&f64, &BlockPrior)| seconds.max(SMALLEST_FRACTION * prior.seconds);
    let block_seconds = solution.iter().zip(priors).map(at_least).collect();
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
fn solve_scaled(precision: &DMatrix<f64>, moment: &DVector<f64>, prior: &[Expected]) -> (Vec<f64>, Vec<f64>) {
    let units: Vec<f64> = prior.iter().map(|expected| expected.mean.max(1e-12)).collect();
    let scaled =
        DMatrix::from_fn(units.len(), units.len(), |row, column| precision[(row, column)] * units[row] * units[column]);
    let right = DVector::from_fn(units.len(), |row, _| moment[row] * units[row]);
    match Cholesky::new(scaled) {
        Some(factors) => {
            let scale = |values: &DVector<f64>| values.iter().zip(&units).map(|(value, unit)| value * unit).collect();
            let deviations = factors.inverse().diagonal().map(|variance| variance.max(0.0).sqrt());
            (scale(&factors.solve(&right)), scale(&deviations))
        }
        // The prior makes the matrix positive definite. Rounding may deny it where a segment took ten million times
        // less than expected: the prior itself is the answer then.
        None => prior.iter().map(|expected| (expected.mean, expected.deviation)).unzip(),
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::ProcessorClass;

    use super::*;
    use crate::samples::SampleConditions;
    use crate::statistics::Statistics;

    /// What the equations lose to rounding at most: they are well conditioned here.
    const ROUNDING: f64 = 1e-9;

    fn prior(seconds: f64, deviation: f64) -> BlockPrior {
        // The estimate adds a nanosecond.
        BlockPrior { seconds, relative_deviation: (deviation - 1e-9) / seconds }
    }

    /// A sample of so many seconds, with this standard error.
    fn sample(blocks: [usize; 2], input_bytes: u64, seconds: f64, error: f64) -> SegmentSample {
        // Of one repetition, so that nothing divides it.
        let time = Statistics { median_seconds: seconds, mad_seconds: error / (1.2533 * 1.4826), repetitions: 1 };
        SegmentSample {
            processor: ProcessorClass::new("B", 1),
            start: blocks[0],
            end: blocks[1],
            input_bytes,
            concurrent: 1,
            time,
            conditions: SampleConditions::default(),
        }
    }

    #[track_caller]
    fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() <= tolerance, "{found} for {expected}");
        }
    }

    /// Blocks of 10 and 20, in tenths of milliseconds, known to 2 and 3; both together take 34.9, known to 6. That is
    /// 4.9 longer than expected, a surprise of variance 4 + 9 + 36 = 49. Each block takes of it what it has of its
    /// variance: 4/49 and 9/49 of 4.9. What is left of their variances is 4 - 4 * 4/49 = 180/49 and
    /// 9 - 9 * 9/49 = 360/49. No hand-over is in a segment that starts the network: it stays as assumed.
    #[test]
    fn a_sample_moves_blocks_by_their_part_of_its_variance() {
        let priors = [prior(10e-4, 2e-4), prior(20e-4, 3e-4)];
        let found = estimate(&priors, &[&sample([0, 2], 77, 34.9e-4, 6e-4)]);
        assert_near(&found.block_seconds, &[10.4e-4, 20.9e-4], ROUNDING);
        let deviations = [180.0, 360.0].map(|variance: f64| (variance / 49.0).sqrt() * 1e-4);
        assert_near(&found.block_deviations, &deviations, ROUNDING);

        let HandOver { seconds, seconds_per_byte } = found.hand_over;
        let assumed = [ASSUMED_HAND_OVER.seconds, ASSUMED_HAND_OVER.seconds_per_byte];
        assert_near(&[seconds, seconds_per_byte], &assumed, ROUNDING);
    }

    /// In hundredths of milliseconds: a block of 40, known to 4, after another one; a hand-over of 2, known to 2; and
    /// what 100000 bytes take, 1, known to 1. Together 48, known to 2, where 43 were expected. The variance of that is
    /// 16 + 4 + 1 + 4 = 25: of the surprise of 5, the block takes 16/25, the hand-over 4/25, and the bytes 1/25. What
    /// is left of the block's variance is 16 - 16 * 16/25 = 144/25. The block before was not in it.
    #[test]
    fn a_segment_within_the_network_also_tells_of_hand_overs() {
        let priors = [prior(30e-5, 3e-5), prior(40e-5, 4e-5)];
        let found = estimate(&priors, &[&sample([1, 2], 100_000, 48e-5, 2e-5)]);
        assert_near(&found.block_seconds, &[30e-5, 43.2e-5], ROUNDING);
        assert_near(&found.block_deviations, &[3e-5, 2.4e-5], ROUNDING);
        assert_near(&[found.hand_over.seconds, found.hand_over.seconds_per_byte], &[2.8e-5, 1.2e-10], ROUNDING);
    }

    /// Samples count with their inverse variances. Next to a prior a million times wider, which takes a part in
    /// 1e12, those of 10 known to 1 and of 15 known to 2 are (4 * 10 + 15) / 5 = 11, and the variance is 1 / (1 + 1/4).
    #[test]
    fn samples_weigh_as_much_as_they_are_certain() {
        let [certain, other] = [(10e-4, 1e-4), (15e-4, 2e-4)].map(|(time, error)| sample([0, 1], 0, time, error));
        let found = estimate(&[prior(10e-4, 100.0)], &[&certain, &other]);
        assert_near(&found.block_seconds, &[11e-4], ROUNDING);
        assert_near(&found.block_deviations, &[0.8_f64.sqrt() * 1e-4], ROUNDING);
    }

    /// A sample without any spread is known to 0.5 %, 6e-6 s here. A prior known to 1000 s takes (6e-6 / 1000)^2 of the
    /// difference: nothing that a float could hold.
    #[test]
    fn a_certain_sample_is_the_answer() {
        let found = estimate(&[prior(1e-3, 1e3)], &[&sample([0, 1], 0, 1.2e-3, 0.0)]);
        assert_near(&found.block_seconds, &[1.2e-3], 4.0 * f64::EPSILON);
        assert_near(&found.block_deviations, &[6e-6], 4.0 * f64::EPSILON);

        // Two blocks known to 1 s each: of what the sample says beyond their 2 ms, a tenth, 1.1e-5^2 / 2 are missing:
        // 6e-12 of the sum. How the sum is divided is known to a second only, and with it only so much less exactly.
        let found = estimate(&[prior(1e-3, 1.0); 2], &[&sample([0, 2], 0, 2.2e-3, 0.0)]);
        assert_near(&[found.block_seconds.iter().sum()], &[2.2e-3], 1e-11);
        assert_near(&found.block_seconds, &[1.1e-3; 2], 1e-5);
    }

    /// A sample known to 1e6 s moves a block known to 1e-4 s by 1e-20 of the surprise: nothing that a float could hold.
    #[test]
    fn an_uncertain_sample_changes_nothing() {
        let priors = [prior(1e-3, 1e-4), prior(2e-3, 3e-4)];
        let found = estimate(&priors, &[&sample([0, 2], 0, 9e-3, 1e6), &sample([1, 2], 50, 9e-3, 1e6)]);
        assert_near(&found.block_seconds, &[1e-3, 2e-3], 4.0 * f64::EPSILON);
        assert_near(&found.block_deviations, &[1e-4, 3e-4], 4.0 * f64::EPSILON);
    }

    /// Where samples leave no time, a block keeps a twentieth of what was expected, and hand-overs cost nothing.
    #[test]
    fn no_time_is_negative() {
        let samples = [sample([0, 1], 0, 10e-4, 0.0), sample([0, 2], 0, 8e-4, 0.0), sample([1, 2], 1000, 1e-9, 0.0)];
        let found = estimate(&[prior(10e-4, 5e-4); 2], &samples.iter().collect::<Vec<_>>());
        assert_near(&found.block_seconds[1..], &[0.5e-4], 4.0 * f64::EPSILON);

        // Of 20e-4, the blocks seem to take 10e-4 each; one alone takes half of that, hand-over included.
        let samples =
            [sample([0, 2], 0, 20e-4, 0.0), sample([0, 1], 0, 10e-4, 0.0), sample([1, 2], 200_000, 5e-4, 0.0)];
        let found = estimate(&[prior(10e-4, 5e-4); 2], &samples.iter().collect::<Vec<_>>());
        assert_eq!((found.hand_over.seconds, found.hand_over.seconds_per_byte), (0.0, 0.0));
    }

    /// Equations of two unknowns that say the same are not positive definite.
    #[test]
    fn without_a_solution_the_prior_stays_with_its_deviations() {
        let expected = [(1e-3, 2e-4), (4e-3, 5e-4)].map(|(mean, deviation)| Expected { mean, deviation });
        // In units of the means: 1 everywhere.
        let precision = DMatrix::from_row_slice(2, 2, &[1e6, 0.25e6, 0.25e6, 0.0625e6]);
        let (means, deviations) = solve_scaled(&precision, &DVector::from_element(2, 1.0), &expected);
        assert_eq!((means, deviations), (vec![1e-3, 4e-3], vec![2e-4, 5e-4]));
    }
}
