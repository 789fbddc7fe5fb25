//! The ways to run each possible stage, for the search of all trade-offs.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_schedule::{replicated_period, shared_period};

use crate::Problem;
use crate::problem::UNSUPPORTED;
use crate::range_table::{place, ranges};
use crate::senders::Senders;
use crate::undominated::keep_undominated;

/// A way to run a stage: replicas, what they need and what they give.
#[derive(Clone)]
pub(crate) struct StageOption {
    pub(crate) period: u64,
    pub(crate) latency: u64,
    /// Index into [`StageOptions::configurations`].
    pub(crate) configuration: usize,
}

/// For all senders, every range of blocks and every number of cores, the options that no other option beats, be it one with fewer cores:
/// that one is no worse a sender either, as the stage after it counts with the worst of its senders.
pub(crate) struct StageOptions {
    /// Multisets of classes.
    pub(crate) configurations: Vec<Vec<usize>>,
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
        let configurations = configurations(problem);
        let fewer: Vec<Vec<usize>> = (0..sizes).map(|size| problem.counts.one_fewer(size)).collect();
        let mut options = Vec::new();
        let mut begins = Vec::new();
        let mut by_size: Vec<Vec<usize>> = vec![Vec::new(); sizes];
        configurations.iter().enumerate().for_each(|(index, (size, _))| by_size[*size].push(index));
        let mut own: Vec<StageOption> = Vec::new();
        let mut times: Vec<Nanoseconds> = Vec::new();
        // What some cores or fewer can do, as pairs of latency and period.
        let mut reach: Vec<Vec<(u64, u64)>> = vec![Vec::new(); sizes];
        for senders in problem.all_senders() {
            for Range { start, end } in ranges(problem.blocks()) {
                for (size, (fewer, ways)) in fewer.iter().zip(&by_size).enumerate() {
                    if start == 0 && senders != Senders::NETWORK {
                        begins.push(options.len());
                        continue;
                    }
                    begins.push(options.len());
                    let (below, from_here) = reach.split_at_mut(size);
                    let reached = &mut from_here[0];
                    reached.clear();
                    fewer.iter().for_each(|&fewer| reached.extend_from_slice(&below[fewer]));
                    if fewer.len() > 1 {
                        keep_undominated(reached, |&pair| pair);
                    }
                    own.clear();
                    own.extend(ways.iter().filter_map(|&way| {
                        option(problem, (&configurations[way].1, senders), start..end, &mut times)
                            .map(|(latency, period)| StageOption { period, latency, configuration: way })
                    }));
                    if own.len() > 1 {
                        own.sort_unstable_by_key(|option| (option.latency, option.period, option.configuration));
                    }
                    let known = reached.len();
                    for option in &own {
                        let at = reached[..known].partition_point(|pair| pair.0 <= option.latency);
                        let shortest_below = at.checked_sub(1).map_or(u64::MAX, |at| reached[at].1);
                        let shortest_own = reached[known..].last().map_or(u64::MAX, |pair| pair.1);
                        if option.period < shortest_below.min(shortest_own) {
                            reached.push((option.latency, option.period));
                            options.push(option.clone());
                        }
                    }
                    if reached.len() > known && known > 0 {
                        keep_undominated(reached, |&pair| pair);
                    }
                }
            }
        }
        begins.push(options.len());
        let configurations = configurations.into_iter().map(|(_, classes)| classes).collect();
        Self { configurations, options, begins, ranges: ranges(problem.blocks()).count(), sizes }
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

/// Latency and period of a stage of these blocks on replicas of these classes; `None` if one can't run it.
fn option(
    problem: &Problem,
    (classes, senders): (&[usize], Senders),
    blocks: Range<usize>,
    times: &mut Vec<Nanoseconds>,
) -> Option<(u64, u64)> {
    let Range { start, end } = blocks;
    if let [class] = classes {
        let time = problem.time(*class, senders, start, end);
        return (time < UNSUPPORTED).then_some((time, time));
    }
    times.clear();
    times.extend(classes.iter().map(|&class| Nanoseconds(problem.time(class, senders, start, end))));
    let latency = times.iter().map(|time| time.0).max().filter(|&latency| latency < UNSUPPORTED)?;
    let period = match problem.has_links() {
        true => shared_period(times, &problem.links(classes, senders, &blocks)),
        false => replicated_period(times),
    };
    Some((latency, period.0))
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

/// All multisets of classes that the board has cores for, with their encoded numbers of cores.
pub(crate) fn configurations(problem: &Problem) -> Vec<(usize, Vec<usize>)> {
    let mut found: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new())];
    let mut stride = 1;
    for cluster in 0..problem.clusters() {
        let classes = problem.classes_of(cluster);
        let mut extended = Vec::new();
        for (size, chosen) in &found {
            for partition in partitions(classes.len()) {
                let cores: usize = partition.iter().sum();
                let own = partition.iter().map(|count| classes.start + count - 1);
                extended.push((size + cores * stride, chosen.iter().copied().chain(own).collect()));
            }
        }
        found = extended;
        stride *= classes.len() + 1;
    }
    found.retain(|(size, classes)| *size > 0 && (problem.has_replicas || classes.len() == 1));
    found.extend(
        problem.teams.iter().enumerate().map(|(index, (size, _))| (*size, vec![problem.classes.len() + index])),
    );
    found
}

/// All ways to write numbers from 0 to `limit` as sums of positive numbers, without regard to order.
fn partitions(limit: usize) -> Vec<Vec<usize>> {
    fn extend(left: usize, largest: usize, current: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        found.push(current.clone());
        for part in 1..=largest.min(left) {
            current.push(part);
            extend(left - part, part, current, found);
            current.pop();
        }
    }
    let mut found = Vec::new();
    extend(limit, limit, &mut Vec::new(), &mut found);
    found
}
