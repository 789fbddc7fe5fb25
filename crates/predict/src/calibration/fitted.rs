//! Times of whole networks, taken apart into amounts of work.

use nalgebra::{DMatrix, DVector};

use crate::model::{ModelTerm, amount_names, basis_amounts, least_squares};
use crate::samples::OperatorRecord;

/// What whole networks are taken apart into. Few, because there are few measurements; all of them grow with the work.
const AMOUNTS: [&str; 4] = ["macs", "macs of 1x1 kernels", "weight bytes", "output bytes"];

/// A measurement in terms of work.
pub(super) struct Row<'a> {
    pub(super) model: &'a str,
    pub(super) label: &'a str,
    pub(super) cores: usize,
    pub(super) seconds: f64,
    pub(super) amounts: Vec<f64>,
}

/// What a whole network amounts to.
pub(super) fn amounts(operators: &[OperatorRecord]) -> Vec<f64> {
    let names = amount_names();
    let positions = AMOUNTS.map(|amount| names.iter().position(|name| *name == amount));
    let mut sums = vec![0.0; AMOUNTS.len()];
    for operator in operators {
        let amounts = basis_amounts(operator, 0, None);
        for (sum, position) in sums.iter_mut().zip(positions) {
            *sum += position.map_or(0.0, |position| amounts[position]);
        }
    }
    sums
}

/// Seconds for each of the amounts: what cores share, and what they do not.
pub(super) struct Fitted {
    shared: Vec<f64>,
    alone: Vec<f64>,
}

impl Fitted {
    pub(super) fn to(rows: &[&Row<'_>]) -> Self {
        let width = AMOUNTS.len();
        let has_several = rows.iter().any(|row| rows.iter().any(|other| other.cores != row.cores));
        let columns = if has_several { 2 * width } else { width };
        let entry = |row: usize, column: usize| {
            let Row { seconds, amounts, cores, .. } = rows[row];
            let share = if column < width { 1.0 / *cores as f64 } else { 1.0 };
            amounts[column % width] * share / seconds
        };
        let solution =
            least_squares(&DMatrix::from_fn(rows.len(), columns, entry), &DVector::from_element(rows.len(), 1.0));
        let part = |from: usize| (0..width).map(|index| solution.get(from + index).copied().unwrap_or(0.0)).collect();
        Self { shared: part(0), alone: part(width) }
    }

    /// Seconds for one of each amount on so many cores.
    fn coefficients(&self, cores: usize) -> impl Iterator<Item = f64> {
        self.shared.iter().zip(&self.alone).map(move |(shared, alone)| shared / cores as f64 + alone)
    }

    pub(super) fn seconds(&self, row: &Row<'_>) -> f64 {
        self.coefficients(row.cores).zip(&row.amounts).map(|(coefficient, amount)| coefficient * amount).sum()
    }

    pub(super) fn terms(&self, cores: usize) -> Vec<ModelTerm> {
        let named = self.coefficients(cores).zip(AMOUNTS).filter(|(seconds, _)| *seconds > 0.0);
        named.map(|(seconds, name)| ModelTerm { name: name.into(), seconds, standard_error_seconds: None }).collect()
    }
}
