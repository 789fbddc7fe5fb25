//! Ordinary least squares with standard errors, as `linregress` fits it, after a check for samples that can't determine
//! the coefficients.

use linregress::{
    LowLevelRegressionModel, fit_low_level_regression_model, fit_low_level_regression_model_without_statistics,
};
use nalgebra::{DMatrix, SVD};

use crate::error::PredictError;

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
    /// [`PredictError::TooFewSamples`] with fewer samples than terms, [`PredictError::Degenerate`] if a term is a
    /// combination of others on all samples, so that no samples like these could tell their coefficients apart, or if
    /// samples are not finite or not all of the same terms.
    pub fn ordinary(what: &str, terms: &[Term], rows: &[Vec<f64>], values: &[f64]) -> Result<Self, PredictError> {
        let count = terms.len();
        if rows.len() < count {
            let (found, needed) = (rows.len(), count);
            return Err(PredictError::TooFewSamples { what: what.to_owned(), found, needed });
        }
        if rows.iter().any(|row| row.len() != count) || rows.len() != values.len() {
            return Err(refused(what, "the samples are not all of the same terms".to_owned()));
        }
        if rows.iter().flatten().chain(values).any(|number| !number.is_finite()) {
            return Err(refused(what, "a sample is not a finite number".to_owned()));
        }
        let matrix = DMatrix::from_row_iterator(rows.len(), count, rows.iter().flatten().copied());
        // Columns of length one: terms that differ by many orders of magnitude are fitted equally well.
        let scales: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
        if let Some((_, zero)) = scales.iter().zip(terms).find(|(scale, _)| **scale == 0.0) {
            return Err(degenerate(what, &[zero]));
        }
        let scaled = DMatrix::from_fn(rows.len(), count, |row, column| matrix[(row, column)] / scales[column]);
        check_independence(what, terms, &scaled)?;
        let fitted = fit(what, &scaled, values)?;
        let by_scale = |numbers: &[f64]| numbers.iter().zip(&scales).map(|(number, scale)| number / scale).collect();
        Ok(Self {
            coefficients: by_scale(&fitted.coefficients),
            standard_errors: by_scale(&fitted.standard_errors),
            r_squared: fitted.r_squared,
        })
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

/// Refuses columns of length one that are combinations of each other, naming them.
fn check_independence(what: &str, terms: &[Term], columns: &DMatrix<f64>) -> Result<(), PredictError> {
    let decomposition = SVD::new(columns.clone(), false, true);
    let largest = decomposition.singular_values.max();
    let Some(right) = &decomposition.v_t else { return Err(degenerate(what, &[])) };
    let smallest = decomposition.singular_values.iter().position(|&value| value <= COLLINEAR * largest);
    let Some(combination) = smallest else { return Ok(()) };
    let shares = right.row(combination);
    let involved = terms.iter().zip(shares.iter()).filter(|(_, share)| share.abs() > 0.1).map(|(term, _)| term);
    Err(degenerate(what, &involved.collect::<Vec<_>>()))
}

/// The fit of independent columns.
fn fit(what: &str, columns: &DMatrix<f64>, values: &[f64]) -> Result<Regression, PredictError> {
    let (samples, count) = columns.shape();
    if let [only] = columns.column_iter().collect::<Vec<_>>()[..] {
        return Ok(fit_one(only.iter().copied(), values));
    }
    // What the library takes: the value first, then the terms. It adds no constant term of its own.
    let rows = columns.row_iter().zip(values);
    let data: Vec<f64> =
        rows.flat_map(|(row, &value)| std::iter::once(value).chain(row.iter().copied().collect::<Vec<_>>())).collect();
    let failed = |error: linregress::Error| refused(what, error.to_string());
    if samples == count {
        // As many terms as samples leave nothing to estimate errors from, and the library refuses to.
        let coefficients = fit_low_level_regression_model_without_statistics(&data, samples, count + 1);
        let coefficients = coefficients.map_err(failed)?;
        return Ok(Regression { standard_errors: vec![0.0; count], coefficients, r_squared: 1.0 });
    }
    let fitted = fit_low_level_regression_model(&data, samples, count + 1).map_err(failed)?;
    Ok(Regression {
        coefficients: fitted.parameters().to_vec(),
        standard_errors: fitted.se().to_vec(),
        r_squared: explained(&fitted),
    })
}

/// Of values that do not vary, nothing is left to explain.
fn explained(fitted: &LowLevelRegressionModel) -> f64 {
    if fitted.rsquared().is_finite() { fitted.rsquared() } else { 1.0 }
}

/// The fit of a single column of length one, which the library does not take.
fn fit_one(column: impl Iterator<Item = f64> + Clone, values: &[f64]) -> Regression {
    let coefficient: f64 = column.clone().zip(values).map(|(amount, value)| amount * value).sum();
    let predicted: Vec<f64> = column.map(|amount| coefficient * amount).collect();
    let residual: f64 = values.iter().zip(&predicted).map(|(value, predicted)| (value - predicted).powi(2)).sum();
    let freedom = values.len().saturating_sub(1).max(1);
    Regression {
        coefficients: vec![coefficient],
        standard_errors: vec![(residual / freedom as f64).sqrt()],
        r_squared: r_squared(values, &predicted),
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
    refused(what, format!("the samples do not vary enough to tell the terms '{}' apart", names.join("', '")))
}

fn refused(what: &str, detail: String) -> PredictError {
    PredictError::Degenerate { what: what.to_owned(), detail }
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

    /// Three coefficients from six samples, solved in fractions: the determinant of the normal equations is a multiple
    /// of 239.
    #[test]
    fn a_plane_through_six_points_is_the_one_that_was_worked_out_by_hand() {
        let rows: Vec<Vec<f64>> = [(0, 2), (1, 0), (2, 1), (3, 4), (4, 1), (5, 3)]
            .map(|(a, b)| vec![f64::from(a), f64::from(b), 1.0])
            .to_vec();
        let values = [3.0, 2.0, 6.0, 15.0, 9.0, 17.0];
        let close = |found: &[f64], expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(found, right)| (found / right - 1.0).abs() < 1e-9), "{found:?}");
        };
        let fitted = Regression::ordinary("points", &terms(), &rows, &values).unwrap();
        close(fitted.coefficients(), [510.0 / 239.0, 550.0 / 239.0, -212.0 / 239.0]);
        // The squared residuals sum to 540 / 239 with three degrees of freedom.
        let variance: f64 = 180.0 / 239.0;
        let inverse = [65.0 / 956.0, 105.0 / 956.0, 154.0 / 239.0];
        close(fitted.standard_errors(), inverse.map(|inverse: f64| (variance * inverse).sqrt()));
        assert!((fitted.r_squared() - 6850.0 / 6931.0).abs() < 1e-9);
        // The same in units as far apart as those of matrix products and their times.
        let units = [1e9, 1e-3, 1.0];
        let rows: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().zip(units).map(|(amount, unit)| amount * unit).collect()).collect();
        let fitted = Regression::ordinary("points", &terms(), &rows, &values.map(|value| value * 1e-6)).unwrap();
        close(fitted.coefficients(), [510e-15 / 239.0, 550e-3 / 239.0, -212e-6 / 239.0]);
    }

    #[test]
    fn a_single_term_and_an_exact_fit_have_errors_of_their_own() {
        // Through (1, 1), (2, 5), (3, 6): products sum to 29, the squares of x to 14, those of the values about their
        // mean as well.
        let rows: Vec<Vec<f64>> = (1..4).map(|x| vec![f64::from(x)]).collect();
        let fitted = Regression::ordinary("points", &terms()[..1], &rows, &[1.0, 5.0, 6.0]).unwrap();
        let expected = 29.0 / 14.0;
        assert!((fitted.coefficients()[0] - expected).abs() < 1e-12);
        let residual: f64 = [1.0, 5.0, 6.0].iter().zip(1..4).map(|(y, x)| (y - expected * f64::from(x)).powi(2)).sum();
        assert!((fitted.standard_errors()[0] - (residual / 2.0 / 14.0).sqrt()).abs() < 1e-12);
        assert!((fitted.r_squared() - (1.0 - residual / 14.0)).abs() < 1e-12);
        // As many samples as terms.
        let rows = [vec![1.0, 1.0], vec![3.0, 1.0]];
        let fitted = Regression::ordinary("points", &terms()[1..], &rows, &[5.0, 9.0]).unwrap();
        assert!((fitted.coefficients()[0] - 2.0).abs() < 1e-12 && (fitted.coefficients()[1] - 3.0).abs() < 1e-12);
        assert_eq!((fitted.standard_errors(), fitted.r_squared()), (&[0.0; 2][..], 1.0));
        // Values that do not vary are explained in full.
        let rows: Vec<Vec<f64>> = (0..4).map(|x| vec![f64::from(x), 1.0]).collect();
        let fitted = Regression::ordinary("points", &terms()[1..], &rows, &[0.0; 4]).unwrap();
        assert_eq!(fitted.r_squared(), 1.0);
    }

    #[test]
    fn samples_that_are_no_numbers_are_refused() {
        let rows = [vec![1.0, 1.0], vec![f64::NAN, 1.0], vec![3.0, 1.0]];
        for (rows, values) in [(&rows[..], [1.0; 3]), (&[vec![1.0, 1.0], vec![2.0], vec![3.0, 1.0]][..], [1.0; 3])] {
            let error = Regression::ordinary("layers", &terms()[1..], rows, &values).unwrap_err();
            assert!(matches!(error, PredictError::Degenerate { .. }), "{error}");
        }
    }
}
