//! Which formula predicts an accelerator's convolutions best, by what was measured there.

use std::collections::{BTreeMap, BTreeSet};

use millstream_board::{Board, ProcessorClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::GranularityLine;
use crate::convolution_size::convolution_size;
use crate::granularity_choice::GranularityChoice;
use crate::line::{Line, Weighting};
use crate::model::{ProcessorModel, TimedOperators};
use crate::published::{AcceleratorModel, Buffering, Coherence, ConvolutionSize};
use crate::samples::{GranularityRecord, OperatorRecord};

/// Convolutions of as many different shapes are needed to tell formulas apart.
const FEWEST_SHAPES: usize = 5;
/// Parts into which the shapes are divided; each is predicted from the others.
const FOLDS: usize = 5;
/// Errors that differ by less are equal: the default stays.
const ROUNDING: f64 = 1e-9;
/// Numbers of processing elements that are tried where the board does not say how many there are.
const PROCESSING_ELEMENTS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// How well each formula predicts an accelerator's convolutions of shapes that it did not see, and the best one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvolutionChoice {
    /// The formula, where it is better than the default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<ConvolutionFormula>,
    /// Mean absolute percentage errors on shapes that were left out, as fractions, of all that could be fitted.
    pub errors: BTreeMap<FormulaName, f64>,
}

/// The time of a convolution on an accelerator, without transfers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConvolutionFormula {
    /// Channels in waves of processing elements (co-scheduling, equations 2 and 3). What moving data takes was measured
    /// apart, so the lines of equations 4 to 7 are 0.
    ProcessingElements(AcceleratorModel),
    /// The quickest of the lines over multiply-accumulates, one per policy and granularity (thread granularity,
    /// equations 8 to 13).
    Granularity(Vec<GranularityLine>),
}

/// The formulas that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormulaName {
    /// The default model, by amounts of work.
    Default,
    /// [`ConvolutionFormula::ProcessingElements`].
    ProcessingElements,
    /// [`ConvolutionFormula::Granularity`].
    Granularity,
}

impl std::fmt::Display for FormulaName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Default => "default model",
            Self::ProcessingElements => "waves of processing elements (co-scheduling, eq. 2-3)",
            Self::Granularity => "lines by thread granularity (eq. 8-13)",
        })
    }
}

impl ConvolutionChoice {
    /// What predicts the convolutions.
    pub fn chosen(&self) -> FormulaName {
        match &self.formula {
            None => FormulaName::Default,
            Some(ConvolutionFormula::ProcessingElements(_)) => FormulaName::ProcessingElements,
            Some(ConvolutionFormula::Granularity(_)) => FormulaName::Granularity,
        }
    }
}

impl ConvolutionFormula {
    /// The time of a convolution; `None` for one with groups, and for everything else.
    pub fn seconds(&self, operator: &OperatorRecord) -> Option<f64> {
        let size = convolution_size(operator)?;
        let seconds = match self {
            Self::ProcessingElements(model) => model.latency(&size, size.filters).computation_seconds,
            Self::Granularity(lines) => {
                lines.iter().map(|fitted| fitted.line.at(operator.work.macs as f64)).min_by(f64::total_cmp)?
            }
        };
        // A fitted line may be below 0 for next to nothing.
        Some(seconds.max(0.0))
    }
}

/// What was measured of an accelerator's convolutions.
pub(crate) struct MeasuredConvolutions<'a> {
    class: &'a ProcessorClass,
    board: &'a Board,
    /// Operators whose main one is a convolution without groups.
    observations: Vec<TimedOperators<'a>>,
    records: Vec<&'a GranularityRecord>,
}

impl<'a> MeasuredConvolutions<'a> {
    pub(crate) fn new(
        class: &'a ProcessorClass,
        board: &'a Board,
        observations: &[TimedOperators<'a>],
        records: &'a [GranularityRecord],
    ) -> Self {
        let is_usable = |observation: &&TimedOperators<'a>| {
            observation.seconds > 0.0 && convolution_size(observation.main).is_some()
        };
        Self {
            class,
            board,
            observations: observations.iter().filter(is_usable).cloned().collect(),
            records: records.iter().filter(|record| record.accelerator == class.cluster).collect(),
        }
    }

    /// The formula with the least error on shapes that it did not see. `None` with too few shapes to tell.
    pub(crate) fn choice(&self) -> Option<ConvolutionChoice> {
        let shapes: BTreeSet<Shape> = self.observations.iter().map(|observation| Shape::of(observation.main)).collect();
        if shapes.len() < FEWEST_SHAPES {
            return None;
        }
        let fold_of: BTreeMap<Shape, usize> =
            shapes.into_iter().enumerate().map(|(position, shape)| (shape, position % FOLDS)).collect();
        let names = [FormulaName::Default, FormulaName::ProcessingElements, FormulaName::Granularity];
        let errors: BTreeMap<FormulaName, f64> =
            names.into_iter().filter_map(|name| Some((name, self.unseen_error(name, &fold_of)?))).collect();

        let by_default = errors.get(&FormulaName::Default).copied().unwrap_or(f64::INFINITY);
        let mut better: Vec<(FormulaName, f64)> = errors
            .iter()
            .map(|(&name, &error)| (name, error))
            .filter(|(_, error)| *error < by_default - ROUNDING)
            .collect();
        better.sort_by(|one, other| one.1.total_cmp(&other.1));
        let everything: Vec<&TimedOperators<'a>> = self.observations.iter().collect();
        let formula = better.into_iter().find_map(|(name, _)| self.fitted(name, &everything, &BTreeSet::new()));
        Some(ConvolutionChoice { formula, errors })
    }

