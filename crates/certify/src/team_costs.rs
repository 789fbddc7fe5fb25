//! What several processors that work on one frame together need at least.

use millstream_cost::{ClassId, CostTable, PartCost};
use millstream_graph::OperatorId;

use crate::part_shares::least_by_share;
use crate::windows::WindowOperator;

/// Dual prices of all of a team's processors add up to this many parts.
pub(crate) const BILLION: u64 = 1_000_000_000;
/// Transfers between more processors than this are not looked at one by one.
const MOST_LOOKED_AT: usize = 4;
/// Parts, their bytes and their transfers are rounded to a nanosecond.
const ROUNDING: f64 = 1.0;

/// The processors of a team.
pub(crate) struct TeamCosts<'a> {
    pub(crate) table: &'a CostTable,
    pub(crate) processors: &'a [ClassId],
}

/// The earliest ends of an operator that one processor runs, and of one that several share.
#[derive(Clone, Copy)]
struct Ends {
    whole: f64,
    shared: f64,
}

impl Ends {
    fn earlier(self) -> f64 {
        self.whole.min(self.shared)
    }
}

/// Operators that are shared in the same parts, one after the other.
struct Shared {
    head: OperatorId,
    /// Of what the first one reads: when it is made, and its bytes.
    reads: Vec<(Ends, u64)>,
    /// Of each processor that can run all of them; nothing of others.
    lines: Vec<Option<Line>>,
}

/// For a share of all channels, a processor takes at least `start + share * whole`.
#[derive(Clone, Copy)]
struct Line {
    start: f64,
    whole: f64,
}

