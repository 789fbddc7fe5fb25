//! The default model of one family of operators.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use millstream_graph::Family;
use nalgebra::{DMatrix, DVector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::accuracy::Accuracy;
use crate::model::basis::{self, COUNT, NAMES};
use crate::model::nonnegative::least_squares;
use crate::model::observation::TimedOperators;
use crate::regression::{Regression, Term, r_squared};
use crate::samples::OperatorRecord;

/// Errors count relative to the time plus this: what takes a few microseconds need not be known to the percent.
const NEGLIGIBLE_SECONDS: f64 = 20e-6;
/// Samples that are off by more than this, relatively, count less: something disturbed them.
const PLAUSIBLE_ERROR: f64 = 0.05;
/// Rounds of finding out which ones those are.
const ROUNDS: usize = 8;
/// Prefix of the names of terms that count bytes by operator type.
const TYPE_PREFIX: &str = "bytes of ";
/// What follows the type where the channels do not fill vectors.
const UNBLOCKED_SUFFIX: &str = ", channels not in blocks of 8";

/// One term of a model: so many seconds for each unit of its amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelTerm {
    /// What is counted.
    pub name: String,
    /// Seconds for one of it; never negative.
    pub seconds: f64,
    /// One standard deviation of that estimate; missing where the samples do not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error_seconds: Option<f64>,
}

/// From the least to the most that samples cover.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingRange {
    /// Multiply-accumulates.
    pub macs: [u64; 2],
    /// Bytes touched.
    pub bytes: [u64; 2],
}

/// Times of a family on one processor class: a sum of amounts that grow with the work (multiply-accumulates, also with
/// dimensions rounded up to blocks; bytes, also beyond the cache), with coefficients fitted by non-negative least
/// squares to relative errors. Predictions are positive and never fall as the work grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyModel {
    /// The family; missing in the model of everything, which stands in for families with too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The terms that count.
    pub terms: Vec<ModelTerm>,
    /// Samples that the model was fitted to.
    pub samples: usize,
    /// What they cover.
    pub training_range: TrainingRange,
    /// Part of the variance of the samples that the model explains.
    pub r_squared: f64,
    /// Errors on networks that were left out of the fit; missing if the samples are of a single network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_validated: Option<Accuracy>,
}

impl FamilyModel {
    /// A model that is stated rather than fitted.
    pub(crate) fn stated(family: Option<Family>, terms: Vec<ModelTerm>) -> Self {
        let training_range = TrainingRange { macs: [0; 2], bytes: [0; 2] };
        Self { family, terms, samples: 0, training_range, r_squared: 0.0, cross_validated: None }
    }

    /// Fits the model; `None` without samples.
    pub(crate) fn fit(
        family: Option<Family>,
        observations: &[&TimedOperators<'_>],
        cache_bytes: Option<u64>,
    ) -> Option<Self> {
        let count = Some(observations.len()).filter(|&count| count > 0)?;
        let names_of = |observation: &TimedOperators<'_>| {
            if family.is_none_or(basis::differs_by_type) { type_terms(observation.main) } else { Vec::new() }
        };
        let types: BTreeSet<String> = observations.iter().flat_map(|observation| names_of(observation)).collect();
        let column_of: BTreeMap<&str, usize> =
            types.iter().enumerate().map(|(index, name)| (name.as_str(), COUNT + index)).collect();

        let mut amounts = DMatrix::zeros(count, COUNT + types.len());
        for (row, observation) in observations.iter().enumerate() {
            let fixed = basis::amounts(observation.main, observation.further_bytes, cache_bytes);
            for (column, amount) in fixed.into_iter().enumerate() {
                amounts[(row, column)] = amount;
            }
            for name in names_of(observation) {
                if let Some(&column) = column_of.get(name.as_str()) {
                    amounts[(row, column)] = basis::amount_by_type(observation.main);
                }
            }
        }

        let seconds: Vec<f64> = observations.iter().map(|observation| observation.seconds).collect();
        let solution = robust_fit(&amounts, &seconds);
        let names = NAMES.iter().map(|name| (*name).to_owned()).chain(types.iter().cloned());
        let active: Vec<(usize, String)> = names.enumerate().filter(|(column, _)| solution[*column] > 0.0).collect();
        let errors = standard_errors(&amounts, &seconds, &active);
        let terms = active
            .iter()
            .enumerate()
            .map(|(index, (column, name))| ModelTerm {
                name: name.clone(),
                seconds: solution[*column],
                standard_error_seconds: errors.as_ref().and_then(|errors| errors.get(index).copied()),
            })
            .collect();

        let predicted = &amounts * &solution;
        let range = |amount: &dyn Fn(&TimedOperators<'_>) -> u64| {
            let amounts = || observations.iter().map(|observation| amount(observation));
            [amounts().min().unwrap_or(0), amounts().max().unwrap_or(0)]
        };
        Some(Self {
            family,
            terms,
            samples: count,
            training_range: TrainingRange {
                macs: range(&|observation| observation.main.work.macs),
                bytes: range(&|observation| observation.main.work.bytes()),
            },
            r_squared: r_squared(&seconds, predicted.as_slice()),
            cross_validated: None,
        })
    }

