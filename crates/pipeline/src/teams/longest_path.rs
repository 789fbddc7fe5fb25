//! The bound on a team's time by the longest path, each operator whole or divided as well as can be.

use millstream_cost::PartCost;
use millstream_graph::OperatorId;
use millstream_mapping::ProcessorId;

use crate::teams::team_costs::TeamCosts;
use crate::teams::windows::WindowOperator;
use crate::times::operator_parts::least_per_share;

/// In teams of more processors than this, transfers are ignored: the bound is lower then.
const MOST_PAIRED: usize = 4;
/// Divided parts are each rounded to a nanosecond.
pub(super) const ROUNDING: f64 = 1.0;

/// When an operator can be done at the earliest, whole on one processor or divided between several, in nanoseconds.
#[derive(Clone, Copy)]
struct Finish {
    whole: f64,
    divided: f64,
}

impl Finish {
    fn earliest(&self) -> f64 {
        self.whole.min(self.divided)
    }
}

/// A value that is read: when it is made, and how much of it there is.
#[derive(Clone, Copy)]
struct ReadValue {
    made: Finish,
    bytes: u64,
}

/// Where all bytes of a value are, or have to be.
#[derive(Clone, Copy)]
struct Held {
    on: ProcessorId,
    bytes: u64,
}

/// Operators that are divided together, each part of the last needing only that of the one before.
struct Run {
    head: OperatorId,
    /// What the first of them reads.
    entries: Vec<ReadValue>,
    /// All operators together.
    lines: Vec<PartLine>,
}

impl Run {
    /// The run with one more operator, if that may be divided together with these.
    fn followed_by(&self, lines: &[PartLine], operator: &WindowOperator) -> Option<Self> {
        let longer = |line: &PartLine| {
            let next = lines.iter().find(|next| next.processor == line.processor)?;
            Some(PartLine { start: line.start + next.start, whole: line.whole + next.whole, ..*line })
        };
        operator.follows.contains(&self.head).then(|| Self {
            head: self.head,
            entries: self.entries.clone(),
            lines: self.lines.iter().filter_map(longer).collect(),
        })
    }
}

/// A part's time on a processor is at least this, for a share from 0 to 1: `start + share * whole`.
#[derive(Clone, Copy)]
struct PartLine {
    processor: ProcessorId,
    start: f64,
    whole: f64,
}

