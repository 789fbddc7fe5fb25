//! Which divisions into tiles are worth looking at.

use std::ops::Range;

use crate::graph::Graph;
use crate::locality::Along;
use crate::needs::dimensions;
use crate::operator::OperatorId;
use crate::tiles::TileRegion;

/// Operators are divided together only if two tiles compute at most so many times what one processor would, where they
/// have more in common than halos.
const MOST_REPEATED: f64 = 1.5;

impl TileRegion {
    /// The ways to divide these operators by positions that a search looks at, with what they are divided along: by
    /// rows, and by columns where there are more of them; none that repeats most of the work. Heads are found by
    /// [`Graph::head_groups`].
    pub fn worthwhile(graph: &Graph, operators: &[OperatorId]) -> Vec<(Along, Self)> {
        let output = operators.last().and_then(|&last| graph.operator(last).outputs.first());
        let sizes = output.and_then(|&value| dimensions(graph, value)).unwrap_or_default();
        let is_wide = sizes.len() >= 4 && sizes[3] > sizes[2];
        let alongs = [Along::Rows, Along::Columns].into_iter().filter(|&along| along == Along::Rows || is_wide);
        let regions = alongs.filter_map(|along| Some((along, Self::new(graph, operators, along)?)));
        regions.filter(|(_, region)| region.is_worthwhile(graph, operators)).collect()
    }

    /// Whether two halves of it, which have nothing in common but halos or little else, compute clearly less than the
    /// whole twice.
    fn is_worthwhile(&self, graph: &Graph, operators: &[OperatorId]) -> bool {
        if !self.repeats_operators() {
            return true;
        }
        let of_tile = |rows: Range<usize>| {
            let parts = operators.iter().zip(self.rows_of_operators()).zip(self.tile(rows).made);
            parts.map(|((&id, all), made)| work(graph, id) * made.len() as f64 / all.max(1) as f64).sum::<f64>()
        };
        let (half, all) = (self.rows() / 2, self.rows());
        of_tile(0..half) + of_tile(half..all) <= MOST_REPEATED * of_tile(0..all)
    }
}

/// What an operator computes and moves, in some unit: elements that it moves count like products.
fn work(graph: &Graph, id: OperatorId) -> f64 {
    let work = graph.operator(id).work;
    work.macs as f64 + work.bytes() as f64
}
