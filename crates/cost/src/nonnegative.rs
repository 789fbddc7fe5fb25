//! Least squares with coefficients that are not negative.

use nalgebra::{DMatrix, DVector};

const SWEEPS: usize = 2000;

/// Minimises `|rows * x - targets|` over `x >= 0` by coordinate descent on the normal equations, which is exact for few
/// columns. Columns are scaled to unit length first, so their units do not matter.
pub(crate) fn least_squares(rows: &DMatrix<f64>, targets: &DVector<f64>) -> DVector<f64> {
    let scales: Vec<f64> = rows.column_iter().map(|column| column.norm()).collect();
    let mut scaled = rows.clone();
    for (mut column, &scale) in scaled.column_iter_mut().zip(&scales) {
        if scale > 0.0 {
            column /= scale;
        }
    }
    let gram = scaled.transpose() * &scaled;
    let moment = scaled.transpose() * targets;
    let mut solution = DVector::zeros(rows.ncols());
    for _ in 0..SWEEPS {
        let mut change: f64 = 0.0;
        for index in 0..rows.ncols() {
            if scales[index] <= 0.0 {
                continue;
            }
            let gradient = gram.row(index).transpose().dot(&solution) - moment[index];
            let updated: f64 = (solution[index] - gradient).max(0.0);
            change = change.max((updated - solution[index]).abs());
            solution[index] = updated;
        }
        if change < 1e-12 * (1.0 + solution.amax()) {
            break;
        }
    }
    for (value, &scale) in solution.iter_mut().zip(&scales) {
        *value = if scale > 0.0 { *value / scale } else { 0.0 };
    }
    solution
}

#[cfg(test)]
mod tests {
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
}