impl TeamCosts<'_> {
    /// The longest way through a window, each operator whole where it is fastest or divided as well as can be, alone or
    /// together with those before it.
    ///
    /// Parts of an operator whose input is whole on one processor start later everywhere else by its transfer; and if
    /// all parts are needed together, those made elsewhere arrive later by theirs.
    pub(super) fn longest_path(&self, window: &[WindowOperator]) -> f64 {
        let mut finishes: Vec<Finish> = Vec::with_capacity(window.len());
        let mut runs: Vec<Vec<Run>> = Vec::with_capacity(window.len());
        for operator in window {
            let times = self.class_ids.iter().filter_map(|&class| self.time(class, operator)).map(|time| time.0 as f64);
            let entries: Vec<ReadValue> = operator
                .reads
                .iter()
                .map(|read| ReadValue { made: finishes[read.maker.0], bytes: read.bytes })
                .collect();
            let ready = entries.iter().map(|entry| entry.made.earliest()).fold(0.0, f64::max);
            let whole = ready + times.fold(f64::INFINITY, f64::min);

            let mut runs_here: Vec<Run> = Vec::new();
            for run in operator.reads.iter().flat_map(|read| &runs[read.maker.0]) {
                runs_here.extend(run.followed_by(&self.part_lines(operator, false), operator));
            }
            if operator.leads {
                runs_here.push(Run { head: operator.id, entries, lines: self.part_lines(operator, true) });
            }
            runs_here.retain(|run| run.lines.len() > 1);
            let divided = runs_here.iter().map(|run| self.run_end(run, operator)).fold(f64::INFINITY, f64::min);
            finishes.push(Finish { whole, divided });
            runs.push(runs_here);
        }
        finishes.iter().map(Finish::earliest).filter(|finish| finish.is_finite()).fold(0.0, f64::max)
    }

    /// When operators that are divided together are done at the earliest.
    fn run_end(&self, run: &Run, last: &WindowOperator) -> f64 {
        let after_divided = self.divided(&run.lines, None, last);
        let after = |ReadValue { made, bytes }: &ReadValue| {
            (made.whole + self.divided(&run.lines, Some(*bytes), last)).min(made.divided + after_divided)
        };
        run.entries.iter().map(after).fold(after_divided, f64::max)
    }

    /// What parts of an operator take on each processor at least; none if it can't be divided.
    fn part_lines(&self, operator: &WindowOperator, is_first: bool) -> Vec<PartLine> {
        let line = |processor: ProcessorId| {
            let class = self.class_ids[processor.index()];
            let time = self.table.unlimited_time(class, operator.id)?.0 as f64;
            // Of two that a part takes at least, its share of the time in memory and of its own time, whichever is more
            // for the whole.
            let in_memory = self.table.memory_time(class, operator.id).0 as f64;
            if in_memory > time {
                return Some(PartLine { processor, start: 0.0, whole: in_memory });
            }
            let part = self.table.part(class, operator.id);
            let apart = if is_first { part.apart.0 as f64 } else { 0.0 };
            let varying = PartCost { fixed_fraction: 0.0, ..part };
            let least = least_per_share(&varying, &operator.divisions);
            let fixed = part.fixed_fraction.clamp(0.0, 1.0);
            let whole = (time * (1.0 - fixed) * least).max(1e-9);
            Some(PartLine { processor, start: apart + time * fixed, whole })
        };
        if operator.divisions.is_empty() { Vec::new() } else { self.processors().filter_map(line).collect() }
    }

    /// The least time in which parts on several processors make all of an operator. `received` bytes are on one of the
    /// processors before.
    fn divided(&self, lines: &[PartLine], received: Option<u64>, operator: &WindowOperator) -> f64 {
        if lines.len() < 2 {
            return f64::INFINITY;
        }
        // Of many processors, some pair is always close enough.
        if self.class_ids.len() > MOST_PAIRED {
            return together(&mut lines.to_vec());
        }
        let each = || self.processors().map(Some);
        let all = |is_needed: bool| {
            each().filter(move |_| is_needed).chain(std::iter::once(None).filter(move |_| !is_needed))
        };

        let mut least = f64::INFINITY;
        // The processor that has the input, and the one that has all of the output first.
        for source in all(received.is_some()) {
            let source = source.zip(received).map(|(on, bytes)| Held { on, bytes });
            for target in all(operator.is_gathered) {
                let target = target.map(|on| Held { on, bytes: operator.output_bytes });
                let mut delayed: Vec<PartLine> = lines.to_vec();
                for line in &mut delayed {
                    self.delay(line, source, target);
                }
                least = least.min(together(&mut delayed));
            }
        }
        least
    }

    /// Adds what a part waits for its input, and what its output takes to where it is needed.
    fn delay(&self, line: &mut PartLine, source: Option<Held>, target: Option<Held>) {
        let class = |processor: ProcessorId| self.class_ids[processor.index()];
        let transfer = |from, to, bytes| self.table.transfer(class(from), class(to), bytes).0 as f64;
        let is_elsewhere = |held: &Held| held.on != line.processor;
        let (source, target) = (source.filter(is_elsewhere), target.filter(is_elsewhere));
        if let Some(Held { on, bytes }) = source {
            line.start += transfer(on, line.processor, bytes);
        }
        if let Some(Held { on: target, bytes }) = target {
            // A part's bytes are rounded down, and its transfer to a nanosecond.
            let least = transfer(line.processor, target, 0);
            let byte = transfer(line.processor, target, 1) - least;
            line.start += (least - byte - ROUNDING).max(0.0);
            line.whole += (transfer(line.processor, target, bytes) - least - ROUNDING).max(0.0);
        }
    }
}

