//! Lines through what was measured.

use serde::{Deserialize, Serialize};

/// A line of least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferLine {
    /// Its value at no bytes.
    pub seconds: f64,
    /// Its slope.
    pub seconds_per_byte: f64,
    /// Which part of the variance it explains, at most 1.
    pub r_squared: f64,
}

impl TransferLine {
    /// The line through points of bytes and seconds that has the least squares of relative errors, so that small
    /// messages count as much as large ones. R² is of the plain values.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let weighted = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(bytes, seconds)| of(bytes, seconds) / (seconds * seconds).max(1e-18)).sum()
        };
        let weight = weighted(&|_, _| 1.0);
        let (bytes, seconds) = (weighted(&|x, _| x) / weight, weighted(&|_, y| y) / weight);
        let spread = weighted(&|x, _| (x - bytes) * (x - bytes));
        let slope = if spread > 0.0 { weighted(&|x, y| (x - bytes) * (y - seconds)) / spread } else { 0.0 };
        let line = Self { seconds: seconds - slope * bytes, seconds_per_byte: slope, r_squared: 1.0 };
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64;
        let total: f64 = points.iter().map(|point| (point.1 - mean).powi(2)).sum();
        let left: f64 = points.iter().map(|point| (point.1 - line.at(point.0)).powi(2)).sum();
        Self { r_squared: if total > 0.0 { 1.0 - left / total } else { 1.0 }, ..line }
    }

    /// Its value at so many bytes, in seconds.
    pub fn at(&self, bytes: f64) -> f64 {
        self.seconds + self.seconds_per_byte * bytes
    }
}

#[cfg(test)]
mod tests {
    use super::TransferLine;

    #[test]
    fn a_line_is_found_and_what_is_none_is_told() {
        let points: Vec<(f64, f64)> = [1e3, 1e4, 1e5, 1e6].map(|bytes| (bytes, 2e-4 + bytes * 8e-9)).to_vec();
        let line = TransferLine::fit(&points);
        assert!((line.seconds - 2e-4).abs() < 1e-9 && (line.seconds_per_byte - 8e-9).abs() < 1e-13, "{line:?}");
        assert!(line.r_squared > 0.999_999);
        let bent: Vec<(f64, f64)> = [(1e3, 1e-3), (1e4, 5e-3), (1e5, 2e-3), (1e6, 4e-3)].to_vec();
        assert!(TransferLine::fit(&bent).r_squared < 0.9, "{:?}", TransferLine::fit(&bent));
    }
}
