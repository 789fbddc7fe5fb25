//! How well cost models predict operators of networks that they were not fitted to.

use millstream_board::ProcessorClass;

use crate::error::PredictError;
use crate::model::{ProcessorModel, TimedOperators};
use crate::profile::Profile;

/// A measured operator, and what cost models say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorPrediction {
    /// Where it ran.
    pub processor: ProcessorClass,
    /// Whether it is a convolution or a product of matrices.
    pub is_product: bool,
    /// Its time as measured.
    pub measured_seconds: f64,
    /// Its time as predicted.
    pub predicted_seconds: f64,
    /// Whether the models were fitted to other networks only. False where the profile has one network: they know the
    /// sample then.
    pub is_unseen: bool,
}

/// Every operator sample of a profile with what models fitted to the other networks predict for it. Where the profile
/// has one network, models fitted to that one predict, and [`OperatorPrediction::is_unseen`] is false.
///
/// # Errors
/// As [`ProcessorModel::fit`], and if the profile's board does not hold.
pub fn predict_unseen(profile: &Profile) -> Result<Vec<OperatorPrediction>, PredictError> {
    let board = profile.board()?;
    let mut all = Vec::new();
    for processor in board.processor_classes().filter(|class| !profile.leaves_out(class)) {
        let observations = TimedOperators::all(profile, &processor);
        let unseen = ProcessorModel::predict_unseen(&processor, &board, &observations);
        let is_unseen = unseen.is_some();
        let predictions = match unseen {
            Some(predictions) => predictions,
            None => {
                let predictor = ProcessorModel::fit(&processor, &board, &observations)?.predictor();
                observations.iter().map(|observation| Some(predictor.of(observation).seconds)).collect()
            }
        };
        for (observation, predicted) in observations.iter().zip(predictions) {
            if let Some(predicted_seconds) = predicted.filter(|seconds| *seconds > 0.0) {
                all.push(OperatorPrediction {
                    processor: processor.clone(),
                    is_product: observation.main.work.gemm.is_some(),
                    measured_seconds: observation.seconds,
                    predicted_seconds,
                    is_unseen,
                });
            }
        }
    }
    Ok(all)
}