/// When the shares that processors manage in the same time make a whole.
fn together(lines: &mut [PartLine]) -> f64 {
    lines.sort_unstable_by(|one, other| one.start.total_cmp(&other.start));
    let (mut rate, mut lost, mut least) = (0.0, 0.0, f64::INFINITY);
    for PartLine { start, whole, .. } in lines {
        rate += 1.0 / *whole;
        lost += *start / *whole;
        // A processor that starts after the time so far raises it: the time is the least over all prefixes.
        least = least.min((1.0 + lost) / rate);
    }
    least
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_cost::{ClassId, CostTable, Nanoseconds, TransferModel};

    use super::*;
    use crate::teams::windows::{Read, WindowPlace};

    fn operator(index: usize, reads: Vec<Read>, follows: Vec<OperatorId>) -> WindowOperator {
        let leads = follows.is_empty();
        let id = OperatorId::new(index);
        WindowOperator { id, reads, output_bytes: 12, divisions: vec![12], leads, follows, is_gathered: false }
    }

    /// Operators as rows of a time and a fixed part for each of two processors, between which a byte takes so long.
    fn table(rows: &[[(u64, f64); 2]], seconds_per_byte: f64) -> (CostTable, Vec<ClassId>) {
        let class = |count| ProcessorClass::new("B", count);
        let mut table = CostTable::new(rows.len(), [class(1), class(2)]);
        let class_ids: Vec<ClassId> = table.class_ids().collect();
        for (operator, row) in table.operator_ids().zip(rows) {
            for (&processor, &(time, fixed_fraction)) in class_ids.iter().zip(row) {
                table.set_time(processor, operator, Nanoseconds(time));
                table.set_part(processor, operator, PartCost { fixed_fraction, ..PartCost::default() });
            }
        }
        let model = TransferModel { seconds_per_byte, ..TransferModel::default() };
        table.set_transfer(class_ids[0], class_ids[1], model);
        table.set_transfer(class_ids[1], class_ids[0], model);
        (table, class_ids)
    }

    /// The second operator's shares are those of the first: with a third on the first processor, 1000 + 333 there and
    /// 667 + 667 on the other. Each by itself would be done after 1000 and 500 more.
    #[test]
    fn operators_that_are_divided_together_have_one_division() {
        let (table, class_ids) = table(&[[(1000, 1.0), (1000, 0.0)], [(1000, 0.0), (1000, 0.0)]], 0.0);
        let team = TeamCosts { table: &table, class_ids: &class_ids };
        let first = operator(0, Vec::new(), Vec::new());
        let second = operator(1, vec![Read { maker: WindowPlace(0), bytes: 12 }], vec![first.id]);
        let path = team.longest_path(&[first.clone(), second.clone()]);
        assert!((path - 1333.3).abs() < 0.1, "{path}");
        // If it has to be divided anew, it is: 1000 for the first, as on one processor, and 500 for the second.
        let apart = WindowOperator { leads: true, follows: Vec::new(), ..second };
        let path = team.longest_path(&[first, apart]);
        assert!((path - 1500.0).abs() < 0.1, "{path}");
    }

    /// Twelve bytes take 120 ns, which the other processor waits for and its part of the output takes again where all
    /// of it is needed.
    #[test]
    fn parts_wait_for_what_they_read_and_are_waited_for() {
        let (table, class_ids) = table(&[[(600, 0.0), (9000, 0.0)], [(600, 0.0), (600, 0.0)]], 1e-8);
        let team = TeamCosts { table: &table, class_ids: &class_ids };
        let first = WindowOperator { divisions: Vec::new(), ..operator(0, Vec::new(), Vec::new()) };
        let second = operator(1, vec![Read { maker: WindowPlace(0), bytes: 12 }], Vec::new());
        // 600 s on the one and 120 + 600 (1 - s) on the other: s = 0.6.
        let path = team.longest_path(&[first.clone(), second.clone()]);
        assert!((path - 960.0).abs() < 0.1, "{path}");
        // Where its output is needed, 120 (1 - s) more, but for a byte and a rounding.
        let path = team.longest_path(&[first, WindowOperator { is_gathered: true, ..second }]);
        assert!(path > 975.0 && path < 982.0, "{path}");
    }
}
