//! Pipe-it's times of convolutions (equations 5 to 8).

use millstream_graph::GemmShape;

use crate::error::PredictError;
use crate::regression::{Regression, Term};

/// Time of a convolution on one core, linear in the dimensions of the matrix product that it amounts to and in all
/// their products (Pipe-it, equation 5), by ordinary least squares. It may predict negative times for small layers.
#[derive(Debug, Clone, PartialEq)]
pub struct GemmModel {
    coefficients: [f64; 8],
    standard_errors: [f64; 8],
    r_squared: f64,
}

impl GemmModel {
    /// What the coefficients belong to, in the order of equation 5.
    pub const TERMS: [&'static str; 8] = ["N", "K", "M", "N K", "K M", "N M", "N M K", "1"];

    /// A model with known coefficients, in seconds per unit of [`Self::TERMS`].
    pub fn new(coefficients: [f64; 8]) -> Self {
        Self { coefficients, standard_errors: [0.0; 8], r_squared: 1.0 }
    }

    /// Fits the coefficients to measured times.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] with fewer than eight samples, [`PredictError::Degenerate`] if their shapes do
    /// not vary in all of N, K and M.
    pub fn fit(samples: &[(GemmShape, f64)]) -> Result<Self, PredictError> {
        let rows: Vec<Vec<f64>> = samples.iter().map(|(shape, _)| terms(shape).to_vec()).collect();
        let seconds: Vec<f64> = samples.iter().map(|&(_, seconds)| seconds).collect();
        let fitted = Regression::ordinary("convolutions", &Self::TERMS.map(Term::new), &rows, &seconds)?;
        let mut model = Self { coefficients: [0.0; 8], standard_errors: [0.0; 8], r_squared: fitted.r_squared() };
        model.coefficients.copy_from_slice(fitted.coefficients());
        model.standard_errors.copy_from_slice(fitted.standard_errors());
        Ok(model)
    }

    /// Predicted time.
    pub fn seconds(&self, shape: &GemmShape) -> f64 {
        self.coefficients.iter().zip(terms(shape)).map(|(coefficient, term)| coefficient * term).sum()
    }

    /// Seconds per unit of each of [`Self::TERMS`].
    pub fn coefficients(&self) -> &[f64; 8] {
        &self.coefficients
    }

    /// One standard deviation of each coefficient's estimate.
    pub fn standard_errors(&self) -> &[f64; 8] {
        &self.standard_errors
    }

    /// Part of the variance of the samples that the model explains.
    pub fn r_squared(&self) -> f64 {
        self.r_squared
    }
}

fn terms(shape: &GemmShape) -> [f64; 8] {
    let (n, k, m) = (shape.n as f64, shape.k as f64, shape.m as f64);
    [n, k, m, n * k, k * m, n * m, n * m * k, 1.0]
}

/// Time of a convolution on several cores of a cluster (Pipe-it, equations 6 to 8): the rows of the product are worked
/// on in iterations of `tile_rows`, which are dealt out evenly.
#[derive(Debug, Clone, PartialEq)]
pub struct MulticoreModel {
    /// Rows of the product that one iteration makes: the tile size.
    pub tile_rows: u64,
    /// Constant part of the single-core time that is not divided, in seconds.
    pub alpha_1: f64,
    /// What every iteration takes in addition on several cores, in seconds.
    pub alpha_2: f64,
    /// What dealing out the work takes, in seconds.
    pub alpha_3: f64,
}

/// A convolution on some cores of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MulticoreSample {
    /// Rows of the product.
    pub n: u64,
    /// How many cores worked on it.
    pub cores: u64,
    /// Its time on one core, measured or by equation 5.
    pub single_core_seconds: f64,
    /// Its time on these cores.
    pub seconds: f64,
}

impl MulticoreModel {
    /// Fits the three constants. Samples on one core belong to the fit: with a single other number of cores, nothing
    /// else tells the first constant from the third.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] or [`PredictError::Degenerate`] if all samples have the same number of cores.
    pub fn fit(tile_rows: u64, samples: &[MulticoreSample]) -> Result<Self, PredictError> {
        let terms = ["1 / H", "N / (ts H)", "1"].map(Term::new);
        let row = |sample: &MulticoreSample| {
            let cores = sample.cores as f64;
            vec![-1.0 / cores, sample.n as f64 / (tile_rows.max(1) as f64 * cores), 1.0]
        };
        let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
        let beyond = |sample: &MulticoreSample| sample.seconds - sample.single_core_seconds / sample.cores as f64;
        let values: Vec<f64> = samples.iter().map(beyond).collect();
        let fitted = Regression::ordinary("convolutions on several cores", &terms, &rows, &values)?;
        match fitted.coefficients() {
            [alpha_1, alpha_2, alpha_3] => {
                Ok(Self { tile_rows, alpha_1: *alpha_1, alpha_2: *alpha_2, alpha_3: *alpha_3 })
            }
            _ => Err(PredictError::Degenerate {
                what: "several cores".to_owned(),
                detail: "nothing was found".to_owned(),
            }),
        }
    }

    /// Predicted time with an even split (equation 8).
    pub fn seconds(&self, n: u64, cores: u64, single_core_seconds: f64) -> f64 {
        let cores = cores.max(1) as f64;
        let iterations = n as f64 / self.tile_rows.max(1) as f64;
        (single_core_seconds - self.alpha_1) / cores + self.alpha_2 * iterations / cores + self.alpha_3
    }

    /// Predicted time when every core works on whole iterations: the core with the most of them is the last (equations
    /// 6 and 7).
    pub fn seconds_of_slowest(&self, n: u64, cores: u64, single_core_seconds: f64) -> f64 {
        let iterations = n.div_ceil(self.tile_rows.max(1)).max(1);
        let one = (single_core_seconds - self.alpha_1) / iterations as f64 + self.alpha_2;
        one * iterations.div_ceil(cores.max(1)) as f64 + self.alpha_3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_iterations_cost_more_than_an_even_split_unless_they_divide() {
        let model = MulticoreModel { tile_rows: 16, alpha_1: 1e-5, alpha_2: 1e-7, alpha_3: 3e-5 };
        let even = model.seconds(16 * 8, 4, 1e-3);
        assert!((model.seconds_of_slowest(16 * 8, 4, 1e-3) - even).abs() < 1e-15);
        assert!(model.seconds_of_slowest(16 * 9, 4, 1e-3) > model.seconds(16 * 9, 4, 1e-3));
        assert!((even - ((1e-3 - 1e-5) / 4.0 + 1e-7 * 2.0 + 3e-5)).abs() < 1e-15);
    }
}
