//! A first, linear model of operator times.

use millstream_graph::FamilyWork;
use nalgebra::{DMatrix, DVector};

use crate::model::least_squares;
use crate::samples::OperatorRecord;

/// Terms of the model.
const TERMS: usize = 5;

/// A first model of operator times on one processor: seconds per multiply-accumulate (dense and depthwise apart), per
/// byte of weights, per byte of values, and per operator, none of them negative. Fitted to relative errors.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    coefficients: [f64; TERMS],
}

/// What a segment amounts to in terms of the model, and how long it takes.
pub(crate) struct SegmentWork<'a> {
    pub(crate) operators: Vec<&'a OperatorRecord>,
    pub(crate) seconds: f64,
}

impl LinearModel {
    /// Fits the model; without observations every time is zero.
    pub(crate) fn fit(observations: &[SegmentWork<'_>]) -> Self {
        if observations.is_empty() {
            return Self { coefficients: [0.0; TERMS] };
        }
        let mut rows = DMatrix::zeros(observations.len(), TERMS);
        for (index, observation) in observations.iter().enumerate() {
            for operator in &observation.operators {
                for (term, amount) in terms(operator).into_iter().enumerate() {
                    rows[(index, term)] += amount / observation.seconds;
                }
            }
        }
        let solution = least_squares(&rows, &DVector::from_element(observations.len(), 1.0));
        let mut coefficients = [0.0; TERMS];
        coefficients.copy_from_slice(solution.as_slice());
        Self { coefficients }
    }

    /// Predicted time of one operator; positive once the model was fitted to anything.
    pub fn seconds(&self, operator: &OperatorRecord) -> f64 {
        self.coefficients.iter().zip(terms(operator)).map(|(coefficient, amount)| coefficient * amount).sum()
    }
}

fn terms(operator: &OperatorRecord) -> [f64; TERMS] {
    let work = &operator.work;
    let macs = work.macs as f64;
    let (dense, other) = match operator.family().work() {
        FamilyWork::DenseConvolution | FamilyWork::MatrixProduct => (macs, 0.0),
        FamilyWork::GroupedConvolution | FamilyWork::Values => (0.0, macs),
    };
    [dense, other, work.weight_bytes as f64, (work.input_bytes + work.output_bytes) as f64, 1.0]
}
