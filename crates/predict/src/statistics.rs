//! Summaries of repeated measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A repeated measurement, summarised robustly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Median time.
    pub median_seconds: f64,
    /// Median absolute deviation from the median.
    pub mad_seconds: f64,
    /// How many times it was measured.
    pub repetitions: usize,
}

impl Statistics {
    /// Summarises times; `None` if there are none.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        let Summary { median, deviation } = Summary::of(seconds)?;
        Some(Self { median_seconds: median, mad_seconds: deviation, repetitions: seconds.len() })
    }

    /// Standard error of the median, for normally distributed noise: 1.4826 MAD estimates the standard deviation, and
    /// the median is 1.2533 times less certain than the mean.
    pub fn standard_error_seconds(&self) -> f64 {
        1.2533 * 1.4826 * self.mad_seconds / (self.repetitions.max(1) as f64).sqrt()
    }
}

/// Values of any unit, summarised robustly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Their median.
    pub median: f64,
    /// Median absolute deviation from it.
    pub deviation: f64,
}

impl Summary {
    /// Summarises values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let centre = median(values)?;
        let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
        Some(Self { median: centre, deviation: median(&deviations)? })
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_deviations() {
        let statistics = Statistics::of(&[5.0, 1.0, 2.0, 100.0]).unwrap();
        assert_eq!((statistics.median_seconds, statistics.mad_seconds, statistics.repetitions), (3.5, 2.0, 4));
        assert_eq!(Statistics::of(&[7.0]).unwrap().standard_error_seconds(), 0.0);
        assert_eq!(Statistics::of(&[]), None);
        // That of a median of normal samples, whose standard deviation is 1.4826 times their deviation: both factors,
        // over the square root of four.
        assert!((statistics.standard_error_seconds() - 1.2533 * 1.4826 * 2.0 / 2.0).abs() < 1e-12);
    }
}
