//! Straight lines through costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::regression::{Regression, Term};

/// Which errors a fit makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// Absolute ones: ordinary least squares, as the papers use it. Large values decide.
    Absolute,
    /// Relative ones, which is right where the noise of a measurement grows with the measured time.
    Relative,
}

/// A straight line through costs: `slope * x + intercept` (co-scheduling, equation 1).
///
/// ```
/// use millstream_predict::{Line, Weighting};
///
/// let fitted = Line::fit("transfers", &[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)], Weighting::Absolute)?;
/// assert!((fitted.at(3.0) - 9.0).abs() < 1e-12);
/// # Ok::<(), millstream_predict::PredictError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Cost per unit of `x`.
    pub slope: f64,
    /// Cost of nothing.
    pub intercept: f64,
}

impl Line {
    /// A line with this slope and intercept.
    pub fn new(slope: f64, intercept: f64) -> Self {
        Self { slope, intercept }
    }

    /// The line's value at `x`.
    pub fn at(self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// The line with every value multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { slope: factor * self.slope, intercept: factor * self.intercept }
    }

    /// Where this line and another one have the same value; `None` if they are parallel.
    pub fn crossing(self, other: Self) -> Option<f64> {
        let difference = self.slope - other.slope;
        (difference != 0.0).then(|| (other.intercept - self.intercept) / difference)
    }

    /// Least squares through points `(x, y)`; `what` names them in errors.
    ///
    /// # Errors
    /// [`PredictError::Degenerate`] with fewer than two different `x`.
    pub fn fit(what: &str, points: &[(f64, f64)], weighting: Weighting) -> Result<Self, PredictError> {
        let weight = |y: f64| match weighting {
            Weighting::Absolute => 1.0,
            Weighting::Relative => y.abs().max(f64::MIN_POSITIVE).recip(),
        };
        let rows: Vec<Vec<f64>> = points.iter().map(|&(x, y)| vec![x * weight(y), weight(y)]).collect();
        let values: Vec<f64> = points.iter().map(|&(_, y)| y * weight(y)).collect();
        let fitted = Regression::ordinary(what, &[Term::new("x"), Term::new("constant")], &rows, &values)?;
        match fitted.coefficients() {
            [slope, intercept] => Ok(Self { slope: *slope, intercept: *intercept }),
            _ => Err(PredictError::Degenerate { what: what.to_owned(), detail: "no line was found".to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two points of 1 and 3 at 0, and one at 1 that any line can meet: absolute errors are least between the two, at
    /// 2; relative ones at 1.2, where `(a - 1)^2 + (a / 3 - 1)^2` is.
    #[test]
    fn relative_errors_weigh_small_values_more() -> Result<(), PredictError> {
        let points = [(0.0, 1.0), (0.0, 3.0), (1.0, 2.0)];
        for (weighting, intercept) in [(Weighting::Absolute, 2.0), (Weighting::Relative, 1.2)] {
            let line = Line::fit("points", &points, weighting)?;
            assert!((line.intercept - intercept).abs() < 1e-9 && (line.at(1.0) - 2.0).abs() < 1e-9, "{line:?}");
        }
        Ok(())
    }
}
