//! Least squares with coefficients that are not negative.

use nalgebra::{Cholesky, DMatrix, DVector};

/// A coefficient enters the solution only if that improves the fit by more than rounding.
const TOLERANCE: f64 = 1e-11;

/// Minimises `|rows * x - targets|` over `x >= 0` by the active-set method of Lawson and Hanson on the normal
/// equations. Columns are scaled to unit length first, so their units do not matter.
pub(crate) fn least_squares(rows: &DMatrix<f64>, targets: &DVector<f64>) -> DVector<f64> {
    let scales: Vec<f64> = rows.column_iter().map(|column| column.norm()).collect();
    let mut scaled = rows.clone();
    for (mut column, &scale) in scaled.column_iter_mut().zip(&scales) {
        if scale > 0.0 {
            column /= scale;
        }
    }

    let limit = TOLERANCE * targets.norm().max(f64::MIN_POSITIVE);
    let mut search = ActiveSet::new(scaled.transpose() * &scaled, scaled.transpose() * targets, &scales);
    for _ in 0..10 * rows.ncols() {
        let Some(column) = search.entering(limit) else { break };
        search.enter(column);
    }

    let mut solution = search.solution;
    for (value, &scale) in solution.iter_mut().zip(&scales) {
        *value = if scale > 0.0 { *value / scale } else { 0.0 };
    }
    solution
}

/// Which coefficients are free, and the others 0.
struct ActiveSet {
    gram: DMatrix<f64>,
    moment: DVector<f64>,
    solution: DVector<f64>,
    is_free: Vec<bool>,
    /// Columns of nothing but zeros.
    is_empty: Vec<bool>,
    /// Those, and columns that would make the free ones collinear.
    is_useless: Vec<bool>,
}

impl ActiveSet {
    fn new(gram: DMatrix<f64>, moment: DVector<f64>, scales: &[f64]) -> Self {
        let is_empty: Vec<bool> = scales.iter().map(|&scale| scale <= 0.0).collect();
        let solution = DVector::zeros(scales.len());
        Self { gram, moment, solution, is_free: vec![false; scales.len()], is_useless: is_empty.clone(), is_empty }
    }

    /// The column along which the error falls most, if it falls by more than `limit` along any.
    fn entering(&self, limit: f64) -> Option<usize> {
        let gradient = &self.moment - &self.gram * &self.solution;
        (0..self.is_free.len())
            .filter(|&column| !self.is_free[column] && !self.is_useless[column] && gradient[column] > limit)
            .max_by(|&left, &right| gradient[left].total_cmp(&gradient[right]))
    }

    /// Frees a column, and fixes others at 0 until the best solution over the free ones is not negative.
    fn enter(&mut self, entering: usize) {
        self.is_free[entering] = true;
        loop {
            let free: Vec<usize> = (0..self.is_free.len()).filter(|&column| self.is_free[column]).collect();
            let Some(candidate) = solve(&self.gram, &self.moment, &free) else {
                self.is_free[entering] = false;
                self.is_useless[entering] = true;
                return;
            };

            let blocking = self.feasible_part(&free, &candidate);
            if blocking == f64::INFINITY {
                for (&column, &value) in free.iter().zip(candidate.iter()) {
                    self.solution[column] = value;
                }
                self.is_useless.clone_from(&self.is_empty);
                return;
            }

            let step = if blocking.is_finite() { blocking } else { 0.0 };
            self.approach(&free, &candidate, step);
            if !self.is_free[entering] {
                self.is_useless[entering] = true;
            }
        }
    }

    /// How much of the way to the candidate keeps all coefficients from being negative; infinity if all of it does.
    fn feasible_part(&self, free: &[usize], candidate: &DVector<f64>) -> f64 {
        free.iter()
            .zip(candidate.iter())
            .filter(|&(_, &value)| value <= 0.0)
            .map(|(&column, &value)| self.solution[column] / (self.solution[column] - value))
            .fold(f64::INFINITY, f64::min)
    }

    /// Goes a part of the way to the candidate, and fixes the coefficients that become 0.
    fn approach(&mut self, free: &[usize], candidate: &DVector<f64>, step: f64) {
        for (&column, &value) in free.iter().zip(candidate.iter()) {
            self.solution[column] += step * (value - self.solution[column]);
            if self.solution[column] <= 1e-14 {
                self.solution[column] = 0.0;
                self.is_free[column] = false;
            }
        }
    }
}

/// The unrestricted solution over some columns; `None` if they are collinear.
fn solve(gram: &DMatrix<f64>, moment: &DVector<f64>, columns: &[usize]) -> Option<DVector<f64>> {
    let count = columns.len();
    let part = DMatrix::from_fn(count, count, |row, column| gram[(columns[row], columns[column])]);
    let factors = Cholesky::new(part)?;
    // Columns have unit length: a tiny pivot is a column that the others make up.
    if factors.l_dirty().diagonal().iter().any(|&pivot| pivot < 1e-6) {
        return None;
    }
    Some(factors.solve(&DVector::from_fn(count, |row, _| moment[columns[row]])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn recovers_coefficients_and_never_goes_negative() {
        let rows = DMatrix::from_row_slice(4, 2, &[1e6, 1.0, 2e6, 1.0, 3e6, 1.0, 4e6, 1.0]);
        let exact = &rows * DVector::from_vec(vec![2e-9, 5e-6]);
        let solution = least_squares(&rows, &exact);
        assert!((solution[0] / 2e-9 - 1.0).abs() < 1e-6 && (solution[1] / 5e-6 - 1.0).abs() < 1e-4, "{solution}");
        let falling = DVector::from_vec(vec![4.0, 3.0, 2.0, 1.0]);
        assert_eq!(least_squares(&rows, &falling)[0], 0.0);
    }

    proptest! {
        /// The conditions for an optimum: no gradient along free coefficients, none that would help along the others.
        #[test]
        fn the_solution_is_optimal(entries in prop::collection::vec(0.0..1.0_f64, 40), targets in prop::collection::vec(-1.0..1.0_f64, 8)) {
            let rows = DMatrix::from_row_slice(8, 5, &entries);
            let targets = DVector::from_vec(targets);
            let solution = least_squares(&rows, &targets);
            let gradient = rows.transpose() * (&targets - &rows * &solution);
            for (value, slope) in solution.iter().zip(gradient.iter()) {
                prop_assert!(*value >= 0.0 && *slope <= 1e-6);
                prop_assert!(*value == 0.0 || slope.abs() <= 1e-6, "{} {}", value, slope);
            }
        }
    }
}