impl TeamCosts<'_> {
    fn time(&self, place: usize, operator: OperatorId) -> Option<f64> {
        self.table.time(self.processors[place], operator).map(|time| time.0 as f64)
    }

    fn transfer(&self, from: usize, to: usize, bytes: u64) -> f64 {
        self.table.transfer(self.processors[from], self.processors[to], bytes).0 as f64
    }

    /// The longest path: every operator on the processor that is quickest for it, or shared as well as can be.
    pub(crate) fn path(&self, window: &[WindowOperator]) -> f64 {
        let mut ends: Vec<Ends> = Vec::with_capacity(window.len());
        let mut sharings: Vec<Vec<Shared>> = Vec::with_capacity(window.len());
        for operator in window {
            let reads: Vec<(Ends, u64)> = operator.reads.iter().map(|&(maker, bytes)| (ends[maker], bytes)).collect();
            let ready = reads.iter().map(|(end, _)| end.earlier()).fold(0.0, f64::max);
            let times = (0..self.processors.len()).filter_map(|place| self.time(place, operator.id));
            let whole = ready + times.fold(f64::INFINITY, f64::min);
            let shareable = self.sharings(operator, reads, &sharings);
            let shared = shareable.iter().map(|shared| self.end(shared, operator)).fold(f64::INFINITY, f64::min);
            ends.push(Ends { whole, shared });
            sharings.push(shareable);
        }
        ends.into_iter().map(Ends::earlier).filter(|end| end.is_finite()).fold(0.0, f64::max)
    }

    /// The ways in which an operator can be shared: as those before it that it may follow, or anew.
    fn sharings(&self, operator: &WindowOperator, reads: Vec<(Ends, u64)>, before: &[Vec<Shared>]) -> Vec<Shared> {
        if operator.divisions.is_empty() {
            return Vec::new();
        }
        let follows = |shared: &&Shared| operator.follows.contains(&shared.head);
        let together = |one: &Option<Line>, other: Option<Line>| {
            let (one, other) = ((*one)?, other?);
            Some(Line { start: one.start + other.start, whole: one.whole + other.whole })
        };
        let next: Vec<Option<Line>> = self.lines(operator, false);
        let makers = operator.reads.iter().flat_map(|&(maker, _)| &before[maker]);
        let mut sharings: Vec<Shared> = makers
            .filter(follows)
            .map(|shared| Shared {
                head: shared.head,
                reads: shared.reads.clone(),
                lines: shared.lines.iter().zip(&next).map(|(one, other)| together(one, *other)).collect(),
            })
            .collect();
        if operator.leads {
            sharings.push(Shared { head: operator.id, reads, lines: self.lines(operator, true) });
        }
        sharings.retain(|shared| shared.lines.iter().flatten().count() > 1);
        sharings
    }

    /// What parts of an operator take on each processor at least.
    fn lines(&self, operator: &WindowOperator, is_first: bool) -> Vec<Option<Line>> {
        let line = |place: usize| {
            let processor = self.processors[place];
            let time = self.table.unlimited_time(processor, operator.id)?.0 as f64;
            let in_memory = self.table.memory_time(processor, operator.id).0 as f64;
            if in_memory > time {
                // Moving a part takes its share of moving the whole.
                return Some(Line { start: 0.0, whole: in_memory });
            }
            let part = self.table.part(processor, operator.id);
            let apart = if is_first { part.apart.0 as f64 } else { 0.0 };
            let varying = PartCost { fixed_fraction: 0.0, ..part };
            let least = operator.divisions.iter().map(|&of| least_by_share(varying, of)).fold(1.0, f64::min);
            let fixed = part.fixed_fraction.clamp(0.0, 1.0);
            Some(Line { start: apart + time * fixed, whole: (time * (1.0 - fixed) * least).max(1e-9) })
        };
        (0..self.processors.len()).map(line).collect()
    }

    /// When operators that are shared can be done: after each value that the first reads, which is in parts already, or
    /// on one processor.
    fn end(&self, shared: &Shared, last: &WindowOperator) -> f64 {
        let at_once = self.shared_time(&shared.lines, None, last);
        let after = |&(end, bytes): &(Ends, u64)| {
            (end.whole + self.shared_time(&shared.lines, Some(bytes), last)).min(end.shared + at_once)
        };
        shared.reads.iter().map(after).fold(at_once, f64::max)
    }

    /// The least time in which parts make a whole. Of what is read, so many bytes are on one of the processors and come
    /// to the others by a transfer; if all parts are needed together, they come to one of the processors.
    fn shared_time(&self, lines: &[Option<Line>], read: Option<u64>, last: &WindowOperator) -> f64 {
        let count = self.processors.len();
        if count > MOST_LOOKED_AT {
            return equalised(lines.iter().flatten().copied().collect());
        }
        let anywhere = |matters: bool| if matters { (0..count).map(Some).collect() } else { vec![None] };
        let (sources, targets) = (anywhere(read.is_some()), anywhere(last.is_gathered));
        let mut least = f64::INFINITY;
        for &source in &sources {
            for &target in &targets {
                let moved = |(place, line): (usize, &Option<Line>)| {
                    let mut line = (*line)?;
                    if let (Some(source), Some(bytes)) = (source.filter(|source| *source != place), read) {
                        line.start += self.transfer(source, place, bytes);
                    }
                    if let Some(target) = target.filter(|target| *target != place) {
                        let nothing = self.transfer(place, target, 0);
                        // A part's bytes are whole ones.
                        let byte = self.transfer(place, target, 1) - nothing;
                        line.start += (nothing - byte - ROUNDING).max(0.0);
                        line.whole += (self.transfer(place, target, last.output_bytes) - nothing - ROUNDING).max(0.0);
                    }
                    Some(line)
                };
                least = least.min(equalised(lines.iter().enumerate().filter_map(moved).collect()));
            }
        }
        least
    }

    /// The dual objective in nanoseconds: the work of operators by the processors' prices in billionths, each operator
    /// where it is cheapest.
    pub(crate) fn priced_work<'w>(&self, operators: impl Iterator<Item = &'w WindowOperator>, parts: &[u64]) -> u64 {
        let cheapest = |operator: &WindowOperator| {
            let price = |(place, parts): (usize, &u64)| {
                let time = self.table.time(self.processors[place], operator.id)?.0;
                let part = self.table.part(self.processors[place], operator.id);
                let least = operator.divisions.iter().map(|&of| least_by_share(part, of)).fold(1.0, f64::min);
                let time = if least < 1.0 { (time as f64 * least) as u64 } else { time };
                Some(u128::from(time) * u128::from(*parts))
            };
            parts.iter().enumerate().filter_map(price).min().unwrap_or(0)
        };
        let work: u128 = operators.map(cheapest).sum();
        u64::try_from(work / u128::from(BILLION)).unwrap_or(u64::MAX)
    }
}

/// The time in which the shares that all manage come to a whole.
fn equalised(mut lines: Vec<Line>) -> f64 {
    if lines.len() < 2 {
        return f64::INFINITY;
    }
    lines.sort_unstable_by(|one, other| one.start.total_cmp(&other.start));
    let (mut rate, mut missed, mut least) = (0.0, 0.0, f64::INFINITY);
    for Line { start, whole } in lines {
        rate += 1.0 / whole;
        missed += start / whole;
        least = f64::min(least, (1.0 + missed) / rate);
    }
    least
}

/// What is left of a bound once all that may be rounded is taken off.
pub(crate) fn rounded_down(least: f64, operators: usize) -> u64 {
    (least * (1.0 - 1e-9) - ROUNDING * operators as f64).max(0.0) as u64
}
