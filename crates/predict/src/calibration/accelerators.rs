//! What operators take on an accelerator that is not here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurements::{GranularityLine, StatedCosts};
use crate::convolution_size::convolution_size;
use crate::measured_convolutions::ConvolutionChoice;
use crate::model::{FamilyModel, ProcessorModel, basis_amounts};
use crate::published::AcceleratorModel;
use crate::samples::OperatorRecord;

/// What operators take on an accelerator, from publications or from measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorCosts {
    /// Its label.
    pub label: String,
    /// Its speed.
    pub model: AcceleratorCostModel,
    /// Types of operators that it does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
}

/// How an accelerator's speed is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceleratorCostModel {
    /// By amounts of work.
    Terms(FamilyModel),
    /// Channels in waves of processing elements: convolutions only.
    ProcessingElements(AcceleratorModel),
    /// The best granularity of each convolution.
    Granularity(Vec<GranularityLine>),
    /// The default model, fitted to what was measured there; for convolutions, a published formula where that is better.
    Measured(Box<MeasuredOperators>),
}

/// What was measured of an accelerator: a model of the operators that ran there, and which these were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredOperators {
    /// The model.
    pub model: ProcessorModel,
    /// Types of operators that ran, alone or as the main one of several. The accelerator is taken to run all operators
    /// of these types.
    pub main: Vec<String>,
    /// Types that only ran within others, and take no time of their own.
    pub within: Vec<String>,
    /// Which formula predicts its convolutions; missing if too few were measured to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convolutions: Option<ConvolutionChoice>,
}

impl MeasuredOperators {
    fn seconds(&self, operator: &OperatorRecord) -> Option<f64> {
        let is_among = |types: &[String]| types.contains(&operator.op_type);
        match (is_among(&self.main), is_among(&self.within)) {
            (true, _) => {
                let formula = self.convolutions.as_ref().and_then(|choice| choice.formula.as_ref());
                let by_formula = formula.and_then(|formula| formula.seconds(operator));
                Some(by_formula.unwrap_or_else(|| self.model.predictor().group(std::slice::from_ref(operator)).seconds))
            }
            (false, true) => Some(0.0),
            (false, false) => None,
        }
    }
}

impl AcceleratorCostModel {
    pub(super) fn of(costs: &StatedCosts) -> Option<Self> {
        match costs {
            StatedCosts::Terms(families) => {
                let everything = families.iter().find(|family| family.family.is_none())?;
                Some(Self::Terms(FamilyModel::stated(None, everything.terms.clone())))
            }
            StatedCosts::ProcessingElements(model) => Some(Self::ProcessingElements(*model)),
            StatedCosts::Granularity(lines) => Some(Self::Granularity(lines.clone())),
            StatedCosts::Like { .. } => None,
        }
    }
}

impl AcceleratorCosts {
    /// Time of an operator; `None` if the accelerator does not run it.
    pub fn seconds(&self, operator: &OperatorRecord) -> Option<f64> {
        if self.unsupported.contains(&operator.op_type) {
            return None;
        }
        match &self.model {
            AcceleratorCostModel::Terms(model) => {
                Some(model.coefficients().seconds(&basis_amounts(operator, 0, None), operator))
            }
            AcceleratorCostModel::ProcessingElements(model) => {
                let size = convolution_size(operator)?;
                // A fitted line may be below 0 for next to nothing.
                Some(model.latency(&size, size.filters).total_seconds.max(0.0))
            }
            AcceleratorCostModel::Granularity(lines) => {
                convolution_size(operator)?;
                let times = lines.iter().map(|fitted| fitted.line.at(operator.work.macs as f64));
                times.min_by(f64::total_cmp)
            }
            AcceleratorCostModel::Measured(measured) => measured.seconds(operator),
        }
    }
}
