//! How far predictions are from measurements.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::observation::TimedOperators;

/// Parts into which networks are divided; each is predicted from the others.
const FOLDS: usize = 5;
/// The part of all errors that an interval has to contain.
const COVERAGE: f64 = 0.9;

/// Prediction errors, relative to the measured times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Predictions that were compared.
    pub samples: usize,
    /// Mean absolute percentage error, as a fraction.
    pub mape: f64,
    /// The same with every sample weighted by its time.
    pub weighted_mape: f64,
    /// Nine in ten predictions are within this, relative to them.
    pub interval: f64,
}

impl Accuracy {
    /// Compares pairs of predicted and measured seconds; `None` without any.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let error = |(predicted, measured): &(f64, f64)| (predicted - measured).abs();
        let total: f64 = pairs.iter().map(|(_, measured)| measured).sum();
        let mut spread: Vec<f64> = pairs.iter().map(|pair| error(pair) / pair.0.max(f64::MIN_POSITIVE)).collect();
        spread.sort_unstable_by(f64::total_cmp);
        let rank = ((COVERAGE * (count + 1.0)).ceil() as usize).clamp(1, spread.len());
        Some(Self {
            samples: pairs.len(),
            mape: pairs.iter().map(|pair| error(pair) / pair.1).sum::<f64>() / count,
            weighted_mape: pairs.iter().map(error).sum::<f64>() / total,
            interval: spread[rank - 1],
        })
    }
}

/// Predicts every observation from those of other networks. `fit` gets the observations to learn from and those to
/// predict, and returns one prediction for each of the latter, if it can make any. `None` with fewer than two networks.
pub fn cross_validate<'a, 'b>(
    observations: &'b [TimedOperators<'a>],
    mut fit: impl FnMut(&[&'b TimedOperators<'a>], &[&'b TimedOperators<'a>]) -> Option<Vec<f64>>,
) -> Option<Vec<Option<f64>>> {
    let networks: BTreeSet<&str> = observations.iter().map(|observation| observation.network).collect();
    let folds = FOLDS.min(networks.len());
    if folds < 2 {
        return None;
    }
    let fold_of = |observation: &TimedOperators<'_>| {
        networks.iter().position(|network| *network == observation.network).map_or(0, |position| position % folds)
    };
    let mut predictions = vec![None; observations.len()];
    for fold in 0..folds {
        let (held_out, learned): (Vec<usize>, Vec<usize>) =
            (0..observations.len()).partition(|&index| fold_of(&observations[index]) == fold);
        let select = |indices: &[usize]| indices.iter().map(|&index| &observations[index]).collect::<Vec<_>>();
        if let Some(predicted) = fit(&select(&learned), &select(&held_out)) {
            for (index, prediction) in held_out.into_iter().zip(predicted) {
                predictions[index] = Some(prediction);
            }
        }
    }
    Some(predictions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_hand_computed_case() {
        let accuracy = Accuracy::of(&[(1.1, 1.0), (9.0, 10.0)]).unwrap();
        assert!((accuracy.mape - 0.1).abs() < 1e-12 && (accuracy.weighted_mape - 0.1).abs() < 1e-12);
        assert!((accuracy.interval - 1.0 / 9.0).abs() < 1e-12, "{accuracy:?}");
        assert_eq!(Accuracy::of(&[]), None);
    }
}
