//! Ordinary least squares with standard errors and a check for samples that can't determine the coefficients.

use nalgebra::{DMatrix, DVector, SVD};

use crate::PredictError;

/// Columns are collinear if a combination of them, each scaled to length one, is shorter than this.
const COLLINEAR: f64 = 1e-9;

/// What a coefficient belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Its name, such as `N K M`.
    pub name: String,
}

impl Term {
    /// A term of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    coefficients: Vec<f64>,
    standard_errors: Vec<f64>,
    r_squared: f64,
}

impl Regression {
    /// Coefficients that make `rows` times them closest to `values` in the sum of squares. `what` names the samples in
    /// errors.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] with fewer samples than terms, [`PredictError::Degenerate`] if a term is a combination of
    /// others on all samples, so that no samples like these could tell their coefficients apart.
    pub fn ordinary(what: &str, terms: &[Term], rows: &[Vec<f64>], values: &[f64]) -> Result<Self, PredictError> {
        let count = terms.len();
        if rows.len() < count {
            let (found, needed) = (rows.len(), count);
            return Err(PredictError::TooFewSamples { what: what.to_owned(), found, needed });
        }
        let matrix = DMatrix::from_fn(rows.len(), count, |row, column| rows[row][column]);
        let scales: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
        if let Some(zero) = scales.iter().position(|&scale| scale == 0.0) {
            return Err(degenerate(what, &[&terms[zero]]));
        }
        let scaled = DMatrix::from_fn(rows.len(), count, |row, column| matrix[(row, column)] / scales[column]);
        let decomposition = SVD::new(scaled, true, true);
        let largest = decomposition.singular_values.max();
        let (Some(left), Some(right)) = (&decomposition.u, &decomposition.v_t) else {
            return Err(degenerate(what, &[]));
        };
        for (index, &value) in decomposition.singular_values.iter().enumerate() {
            if value <= COLLINEAR * largest {
                let row = right.row(index);
                let involved: Vec<&Term> = terms
                    .iter()
                    .enumerate()
                    .filter(|(column, _)| row[*column].abs() > 0.1)
                    .map(|(_, term)| term)
                    .collect();
                return Err(degenerate(what, &involved));
            }
        }
        let target = DVector::from_column_slice(values);
        let rotated = left.transpose() * &target;
        let solution = right.transpose() * rotated.component_div(&decomposition.singular_values);
        let coefficients: Vec<f64> = solution.iter().zip(&scales).map(|(value, scale)| value / scale).collect();
        let predicted = &matrix * DVector::from_column_slice(&coefficients);
        let residual = (&target - &predicted).norm_squared();
        let freedom = rows.len() - count;
        let variance = if freedom > 0 { residual / freedom as f64 } else { 0.0 };
        let standard_errors = (0..count)
            .map(|column| {
                let inverse: f64 = decomposition
                    .singular_values
                    .iter()
                    .enumerate()
                    .map(|(index, value)| (right[(index, column)] / value).powi(2))
                    .sum();
                (variance * inverse).sqrt() / scales[column]
            })
            .collect();
        Ok(Self { coefficients, standard_errors, r_squared: r_squared(values, predicted.as_slice()) })
    }

    /// One coefficient per term.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// How far each coefficient may be off: one standard deviation of its estimate.
    pub fn standard_errors(&self) -> &[f64] {
        &self.standard_errors
    }

    /// Part of the values' variance that the model explains, at most 1.
    pub fn r_squared(&self) -> f64 {
        self.r_squared
    }
}

/// Part of the variance of `values` that `predicted` explains.
pub(crate) fn r_squared(values: &[f64], predicted: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let residual: f64 = values.iter().zip(predicted).map(|(value, predicted)| (value - predicted).powi(2)).sum();
    if total > 0.0 { 1.0 - residual / total } else { 1.0 }
}

fn degenerate(what: &str, terms: &[&Term]) -> PredictError {
    let names: Vec<&str> = terms.iter().map(|term| term.name.as_str()).collect();
    PredictError::Degenerate {
        what: what.to_owned(),
        detail: format!("the samples do not vary enough to tell the terms '{}' apart", names.join("', '")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Vec<Term> {
        ["a", "b", "one"].map(Term::new).to_vec()
    }

    #[test]
    fn coefficients_and_standard_errors_of_a_textbook_case() {
        // y = 1 + 2 x with residuals +0.1 -0.1 -0.1 +0.1 at x = 0..3.
        let rows: Vec<Vec<f64>> = (0..4).map(|x| vec![f64::from(x), 1.0]).collect();
        let fitted = Regression::ordinary("points", &terms()[1..], &rows, &[1.1, 2.9, 4.9, 7.1]).unwrap();
        assert!((fitted.coefficients()[0] - 2.0).abs() < 1e-12 && (fitted.coefficients()[1] - 1.0).abs() < 1e-12);
        // Residual variance 0.04 / 2; sum of squares of x about its mean 5.
        assert!((fitted.standard_errors()[0] - (0.02_f64 / 5.0).sqrt()).abs() < 1e-12);
        assert!(fitted.r_squared() > 0.99 && fitted.r_squared() < 1.0);
    }

    #[test]
    fn samples_that_determine_nothing_are_refused() {
        let collinear: Vec<Vec<f64>> = (0..5).map(|x| vec![f64::from(x), 2.0 * f64::from(x), 1.0]).collect();
        let message = Regression::ordinary("layers", &terms(), &collinear, &[0.0; 5]).unwrap_err().to_string();
        assert!(message.contains("layers") && message.contains("'a', 'b'"), "{message}");
        let message = Regression::ordinary("layers", &terms(), &collinear[..2], &[0.0; 2]).unwrap_err().to_string();
        assert!(message.contains("2 samples") && message.contains("3"), "{message}");
    }
}
