use millstream_board::ProcessorClass;

use crate::{PredictError, ProcessorModel, Profile, TimedOperators};

/// A measured operator, and what models that do not know its network say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct UnseenPrediction {
    /// Where it ran.
    pub processor: ProcessorClass,
    /// Whether it is a convolution or a product of matrices.
    pub is_product: bool,
    /// Its time as measured.
    pub measured_seconds: f64,
    /// Its time as predicted.
    pub predicted_seconds: f64,
}

/// Every operator sample of a profile with what models fitted to the other networks predict for it; with what models fitted to all
/// predict where there is only one network.
///
/// # Errors
/// As [`ProcessorModel::fit`], and if the profile's board does not hold.
pub fn predict_unseen(profile: &Profile) -> Result<Vec<UnseenPrediction>, PredictError> {
    let board = profile.board()?;
    let mut all = Vec::new();
    for processor in board.processor_classes().filter(|class| !profile.leaves_out(class)) {
        let observations = TimedOperators::all(profile, &processor);
        let predictions = match ProcessorModel::predict_unseen(&processor, &board, &observations) {
            Some(predictions) => predictions,
            None => {
                let predictor = ProcessorModel::fit(&processor, &board, &observations)?.predictor();
                observations.iter().map(|observation| Some(predictor.of(observation).seconds)).collect()
            }
        };
        for (observation, predicted) in observations.iter().zip(predictions) {
            if let Some(predicted_seconds) = predicted.filter(|seconds| *seconds > 0.0) {
                all.push(UnseenPrediction {
                    processor: processor.clone(),
                    is_product: observation.main.work.gemm.is_some(),
                    measured_seconds: observation.seconds,
                    predicted_seconds,
                });
            }
        }
    }
    Ok(all)
}
