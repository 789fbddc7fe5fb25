//! Whether what a process holds grows.

use std::fmt;
use std::time::Duration;

use crate::process::Footprint;

/// What was measured at rest, and when.
#[derive(Debug, Default)]
pub(crate) struct Growth(Vec<(Duration, Footprint)>);

/// Until then, whatever is kept for later is made.
const SETTLES_IN: Duration = Duration::from_mins(5);
/// The most that allocated memory may grow after that, as a share.
const MOST: f64 = 0.01;
/// The same of what is resident: an allocator's holes between allocations take it up and down by 15 %.
const MOST_RESIDENT: f64 = 0.15;

/// A part of what was measured.
type Part<'a> = &'a [(Duration, Footprint)];

impl Growth {
    pub(crate) fn add(&mut self, at: Duration, footprint: Footprint) {
        self.0.push((at, footprint));
    }

    /// The first third of some measurements, and the last.
    fn ends(part: Part<'_>) -> (Part<'_>, Part<'_>) {
        let third = part.len().div_ceil(3);
        (&part[..third], &part[part.len() - third..])
    }

    /// By what share memory grew after it had settled, told from the medians of the first third and the last. `None`
    /// after short runs.
    fn memory(&self, bytes: fn(&Footprint) -> u64) -> Option<f64> {
        let median = |part: Part<'_>| {
            let mut bytes: Vec<u64> = part.iter().map(|(_, footprint)| bytes(footprint)).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied().unwrap_or(0) as f64
        };
        let settled = self.0.get(self.0.partition_point(|(at, _)| *at < SETTLES_IN)..)?;
        let (first, last) = Self::ends(settled);
        // The middles of the thirds are two thirds of the time apart.
        (settled.len() >= 3).then(|| 1.5 * (median(last) / median(first) - 1.0))
    }

    /// The fewest threads, or descriptors, that were there at rest, at first and at last.
    fn fewest(&self, count: fn(&Footprint) -> u64) -> (u64, u64) {
        let fewest = |part: Part<'_>| part.iter().map(|(_, footprint)| count(footprint)).min().unwrap_or(0);
        let (first, last) = Self::ends(&self.0);
        (fewest(first), fewest(last))
    }

    /// By what share grew what is allocated.
    fn allocated(&self) -> Option<f64> {
        self.memory(|footprint| footprint.allocated_bytes)
    }

    /// By what share grew what is resident, which comes and goes with what the allocator keeps for later.
    fn resident(&self) -> Option<f64> {
        self.memory(|footprint| footprint.resident_bytes)
    }

    /// Whether nothing grew.
    pub(crate) fn is_none(&self) -> bool {
        let is_steady = |(first, last): (u64, u64)| last <= first;
        self.allocated().is_none_or(|grown| grown < MOST)
            && self.resident().is_none_or(|grown| grown < MOST_RESIDENT)
            && is_steady(self.fewest(|footprint| footprint.threads))
            && is_steady(self.fewest(|footprint| footprint.descriptors))
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (threads, threads_now) = self.fewest(|footprint| footprint.threads);
        let (descriptors, descriptors_now) = self.fewest(|footprint| footprint.descriptors);
        match self.allocated().zip(self.resident()) {
            Some((allocated, resident)) => write!(
                formatter,
                "memory at rest after the first {1} minutes: allocated {0:+.2} %, resident {2:+.2} %",
                100.0 * allocated,
                SETTLES_IN.as_secs() / 60,
                100.0 * resident
            )?,
            None => write!(formatter, "memory is judged in runs of more than {} minutes", SETTLES_IN.as_secs() / 60)?,
        }
        write!(
            formatter,
            "; at rest threads {threads} -> {threads_now}, descriptors {descriptors} -> {descriptors_now}"
        )
    }
}