    /// The mean error of a formula where each fold is predicted from the others; `None` if it can't be fitted.
    fn unseen_error(&self, name: FormulaName, fold_of: &BTreeMap<Shape, usize>) -> Option<f64> {
        let mut errors = Vec::new();
        for fold in 0..FOLDS {
            let is_held_out =
                |observation: &&TimedOperators<'a>| fold_of.get(&Shape::of(observation.main)) == Some(&fold);
            let (held_out, learned): (Vec<&TimedOperators<'a>>, Vec<_>) =
                self.observations.iter().partition(is_held_out);
            let unseen: BTreeSet<u64> = held_out.iter().map(|observation| observation.main.work.macs).collect();
            let predicted: Vec<f64> = match name {
                FormulaName::Default => {
                    let learned: Vec<TimedOperators<'a>> = learned.into_iter().cloned().collect();
                    let model = ProcessorModel::fit_unvalidated(self.class, self.board, &learned).ok()?;
                    let predictor = model.predictor();
                    held_out.iter().map(|observation| predictor.of(observation).seconds).collect()
                }
                _ => {
                    let formula = self.fitted(name, &learned, &unseen)?;
                    held_out.iter().map(|observation| formula.seconds(observation.main)).collect::<Option<_>>()?
                }
            };
            let pairs = predicted.into_iter().zip(held_out);
            errors.extend(pairs.map(|(seconds, observation)| (seconds / observation.seconds - 1.0).abs()));
        }
        Some(errors.iter().sum::<f64>() / errors.len().max(1) as f64)
    }

    /// A formula through observations, and through granularities of other amounts of work than these; `None` for the
    /// default model, or if they determine none.
    fn fitted(
        &self,
        name: FormulaName,
        observations: &[&TimedOperators<'a>],
        left_out_macs: &BTreeSet<u64>,
    ) -> Option<ConvolutionFormula> {
        match name {
            FormulaName::Default => None,
            FormulaName::ProcessingElements => self.waves(observations).map(ConvolutionFormula::ProcessingElements),
            FormulaName::Granularity => {
                let records = self.records.iter().filter(|record| !left_out_macs.contains(&record.macs));
                let choice = GranularityChoice::fit(records.copied()).ok()?;
                Some(ConvolutionFormula::Granularity(choice.lines().collect()))
            }
        }
    }

    /// Equation 2 through observations, with as many processing elements as the board says, or as fit best.
    fn waves(&self, observations: &[&TimedOperators<'a>]) -> Option<AcceleratorModel> {
        let stated =
            self.board.accelerator(&self.class.cluster).and_then(|accelerator| accelerator.processing_elements);
        let candidates = match stated {
            Some(elements) if elements > 0 => vec![u64::from(elements)],
            _ => PROCESSING_ELEMENTS.to_vec(),
        };
        let sized: Vec<(ConvolutionSize, f64)> = observations
            .iter()
            .filter_map(|observation| Some((convolution_size(observation.main)?, observation.seconds)))
            .collect();
        let fit = |elements: u64| {
            let model = waves_of(elements, &sized)?;
            let error = |(size, seconds): &(ConvolutionSize, f64)| {
                (model.latency(size, size.filters).computation_seconds / seconds - 1.0).abs()
            };
            Some((sized.iter().map(error).sum::<f64>(), model))
        };
        let best = candidates.into_iter().filter_map(fit).min_by(|one, other| one.0.total_cmp(&other.0));
        best.map(|(_, model)| model)
    }
}

/// The line of equation 2 through times of convolutions; `None` if they determine none, or one that falls.
fn waves_of(processing_elements: u64, sized: &[(ConvolutionSize, f64)]) -> Option<AcceleratorModel> {
    let unit = |&(size, seconds): &(ConvolutionSize, f64)| {
        let waves = size.filters.div_ceil(processing_elements);
        (size.filter as f64, seconds / (size.output as f64 * waves as f64).max(1.0))
    };
    let points: Vec<(f64, f64)> = sized.iter().map(unit).collect();
    let computation = Line::fit("the accelerator's computation", &points, Weighting::Relative).ok()?;
    let nothing = Line::new(0.0, 0.0);
    (computation.slope >= 0.0).then_some(AcceleratorModel {
        computation,
        transfer: nothing,
        flush: nothing,
        invalidation: nothing,
        processing_elements,
        coherence: Coherence::Interconnect,
        buffering: Buffering::Single,
    })
}

/// What makes convolutions different to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    macs: u64,
    input_bytes: u64,
    weight_bytes: u64,
    output_bytes: u64,
}

impl Shape {
    fn of(operator: &OperatorRecord) -> Self {
        let millstream_graph::Work { macs, input_bytes, weight_bytes, output_bytes, .. } = operator.work;
        Self { macs, input_bytes, weight_bytes, output_bytes }
    }
}
