//! What handing data from cluster to cluster takes.

use millstream_cost::TransferModel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::line::{Line, Weighting};
use crate::samples::TransferSample;

/// Fits latency and bandwidth to samples of one pair. Negative estimates, which noise can cause, become zero.
///
/// # Errors
/// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] with fewer than two sizes.
pub fn fit_transfer(samples: &[&TransferSample]) -> Result<TransferModel, PredictError> {
    let points: Vec<(f64, f64)> =
        samples.iter().map(|sample| (sample.bytes as f64, sample.time.median_seconds)).collect();
    let line = Line::fit("transfers", &points, Weighting::Absolute)?;
    Ok(TransferModel {
        latency_seconds: line.intercept.max(0.0),
        seconds_per_byte: line.slope.max(0.0),
        conversion_seconds_per_byte: 0.0,
        blocks: None,
    })
}

/// What handing data from a core of one cluster to a core of another takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterTransfer {
    /// Label of the cluster that made the data.
    pub from: String,
    /// Label of the cluster that reads it.
    pub to: String,
    /// What it takes.
    pub model: TransferModel,
}

/// Fits every ordered pair of clusters that was measured.
pub(crate) fn fit_transfers(samples: &[TransferSample]) -> Result<Vec<ClusterTransfer>, PredictError> {
    let mut pairs: Vec<(&str, &str)> =
        samples.iter().map(|sample| (sample.from.as_str(), sample.to.as_str())).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let fit = |(from, to): (&str, &str)| {
        let pair_samples: Vec<&TransferSample> =
            samples.iter().filter(|sample| sample.from == from && sample.to == to).collect();
        Ok(ClusterTransfer { from: from.to_owned(), to: to.to_owned(), model: fit_transfer(&pair_samples)? })
    };
    pairs.into_iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Statistics;

    #[test]
    fn latency_and_bandwidth_are_recovered() {
        let sample = |bytes: u64| TransferSample {
            from: "B".into(),
            to: "s".into(),
            bytes,
            time: Statistics { median_seconds: 2e-6 + bytes as f64 / 4e9, mad_seconds: 0.0, repetitions: 9 },
        };
        let fitted = fit_transfers(&[sample(4096), sample(1 << 20), sample(65536)]).unwrap();
        let [ClusterTransfer { from, to, model }] = fitted.as_slice() else { panic!("{fitted:?}") };
        assert_eq!((from.as_str(), to.as_str()), ("B", "s"));
        assert!((model.latency_seconds - 2e-6).abs() < 1e-12 && (model.seconds_per_byte * 4e9 - 1.0).abs() < 1e-6);
        assert!((model.seconds(4_000_000) - 1.002e-3).abs() < 1e-9);
        assert!(fit_transfers(&[sample(4096)]).is_err());
        // Noise can have larger transfers take less, and small ones less than nothing.
        let noisy = |bytes: u64, median_seconds: f64| TransferSample {
            time: Statistics { median_seconds, mad_seconds: 0.0, repetitions: 9 },
            ..sample(bytes)
        };
        let falling = fit_transfers(&[noisy(1000, 2e-6), noisy(2000, 1e-6)]).unwrap();
        assert_eq!((falling[0].model.seconds_per_byte, falling[0].model.latency_seconds > 0.0), (0.0, true));
        let steep = fit_transfers(&[noisy(1000, 1e-6), noisy(2000, 3e-6)]).unwrap();
        assert_eq!((steep[0].model.latency_seconds, steep[0].model.seconds_per_byte > 0.0), (0.0, true));
    }
}
