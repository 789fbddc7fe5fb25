//! How close teams come to their bounds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use millstream_cost::Nanoseconds;
use millstream_partition::SubgraphId;

use crate::teams::effort::Effort;

/// Fewer teams than this say nothing about others.
const FEWEST: usize = 6;
/// Teams of at least so many processors count as alike.
const MANY: usize = 5;

/// For each subgraph and number of processors: the ratios of found times to bounds of the teams that were evaluated.
///
/// Bounds leave out what cannot be said in general, so that the best team is hardly ever at its bound. What others took
/// tells what can be hoped for of one that was not evaluated yet: this decides which are evaluated, and nothing else.
#[derive(Debug)]
pub(crate) struct Experience {
    quantile: f64,
    ratios: Vec<Mutex<Vec<f64>>>,
    /// What is to be expected, as bits of a number: read very often.
    expected: Vec<AtomicU64>,
}

impl Experience {
    pub(crate) fn new(subgraph_count: usize, effort: Effort) -> Self {
        let places = subgraph_count * (MANY + 1);
        Self {
            quantile: effort.quantile(),
            ratios: (0..places).map(|_| Mutex::new(Vec::new())).collect(),
            expected: (0..places).map(|_| AtomicU64::new(1.0_f64.to_bits())).collect(),
        }
    }

    fn place(subgraph: SubgraphId, processor_count: usize) -> usize {
        subgraph.index() * (MANY + 1) + processor_count.min(MANY)
    }

    /// Adds what evaluating a team showed: a found time and the bound on it.
    pub(crate) fn add(&self, subgraph: SubgraphId, processor_count: usize, bound: Nanoseconds, found: Nanoseconds) {
        let place = Self::place(subgraph, processor_count);
        let mut ratios = self.ratios[place].lock().unwrap_or_else(PoisonError::into_inner);
        ratios.push(found.0 as f64 / bound.0.max(1) as f64);
        ratios.sort_unstable_by(f64::total_cmp);
        if ratios.len() >= FEWEST {
            let expected = ratios[(self.quantile * (ratios.len() - 1) as f64) as usize];
            self.expected[place].store(expected.max(1.0).to_bits(), Ordering::Relaxed);
        }
    }

    /// What a team will take whose bound is this.
    #[inline]
    pub(crate) fn expected(&self, subgraph: SubgraphId, processor_count: usize, bound: Nanoseconds) -> Nanoseconds {
        let ratio = f64::from_bits(self.expected[Self::place(subgraph, processor_count)].load(Ordering::Relaxed));
        Nanoseconds((bound.0 as f64 * ratio) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_that_is_expected_is_that_of_one_in_four() {
        let experience = Experience::new(2, Effort::USUAL);
        let (first, second) = (SubgraphId::new(0), SubgraphId::new(1));
        let expected = |subgraph, processors| experience.expected(subgraph, processors, Nanoseconds(1000)).0;
        let add = |found: u64| experience.add(first, 2, Nanoseconds(100), Nanoseconds(found));
        [190, 120, 180, 150, 160].into_iter().for_each(add);
        assert_eq!(expected(first, 2), 1000, "five say nothing");
        [130, 170, 140, 110].into_iter().for_each(add);
        assert_eq!(expected(first, 2), 1300, "the third of nine");
        assert_eq!([expected(first, 3), expected(second, 2)], [1000, 1000], "of other teams nothing is known");

        for _ in 0..FEWEST {
            experience.add(second, MANY, Nanoseconds(100), Nanoseconds(200));
        }
        assert_eq!([expected(second, MANY), expected(second, MANY + 3)], [2000, 2000], "many are alike");
    }
}
