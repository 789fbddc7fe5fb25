//! How well models fitted to some networks predict others.

use millstream_board::ProcessorClass;
use millstream_graph::Family;

use crate::comparison::{fit_gemm, of_family};
use crate::error::PredictError;
use crate::model::{Accuracy, Fusion, TimedOperators};
use crate::models::{CostModels, predict_block};
use crate::profile::{NetworkProfile, Profile};

/// Errors of predictions for one network that was not learned from.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutErrors {
    /// The network.
    pub network: String,
    /// The processor class.
    pub processor: ProcessorClass,
    /// Time of the whole network as measured, or of what the processor runs of it: in one piece if that was measured,
    /// else the sum of its operators.
    pub measured_seconds: f64,
    /// The sum of the predictions.
    pub predicted_seconds: f64,
    /// Errors of single operators.
    pub operators: Accuracy,
    /// Errors of its convolutions by our model.
    pub convolutions: Option<Accuracy>,
    /// Errors of its convolutions by Pipe-it's equation 5, fitted to the same samples.
    pub convolutions_by_gemm: Option<Accuracy>,
}

/// Predicts every network of `test` that `learned` does not have from models fitted to `learned`.
///
/// # Errors
/// [`PredictError::OtherBoard`] if the profiles are of different boards, [`PredictError::MissingModel`] if the models
/// lack a processor, [`PredictError::TooFewSamples`] if `test` has no operator samples of other networks.
pub fn evaluate(models: &CostModels, learned: &Profile, test: &Profile) -> Result<Vec<HeldOutErrors>, PredictError> {
    let board = test.board()?;
    learned.check_board(&board)?;
    let mut rows = Vec::new();
    for class in board.core_classes().filter(|class| !learned.leaves_out(class)) {
        let fusion = Fusion::new(&models.fusions, class.engine);
        let model = models.processors.iter().find(|model| model.processor == class);
        let predictor = model.ok_or_else(|| PredictError::MissingModel { class: class.clone() })?.predictor();
        let convolutions = of_family(learned, &class, Family::Convolution);
        let gemm = fit_gemm(&convolutions.iter().collect::<Vec<_>>());
        for network in &test.networks {
            if learned.network(&network.digest).is_some() {
                continue;
            }

            let observations = TimedOperators::of_network(network, &class);
            let pairs: Vec<(f64, f64)> = observations
                .iter()
                .map(|observation| (predictor.of(observation).seconds, observation.seconds))
                .collect();
            let Some(operators) = Accuracy::of(&pairs) else { continue };
            let convolutions = || {
                let pairs = observations.iter().zip(&pairs);
                pairs.filter(|(observation, _)| observation.main.family() == Family::Convolution)
            };
            let ours: Vec<(f64, f64)> = convolutions().map(|(_, &pair)| pair).collect();
            let theirs: Option<Vec<(f64, f64)>> = gemm.as_ref().map(|gemm| {
                let predict =
                    |observation: &TimedOperators<'_>| observation.main.work.gemm.map(|shape| gemm.seconds(&shape));
                convolutions().filter_map(|(observation, pair)| Some((predict(observation)?, pair.1))).collect()
            });

            // Of a network that runs there in part, what was measured.
            let is_partial = network.blocks_run_on(&class).contains(&false);
            let all = || network.blocks.iter().flat_map(|block| predict_block(&predictor, &fusion, block));
            let of_all = || all().map(|time| time.seconds).sum::<f64>();
            let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
            rows.push(HeldOutErrors {
                network: network.name.clone(),
                processor: class.clone(),
                measured_seconds: whole_seconds(network, &class).unwrap_or_else(|| sum(|pair| pair.1)),
                predicted_seconds: if is_partial { sum(|pair| pair.0) } else { of_all() },
                operators,
                convolutions: Accuracy::of(&ours),
                convolutions_by_gemm: theirs.and_then(|pairs| Accuracy::of(&pairs)),
            });
        }
    }

    if rows.is_empty() {
        let what = "networks that the models were not fitted to".to_owned();
        return Err(PredictError::TooFewSamples { what, found: 0, needed: 1 });
    }
    Ok(rows)
}

/// The measured time of the network in one piece.
fn whole_seconds(network: &NetworkProfile, class: &ProcessorClass) -> Option<f64> {
    let whole = network
        .samples
        .iter()
        .find(|sample| sample.processor == *class && sample.start == 0 && sample.end == network.blocks.len())?;
    Some(whole.time.median_seconds)
}
