//! Pipe-it's times of fully connected layers (section V-D).

use std::collections::BTreeMap;

use crate::error::PredictError;
use crate::line::{Line, Weighting};

/// Time of fully connected layers: for each number of neurons, linear in the size of the input (Pipe-it, section V-D).
#[derive(Debug, Clone, PartialEq)]
pub struct FullyConnectedModel {
    lines: BTreeMap<u64, Line>,
}

/// A measured fully connected layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FullyConnectedSample {
    /// Elements of its input.
    pub inputs: u64,
    /// Elements of its output.
    pub neurons: u64,
    /// Its time.
    pub seconds: f64,
}

impl FullyConnectedModel {
    /// Fits a line for every number of neurons with at least two input sizes.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] if there is no such number of neurons.
    pub fn fit(samples: &[FullyConnectedSample]) -> Result<Self, PredictError> {
        let mut points: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in samples {
            points.entry(sample.neurons).or_default().push((sample.inputs as f64, sample.seconds));
        }
        let fitted = points
            .iter()
            .filter_map(|(&neurons, points)| Some((neurons, Line::fit("layers", points, Weighting::Absolute).ok()?)));
        let lines: BTreeMap<u64, Line> = fitted.collect();
        if lines.is_empty() {
            let what = "fully connected layers with the same number of neurons and different inputs".to_owned();
            return Err(PredictError::TooFewSamples { what, found: samples.len().min(1), needed: 2 });
        }
        Ok(Self { lines })
    }

    /// Predicted time. A number of neurons that was not measured takes its share of the nearest one's time, which the
    /// paper leaves open.
    pub fn seconds(&self, inputs: u64, neurons: u64) -> f64 {
        let distance = |known: u64| (known as f64 / neurons.max(1) as f64).ln().abs();
        let nearest = self.lines.iter().min_by(|(left, _), (right, _)| distance(**left).total_cmp(&distance(**right)));
        nearest.map_or(0.0, |(&known, line)| line.at(inputs as f64) * neurons as f64 / known.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_number_of_neurons() {
        let samples = [(100, 10, 3.0), (200, 10, 5.0), (100, 1000, 300.0), (300, 1000, 700.0), (5, 77, 1.0)];
        let samples = samples.map(|(inputs, neurons, seconds)| FullyConnectedSample { inputs, neurons, seconds });
        let model = FullyConnectedModel::fit(&samples).unwrap();
        assert!((model.seconds(300, 10) - 7.0).abs() < 1e-9 && (model.seconds(200, 1000) - 500.0).abs() < 1e-9);
        assert!((model.seconds(200, 500) - 250.0).abs() < 1e-9);
        assert!(FullyConnectedModel::fit(&samples[3..]).unwrap_err().to_string().contains("fully connected"));
    }
}
