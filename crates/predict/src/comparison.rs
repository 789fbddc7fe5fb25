//! The published models and ours on the same samples.

use std::collections::{BTreeMap, HashSet};

use millstream_board::{Board, ProcessorClass};
use millstream_graph::{Family, GemmShape};

use crate::error::PredictError;
use crate::line::{Line, Weighting};
use crate::model::{Accuracy, ProcessorModel, TimedOperators, cross_validate};
use crate::profile::Profile;
use crate::published::{
    ConvolutionSize, CpuUnitModel, FullyConnectedModel, FullyConnectedSample, GemmModel, MulticoreModel,
    MulticoreSample,
};

/// Rows of the product that an iteration is assumed to make; with an even split it cancels out of equation 8.
pub(crate) const TILE_ROWS: u64 = 16;
/// What our model is called.
const DEFAULT: &str = "default (non-negative, relative errors)";

/// How well one model predicts the operators of a family in networks that it did not see.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelComparison {
    /// Convolutions or fully connected layers.
    pub family: Family,
    /// The processor class.
    pub processor: ProcessorClass,
    /// The model, with its source.
    pub model: &'static str,
    /// Errors per operator, in cross-validation grouped by network.
    pub accuracy: Accuracy,
    /// Mean over networks of the error of the sum of their operators of the family, relative to it.
    pub network_error: f64,
}

type Fit<'f> = dyn for<'a, 'b> Fn(&[&'b TimedOperators<'a>], &[&'b TimedOperators<'a>]) -> Option<Vec<f64>> + 'f;

/// Compares models on the convolutions (in one group) and the fully connected layers of a profile, for each processor
/// class of its board. A model that the samples do not determine is left out.
///
/// # Errors
/// [`PredictError::TooFewSamples`] if the profile has samples of fewer than two networks, which cross-validation needs,
/// and what [`Profile::board`] returns.
pub fn compare(profile: &Profile) -> Result<Vec<ModelComparison>, PredictError> {
    let board = profile.board()?;
    let mut rows = Vec::new();
    for class in board.core_classes().filter(|class| !profile.leaves_out(class)) {
        let convolutions = of_family(profile, &class, Family::Convolution);
        let networks: HashSet<&str> = convolutions.iter().map(|observation| observation.network).collect();
        if networks.len() < 2 {
            let what = format!("networks with convolutions on {class}");
            return Err(PredictError::TooFewSamples { what, found: networks.len(), needed: 2 });
        }

        let one_core = ProcessorClass { count: 1, ..class.clone() };
        let single = of_family(profile, &one_core, Family::Convolution);
        let default = |learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]| {
            default(&class, &board, learned, held_out)
        };
        let multicore = |learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]| {
            multicore(class.count, &single, learned, held_out)
        };

        let mut models: Vec<(&'static str, &Fit<'_>)> = vec![(DEFAULT, &default), ("Pipe-it, eq. 5", &gemm)];
        if class.count > 1 {
            models.push(("Pipe-it, eq. 5 on one core and eq. 8", &multicore));
        }
        models.push(("co-scheduling, eq. 10-11", &unit));
        models.push(("thread granularity, eq. 6-7", &macs));
        for (name, fit) in models {
            rows.extend(row(Family::Convolution, &class, name, &convolutions, fit));
        }

        let layers = of_family(profile, &class, Family::FullyConnected);
        let models: [(&'static str, &Fit<'_>); 2] = [(DEFAULT, &default), ("Pipe-it, section V-D", &fully_connected)];
        for (name, fit) in models {
            rows.extend(row(Family::FullyConnected, &class, name, &layers, fit));
        }
    }
    Ok(rows)
}

/// The samples of a family whose operators amount to a matrix product.
pub(crate) fn of_family<'a>(profile: &'a Profile, class: &ProcessorClass, family: Family) -> Vec<TimedOperators<'a>> {
    let mut all = TimedOperators::all(profile, class);
    all.retain(|observation| observation.main.family() == family && observation.main.work.gemm.is_some());
    all
}

