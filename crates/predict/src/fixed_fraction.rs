//! What a part of an operator shows of the time that does not shrink with it.

use crate::samples::PartSample;
use crate::statistics::Summary;

/// No more of the time is taken for fixed, however noisy the samples.
pub(crate) const LARGEST_FIXED_FRACTION: f64 = 0.95;

/// With `t(n) = t(N) (f + (1 - f) n / N)`, the `f` that a part and its whole show.
pub(crate) fn fixed_fraction(part: &PartSample, whole: &PartSample) -> f64 {
    let share = part.channels as f64 / part.of as f64;
    let time = part.time.median_seconds / whole.time.median_seconds;
    ((time - share) / (1.0 - share)).clamp(0.0, LARGEST_FIXED_FRACTION)
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    Summary::of(values).map(|summary| summary.median)
}
