//! Which convolutions the sweep covers, in which order.

/// Widths and heights of the grid (Pipe-it, section V-B).
pub(super) const SIZES: [usize; 5] = [112, 56, 28, 14, 7];
/// Kernel sizes of the grid.
const KERNELS: [usize; 5] = [1, 3, 5, 7, 11];
/// Input channels and filters of the grid.
const CHANNELS: [usize; 6] = [32, 64, 92, 128, 192, 256];
/// Channels beyond the grid, which deep layers of today's networks have.
const WIDE_CHANNELS: [usize; 6] = [48, 160, 384, 512, 768, 1024];
/// Multiply-accumulates of the largest layer that is worth its time.
const MOST_MACS: usize = 2_000_000_000;

/// One convolution of the grid: stride 1, padded so that the size stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) size: usize,
    pub(super) kernel: usize,
    pub(super) input_channels: usize,
    pub(super) filters: usize,
}

impl Point {
    fn macs(self) -> usize {
        self.size * self.size * self.kernel * self.kernel * self.input_channels * self.filters
    }

    /// Place in the space in which the design spreads its points: logarithmic, every axis from 0 to about 1.
    fn place(self) -> [f64; 4] {
        let axis =
            |value: usize, low: usize, high: usize| (value as f64 / low as f64).ln() / (high as f64 / low as f64).ln();
        [
            axis(self.size, 7, 112),
            axis(self.kernel, 1, 11),
            axis(self.input_channels, 32, 256),
            axis(self.filters, 32, 256),
        ]
    }
}

/// A greedy maximin design: every point is the one farthest from all that were chosen before.
#[derive(Debug, Clone, Default)]
pub(super) struct Design {
    chosen: Vec<[f64; 4]>,
}

impl Design {
    /// The next convolution for a map of this size and these channels with at most `most_macs`, if there is any.
    /// `is_wide` allows channels beyond the grid.
    pub(super) fn next(&mut self, size: usize, channels: usize, most_macs: usize, is_wide: bool) -> Option<Point> {
        let wide: &[usize] = if is_wide { &WIDE_CHANNELS } else { &[] };
        let filters = CHANNELS.iter().chain(wide);
        let candidates = filters.flat_map(|&filters| {
            KERNELS.iter().map(move |&kernel| Point { size, kernel, input_channels: channels, filters })
        });
        let best = candidates
            .filter(|point| point.macs() <= most_macs.min(MOST_MACS))
            .map(|point| (self.distance(point), point))
            .max_by(|(left, _), (right, _)| left.total_cmp(right))?;
        self.chosen.push(best.1.place());
        Some(best.1)
    }

    fn distance(&self, point: Point) -> f64 {
        let place = point.place();
        let to = |other: &[f64; 4]| place.iter().zip(other).map(|(left, right)| (left - right).powi(2)).sum::<f64>();
        self.chosen.iter().map(to).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn points_spread_over_the_grid_before_any_is_repeated() {
        let mut design = Design::default();
        let points: Vec<Point> = (0..30).filter_map(|_| design.next(14, 128, usize::MAX, false)).collect();
        let distinct: HashSet<(usize, usize)> = points.iter().map(|point| (point.kernel, point.filters)).collect();
        assert_eq!(distinct.len(), KERNELS.len() * CHANNELS.len());
        let first: HashSet<usize> = points[..12].iter().map(|point| point.kernel).collect();
        assert!(first.len() >= 4, "{points:?}");
    }

    #[test]
    fn layers_that_are_too_large_are_left_out() {
        let mut design = Design::default();
        for _ in 0..40 {
            assert!(design.next(112, 256, 500_000_000, false).unwrap().macs() <= 500_000_000);
        }
        assert_eq!(design.next(112, 256, 1000, true), None);
    }
}