    /// The coefficients, ready for predicting.
    pub(crate) fn coefficients(&self) -> Coefficients {
        let mut fixed = [0.0; COUNT];
        let mut by_type: HashMap<String, TypeCost> = HashMap::new();
        for term in &self.terms {
            if let Some(index) = NAMES.iter().position(|name| *name == term.name) {
                fixed[index] = term.seconds;
            } else if let Some(op_type) = term.name.strip_prefix(TYPE_PREFIX) {
                match op_type.strip_suffix(UNBLOCKED_SUFFIX) {
                    Some(op_type) => by_type.entry(op_type.to_owned()).or_default().unblocked = term.seconds,
                    None => by_type.entry(op_type.to_owned()).or_default().any = term.seconds,
                }
            }
        }
        let mut costs: Vec<f64> = by_type.values().map(|cost| cost.any).collect();
        costs.sort_unstable_by(f64::total_cmp);
        let any = costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        let unknown_type = TypeCost { any, unblocked: 0.0 };
        Coefficients { fixed, by_type, unknown_type, differs_by_type: self.family.is_none_or(basis::differs_by_type) }
    }

    /// Whether a term of the file is one that this version counts.
    pub(crate) fn knows(term: &str) -> bool {
        NAMES.contains(&term) || term.starts_with(TYPE_PREFIX)
    }
}

/// The terms that count the bytes of an operator by its type.
fn type_terms(operator: &OperatorRecord) -> Vec<String> {
    if !basis::differs_by_type(operator.family()) {
        return Vec::new();
    }
    let any = format!("{TYPE_PREFIX}{}", operator.op_type);
    if basis::is_blocked(operator) {
        return vec![any];
    }
    let unblocked = format!("{any}{UNBLOCKED_SUFFIX}");
    vec![any, unblocked]
}

/// Seconds per byte of one type of operator.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct TypeCost {
    any: f64,
    /// In addition, where the channels do not fill vectors.
    unblocked: f64,
}

/// A [`FamilyModel`] in the form that predicts fast.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coefficients {
    fixed: [f64; COUNT],
    by_type: HashMap<String, TypeCost>,
    /// For a type that was never seen: the lower median of those that were.
    unknown_type: TypeCost,
    differs_by_type: bool,
}

impl Coefficients {
    /// Predicted time of an operator whose amounts are known.
    pub(crate) fn seconds(&self, amounts: &[f64; COUNT], operator: &OperatorRecord) -> f64 {
        let fixed: f64 = self.fixed.iter().zip(amounts).map(|(coefficient, amount)| coefficient * amount).sum();
        if !(self.differs_by_type && basis::differs_by_type(operator.family())) {
            return fixed;
        }
        let cost = self.by_type.get(&operator.op_type).copied().unwrap_or(self.unknown_type);
        let unblocked = if basis::is_blocked(operator) { 0.0 } else { cost.unblocked };
        fixed + (cost.any + unblocked) * basis::amount_by_type(operator)
    }
}

/// Non-negative least squares on relative errors in which implausible samples count less (Huber's weights).
fn robust_fit(amounts: &DMatrix<f64>, seconds: &[f64]) -> DVector<f64> {
    let mut weights = vec![1.0; seconds.len()];
    let mut solution = DVector::zeros(amounts.ncols());
    for _ in 0..ROUNDS {
        let scale = |row: usize| f64::sqrt(weights[row]) / (seconds[row] + NEGLIGIBLE_SECONDS);
        let rows =
            DMatrix::from_fn(amounts.nrows(), amounts.ncols(), |row, column| amounts[(row, column)] * scale(row));
        let targets = DVector::from_fn(seconds.len(), |row, _| seconds[row] * scale(row));
        solution = least_squares(&rows, &targets);
        let predicted = amounts * &solution;
        for ((weight, &time), &predicted) in weights.iter_mut().zip(seconds).zip(predicted.iter()) {
            let error = (predicted - time).abs() / (time + NEGLIGIBLE_SECONDS);
            *weight = (PLAUSIBLE_ERROR / error.max(f64::MIN_POSITIVE)).min(1.0);
        }
    }
    solution
}

/// Standard errors of the terms that count, from ordinary least squares on relative errors.
fn standard_errors(amounts: &DMatrix<f64>, seconds: &[f64], active: &[(usize, String)]) -> Option<Vec<f64>> {
    let terms: Vec<Term> = active.iter().map(|(_, name)| Term::new(name.clone())).collect();
    let weight = |row: usize| 1.0 / (seconds[row] + NEGLIGIBLE_SECONDS);
    let row = |row: usize| active.iter().map(|(column, _)| amounts[(row, *column)] * weight(row)).collect();
    let rows: Vec<Vec<f64>> = (0..seconds.len()).map(row).collect();
    let targets: Vec<f64> = seconds.iter().enumerate().map(|(row, time)| time * weight(row)).collect();
    let fitted = Regression::ordinary("samples", &terms, &rows, &targets).ok()?;
    Some(fitted.standard_errors().to_vec())
}
