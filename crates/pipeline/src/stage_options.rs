//! The ways to run each possible stage, for the search of all trade-offs.

use std::sync::PoisonError;

use crate::Problem;
use crate::allocations::{Allocations, KnownOptions};
use crate::range_table::{place, ranges};
use crate::senders::Senders;

/// Replicas that run a stage, and what they give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageOption {
    pub(crate) period: u64,
    pub(crate) latency: u64,
    /// Their place among the [`Multisets`](crate::allocations::Multisets).
    pub(crate) configuration: usize,
}

/// For all senders, every range of blocks and every number of cores, the options that no other option beats, be it one with fewer cores:
/// that one is no worse a sender either, as the stage after it counts with the worst of its senders.
pub(crate) struct StageOptions {
    /// Options by rising latency and falling period: first those of the first senders, range and size.
    pub(crate) options: Vec<StageOption>,
    /// Where the options of each of the senders, range and size begin, and the end of all.
    begins: Vec<usize>,
    ranges: usize,
    sizes: usize,
}

impl StageOptions {
    pub(crate) fn new(problem: &Problem) -> Self {
        let sizes = problem.counts.len();
        let mut options = Vec::new();
        let mut begins = Vec::new();
        let mut allocations = Allocations::new(problem);
        let mut known = problem.options.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| KnownOptions::new(problem));
        for senders in problem.all_senders() {
            for blocks in ranges(problem.blocks()) {
                if blocks.start == 0 && senders != Senders::NETWORK {
                    begins.extend(std::iter::repeat_n(options.len(), sizes));
                    continue;
                }
                let mut own = allocations.options(known, senders, &blocks).iter().peekable();
                for size in 0..sizes {
                    begins.push(options.len());
                    while let Some((_, option)) = own.next_if(|own| own.0 == size) {
                        options.push(*option);
                    }
                }
            }
        }
        begins.push(options.len());
        Self { options, begins, ranges: ranges(problem.blocks()).count(), sizes }
    }

    /// The place of the first size of a range.
    #[inline]
    pub(crate) fn row(&self, senders: Senders, start: usize, end: usize) -> usize {
        (senders.index() * self.ranges + place(start, end)) * self.sizes
    }

    /// All of them, without a bound on the period.
    pub(crate) fn bounded(&self) -> BoundedOptions<'_> {
        let count = self.begins.len() - 1;
        let mut bounded = BoundedOptions {
            options: self,
            current: self.begins[..count].to_vec(),
            latency: vec![u64::MAX; count],
            period: vec![0; count],
        };
        (0..count).for_each(|index| bounded.show(index));
        bounded
    }
}

/// For all senders, every range and number of cores the option with the lowest latency whose period is within a bound.
pub(crate) struct BoundedOptions<'a> {
    pub(crate) options: &'a StageOptions,
    /// Its index.
    pub(crate) current: Vec<usize>,
    /// Its latency; `u64::MAX` if there is none.
    pub(crate) latency: Vec<u64>,
    /// Its period; 0 if there is none.
    pub(crate) period: Vec<u64>,
}

impl BoundedOptions<'_> {
    /// How many are looked at together: the compiler compares them at once.
    const TOGETHER: usize = 16;

    /// Lowers the bound.
    pub(crate) fn tighten(&mut self, bound: u64) {
        for first in (0..self.period.len()).step_by(Self::TOGETHER) {
            let end = (first + Self::TOGETHER).min(self.period.len());
            if self.period[first..end].iter().fold(false, |any, &period| any | (period > bound)) {
                for index in first..end {
                    while self.period[index] > bound {
                        self.current[index] += 1;
                        self.show(index);
                    }
                }
            }
        }
    }

    fn show(&mut self, index: usize) {
        let StageOptions { options, begins, .. } = self.options;
        let current = self.current[index];
        let shown = options.get(current).filter(|_| current < begins[index + 1]);
        (self.latency[index], self.period[index]) = shown.map_or((u64::MAX, 0), |own| (own.latency, own.period));
    }
}
