//! Times by thread granularity (Motamedi et al., TECS 2017, equations 8 to 13).

use std::collections::BTreeMap;

use crate::error::PredictError;
use crate::line::{Line, Weighting};

/// How many outputs one thread computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Granularity(pub u32);

impl Granularity {
    /// The granularities that are considered (thread granularity, equation 4).
    pub const ALL: [Self; 6] = [Self(1), Self(2), Self(4), Self(8), Self(16), Self(32)];
}

/// Time of a convolution by its multiply-accumulates: one line per granularity, at one clock frequency (thread
/// granularity, equations 8 to 13).
#[derive(Debug, Clone, PartialEq)]
pub struct GranularityModel {
    hertz: f64,
    lines: BTreeMap<Granularity, Line>,
}

/// A measured convolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GranularitySample {
    /// The granularity that it ran with.
    pub granularity: Granularity,
    /// Its multiply-accumulates (thread granularity, equation 5).
    pub macs: u64,
    /// Its time.
    pub seconds: f64,
}

impl GranularityModel {
    /// A model with given lines, in seconds by multiply-accumulates, that hold at `hertz`.
    pub fn new(hertz: f64, lines: impl IntoIterator<Item = (Granularity, Line)>) -> Self {
        Self { hertz, lines: lines.into_iter().collect() }
    }

    /// Fits a line per granularity to samples that were taken at one frequency.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] if a granularity has too few different
    /// convolutions.
    pub fn fit(hertz: f64, samples: &[GranularitySample]) -> Result<Self, PredictError> {
        let mut points: BTreeMap<Granularity, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in samples {
            points.entry(sample.granularity).or_default().push((sample.macs as f64, sample.seconds));
        }
        if points.is_empty() {
            return Err(PredictError::TooFewSamples { what: "granularities".to_owned(), found: 0, needed: 2 });
        }
        let fit = |(granularity, points): (Granularity, Vec<(f64, f64)>)| {
            Ok((granularity, Line::fit(&format!("granularity {}", granularity.0), &points, Weighting::Absolute)?))
        };
        Ok(Self { hertz, lines: points.into_iter().map(fit).collect::<Result<_, PredictError>>()? })
    }

    /// The clock frequency at which the lines hold.
    pub fn hertz(&self) -> f64 {
        self.hertz
    }

    /// The lines.
    pub fn lines(&self) -> &BTreeMap<Granularity, Line> {
        &self.lines
    }

    /// The model at another frequency: times are inversely proportional to it (thread granularity, equation 14).
    #[must_use]
    pub fn at_frequency(&self, hertz: f64) -> Self {
        let factor = self.hertz / hertz;
        Self {
            hertz,
            lines: self.lines.iter().map(|(&granularity, line)| (granularity, line.scaled(factor))).collect(),
        }
    }

    /// Predicted time; `None` for a granularity without a line.
    pub fn seconds(&self, granularity: Granularity, macs: u64) -> Option<f64> {
        self.lines.get(&granularity).map(|line| line.at(macs as f64))
    }

    /// The granularity with the shortest predicted time, the finest of equals; `None` without lines.
    pub fn best(&self, macs: u64) -> Option<Granularity> {
        let times = self.lines.iter().map(|(&granularity, line)| (granularity, line.at(macs as f64)));
        times.min_by(|(_, left), (_, right)| left.total_cmp(right)).map(|(granularity, _)| granularity)
    }

    /// The best granularity over growing work: from how many multiply-accumulates on each is the best, from 0.
    pub fn regions(&self) -> Vec<(f64, Granularity)> {
        let by_start = |left: &Line, right: &Line| {
            left.intercept.total_cmp(&right.intercept).then(left.slope.total_cmp(&right.slope))
        };
        let lines = || self.lines.iter().map(|(&granularity, &line)| (granularity, line));
        let Some((first, mut line)) = lines().min_by(|(_, left), (_, right)| by_start(left, right)) else {
            return Vec::new();
        };
        let mut regions = vec![(0.0, first)];
        let mut from = 0.0;
        loop {
            // Only a flatter line can overtake; where several do at once, the flattest goes on as the best.
            let overtaking = lines().filter(|(_, other)| other.slope < line.slope);
            let crossings =
                overtaking.filter_map(|(granularity, other)| Some((line.crossing(other)?, granularity, other)));
            let next = crossings
                .filter(|(at, _, _)| *at >= from)
                .min_by(|left, right| left.0.total_cmp(&right.0).then(left.2.slope.total_cmp(&right.2.slope)));
            let Some((at, granularity, other)) = next else { return regions };
            regions.push((at, granularity));
            (from, line) = (at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> GranularityModel {
        GranularityModel::new(
            1e9,
            [
                (Granularity(1), Line::new(3.0, 0.0)),
                (Granularity(2), Line::new(2.0, 4.0)),
                (Granularity(4), Line::new(1.0, 30.0)),
            ],
        )
    }

    #[test]
    fn regions_are_where_the_best_changes() {
        assert_eq!(model().regions(), [(0.0, Granularity(1)), (4.0, Granularity(2)), (26.0, Granularity(4))]);
        for (macs, best) in [(0, 1), (3, 1), (5, 2), (25, 2), (27, 4), (1_000_000, 4)] {
            assert_eq!(model().best(macs), Some(Granularity(best)), "{macs}");
        }
    }

    #[test]
    fn frequency_scales_all_lines() {
        let faster = model().at_frequency(2e9);
        assert_eq!(faster.seconds(Granularity(2), 8), Some(10.0));
        assert_eq!(faster.best(25), model().best(25));
        assert_eq!(faster.seconds(Granularity(64), 8), None);
    }

    #[test]
    fn lines_are_recovered_from_samples() {
        let samples: Vec<GranularitySample> = model()
            .lines()
            .iter()
            .flat_map(|(&granularity, line)| {
                [1_u64, 10, 100].map(|macs| GranularitySample { granularity, macs, seconds: line.at(macs as f64) })
            })
            .collect();
        let fitted = GranularityModel::fit(1e9, &samples).unwrap();
        for (granularity, line) in model().lines() {
            let found = fitted.lines()[granularity];
            assert!((found.slope - line.slope).abs() < 1e-9 && (found.intercept - line.intercept).abs() < 1e-9);
        }
        let error = GranularityModel::fit(1e9, &samples[..4]).unwrap_err().to_string();
        assert!(error.contains("granularity 2"), "{error}");
    }
}