fn row(
    family: Family,
    processor: &ProcessorClass,
    model: &'static str,
    observations: &[TimedOperators<'_>],
    fit: &Fit<'_>,
) -> Option<ModelComparison> {
    let predictions = cross_validate(observations, |learned, held_out| fit(learned, held_out))?;
    let mut networks: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (observation, predicted) in observations.iter().zip(predictions) {
        let predicted = predicted?;
        pairs.push((predicted, observation.seconds));
        let sums = networks.entry(observation.network).or_default();
        sums.0 += predicted;
        sums.1 += observation.seconds;
    }
    let errors: f64 = networks.values().map(|(predicted, measured)| (predicted / measured - 1.0).abs()).sum();
    let network_error = errors / networks.len() as f64;
    Some(ModelComparison {
        family,
        processor: processor.clone(),
        model,
        accuracy: Accuracy::of(&pairs)?,
        network_error,
    })
}

fn default(
    class: &ProcessorClass,
    board: &Board,
    learned: &[&TimedOperators<'_>],
    held_out: &[&TimedOperators<'_>],
) -> Option<Vec<f64>> {
    let learned: Vec<TimedOperators<'_>> = learned.iter().map(|observation| (*observation).clone()).collect();
    let predictor = ProcessorModel::fit_unvalidated(class, board, &learned).ok()?.predictor();
    Some(held_out.iter().map(|observation| predictor.of(observation).seconds).collect())
}

fn shape(observation: &TimedOperators<'_>) -> GemmShape {
    observation.main.work.gemm.unwrap_or(GemmShape { n: 0, k: 0, m: 0 })
}

/// Equation 5, fitted to such samples; `None` if they do not determine it.
pub(crate) fn fit_gemm(observations: &[&TimedOperators<'_>]) -> Option<GemmModel> {
    let samples: Vec<_> = observations.iter().map(|observation| (shape(observation), observation.seconds)).collect();
    GemmModel::fit(&samples).ok()
}

fn gemm(learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]) -> Option<Vec<f64>> {
    let model = fit_gemm(learned)?;
    Some(held_out.iter().map(|observation| model.seconds(&shape(observation))).collect())
}

fn multicore(
    cores: usize,
    single: &[TimedOperators<'_>],
    learned: &[&TimedOperators<'_>],
    held_out: &[&TimedOperators<'_>],
) -> Option<Vec<f64>> {
    let cores = cores as u64;
    let networks: HashSet<&str> = learned.iter().map(|observation| observation.network).collect();
    let single: Vec<&TimedOperators<'_>> =
        single.iter().filter(|observation| networks.contains(observation.network)).collect();
    let one_core = fit_gemm(&single)?;
    let sample = |observation: &TimedOperators<'_>, cores: u64| MulticoreSample {
        n: shape(observation).n,
        cores,
        single_core_seconds: one_core.seconds(&shape(observation)),
        seconds: observation.seconds,
    };
    let samples: Vec<MulticoreSample> = single
        .iter()
        .map(|observation| sample(observation, 1))
        .chain(learned.iter().map(|observation| sample(observation, cores)))
        .collect();
    let model = MulticoreModel::fit(TILE_ROWS, &samples).ok()?;
    let predict = |observation: &&TimedOperators<'_>| {
        let shape = shape(observation);
        model.seconds(shape.n, cores, one_core.seconds(&shape))
    };
    Some(held_out.iter().map(predict).collect())
}

fn unit(learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]) -> Option<Vec<f64>> {
    let size = |observation: &TimedOperators<'_>| {
        let GemmShape { n, k, m } = shape(observation);
        ConvolutionSize { input: 0, filter: k, output: n, normalisation: 0, filters: m }
    };
    let samples: Vec<_> = learned.iter().map(|observation| (size(observation), observation.seconds)).collect();
    let model = CpuUnitModel::fit(&samples, Weighting::Absolute).ok()?;
    Some(held_out.iter().map(|observation| model.seconds(&size(observation), size(observation).filters)).collect())
}

fn macs(learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]) -> Option<Vec<f64>> {
    let point = |observation: &&TimedOperators<'_>| (observation.main.work.macs as f64, observation.seconds);
    let line = Line::fit("convolutions", &learned.iter().map(point).collect::<Vec<_>>(), Weighting::Absolute).ok()?;
    Some(held_out.iter().map(|observation| line.at(observation.main.work.macs as f64)).collect())
}

fn fully_connected(learned: &[&TimedOperators<'_>], held_out: &[&TimedOperators<'_>]) -> Option<Vec<f64>> {
    let sample = |observation: &&TimedOperators<'_>| {
        let GemmShape { n, k, m } = shape(observation);
        FullyConnectedSample { inputs: n * k, neurons: m, seconds: observation.seconds }
    };
    let model = FullyConnectedModel::fit(&learned.iter().map(sample).collect::<Vec<_>>()).ok()?;
    let predict = |observation: &&TimedOperators<'_>| {
        let FullyConnectedSample { inputs, neurons, .. } = sample(observation);
        model.seconds(inputs, neurons)
    };
    Some(held_out.iter().map(predict).collect())
}
