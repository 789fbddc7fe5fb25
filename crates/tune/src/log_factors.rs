//! Regularised least squares for the logarithms of factors, of which weighted sums were observed.

use nalgebra::{DMatrix, DVector};

/// Steps of the Gauss-Newton iteration; it converges quadratically from the last result.
const STEPS: usize = 4;

/// Unknown factors of which sums of products were observed: the most likely ones, if their logarithms are normally
/// distributed around zero and so is the noise of observations' logarithms. A regularised least-squares problem.
#[derive(Debug, Clone)]
pub(crate) struct LogFactors {
    /// How uncertain each factor is: standard deviation of its logarithm.
    deviations: Vec<f64>,
    noise: f64,
    values: Vec<f64>,
    observations: Vec<Observation>,
}

/// The sum of some terms, each with its factor, times a factor that they share.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    /// Which factor, and what it multiplies: seconds that were expected.
    pub(crate) terms: Vec<(usize, f64)>,
    pub(crate) shared: usize,
    /// What came out.
    pub(crate) seconds: f64,
}

impl LogFactors {
    pub(crate) fn new(deviations: Vec<f64>, noise: f64) -> Self {
        let values = vec![0.0; deviations.len()];
        Self { deviations, noise, values, observations: Vec::new() }
    }

    /// Adds a factor of which nothing is known yet.
    pub(crate) fn add(&mut self, deviation: f64) -> usize {
        self.deviations.push(deviation);
        self.values.push(0.0);
        self.values.len() - 1
    }

    /// The most likely factor.
    pub(crate) fn factor(&self, index: usize) -> f64 {
        self.values[index].exp()
    }

    pub(crate) fn observe(&mut self, observation: Observation) {
        if observation.seconds > 0.0 && observation.terms.iter().any(|&(_, seconds)| seconds > 0.0) {
            self.observations.push(observation);
        }
    }

    /// The most likely factors under all observations.
    pub(crate) fn update(&mut self) {
        let size = self.values.len();
        let precisions: Vec<f64> = self.deviations.iter().map(|deviation| deviation.max(1e-6).powi(-2)).collect();
        let weight = self.noise.max(1e-6).powi(-2);

        for _ in 0..STEPS {
            let mut matrix = DMatrix::<f64>::zeros(size, size);
            let mut slope = DVector::<f64>::zeros(size);
            for index in 0..size {
                matrix[(index, index)] = precisions[index];
                slope[index] = -precisions[index] * self.values[index];
            }

            for observation in &self.observations {
                let shared = self.factor(observation.shared);
                let times: Vec<f64> =
                    observation.terms.iter().map(|&(index, seconds)| seconds * self.factor(index) * shared).collect();
                let total: f64 = times.iter().sum();
                // The logarithm of a sum depends on each summand by its share.
                let terms = observation.terms.iter().zip(&times).map(|(&(index, _), time)| (index, time / total));
                let gradient: Vec<(usize, f64)> = terms.chain([(observation.shared, 1.0)]).collect();
                let residual = (observation.seconds / total).ln();
                for &(row, left) in &gradient {
                    slope[row] += weight * left * residual;
                    for &(column, right) in &gradient {
                        matrix[(row, column)] += weight * left * right;
                    }
                }
            }

            // The matrix is positive definite: a diagonal of precisions plus squares.
            let Some(factorised) = matrix.cholesky() else { return };
            let change = factorised.solve(&slope);
            self.values.iter_mut().zip(change.iter()).for_each(|(value, change)| *value += change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_shared_factor_is_found() {
        let mut factors = LogFactors::new(vec![0.1, 0.1, 1.0], 0.01);
        for terms in [vec![(0, 1.0)], vec![(1, 2.0)], vec![(0, 1.0), (1, 2.0)]] {
            let seconds = 3.0 * terms.iter().map(|term| term.1).sum::<f64>();
            factors.observe(Observation { terms, shared: 2, seconds });
        }
        factors.update();
        assert!((factors.factor(2) - 3.0).abs() < 0.05, "{}", factors.factor(2));
        assert!((factors.factor(0) - 1.0).abs() < 0.02);
    }

    #[test]
    fn observations_of_nothing_change_nothing() {
        let mut factors = LogFactors::new(vec![0.1, 0.1], 0.01);
        factors.observe(Observation { terms: vec![(0, 0.0)], shared: 1, seconds: 1.0 });
        factors.observe(Observation { terms: vec![(0, 1.0)], shared: 1, seconds: 0.0 });
        factors.update();
        assert_eq!(factors.factor(0), 1.0);
    }
}
