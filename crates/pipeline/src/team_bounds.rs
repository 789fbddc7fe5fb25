//! The least that several processors together need for each subgraph, whichever way they share it.

use std::collections::HashSet;

use millstream_cost::{CostTable, PartCost, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_partition::Subgraph;

use crate::regions::Regions;
use crate::throughput_bound::{divisions, least_per_share};

/// Steps in which processors become dearer, for the bound by load.
const PRICE_STEPS: usize = 24;
/// Teams of more processors than this are not asked from where to where values go.
const MOST_PAIRED: usize = 4;
/// Divided parts are each rounded to a nanosecond.
const ROUNDING: f64 = 1.0;
/// All of a team's processor time is worth so many parts.
const BILLION: u64 = 1_000_000_000;

/// Of each subgraph, the operators that run between the end of the sink before it and the end of its own sink, whoever runs them.
#[derive(Debug, Clone)]
pub(crate) struct Windows(Vec<Window>);

#[derive(Debug, Clone)]
struct Window {
    operators: Vec<WindowOperator>,
    /// Whether the subgraph may be divided by rows, alone or together with its neighbours.
    may_be_tiled: bool,
}

/// An operator of a window, in an order in which they can run.
#[derive(Debug, Clone)]
struct WindowOperator {
    index: usize,
    /// What it reads of others of the window.
    reads: Vec<Read>,
    output_bytes: u64,
    /// Numbers of channels that it may be divided by; none if it may not.
    divisions: Vec<usize>,
    /// Whether it may be the first of operators that are divided together.
    leads: bool,
    /// The first operators of those that it may be divided together with.
    follows: Vec<usize>,
    /// Whether whoever reads it needs all of its parts.
    is_gathered: bool,
}

/// A value that another operator of the window makes.
#[derive(Debug, Clone, Copy)]
struct Read {
    /// The maker's place.
    maker: usize,
    bytes: u64,
}

impl Windows {
    pub(crate) fn of(graph: &Graph, subgraphs: &[Subgraph], regions: &Regions) -> Self {
        let divisions = divisions(graph);
        let mut follows = vec![Vec::new(); graph.operators().len()];
        for head in graph.operator_ids() {
            for follower in graph.channel_followers(head) {
                follows[follower.index()].push(head);
            }
        }

        let exit = |subgraph: &Subgraph| subgraph.nodes.last().and_then(|node| node.last().copied());
        let mut places = vec![0; graph.operators().len()];
        graph.order().iter().enumerate().for_each(|(place, id)| places[id.index()] = place);
        let mut before: Option<OperatorId> = None;
        let mut windows = Vec::with_capacity(subgraphs.len());
        for (number, subgraph) in subgraphs.iter().enumerate() {
            let last = exit(subgraph);
            let own = between(graph, &places, subgraph, before, last);
            let describe = |(place, &id): (usize, &OperatorId)| {
                let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);
                let read = |&value: &ValueId| {
                    let maker = graph.producer(value)?;
                    Some(Read { maker: own[..place].iter().position(|other| *other == maker)?, bytes: bytes(value) })
                };
                let reads = graph.operator(id).inputs.iter().filter_map(read);
                let readers = || graph.operator(id).outputs.iter().flat_map(|&value| graph.readers(value));
                WindowOperator {
                    index: id.index(),
                    reads: reads.collect(),
                    output_bytes: graph.operator(id).outputs.iter().map(|&value| bytes(value)).min().unwrap_or(0),
                    divisions: divisions[id.index()].clone(),
                    leads: graph.channel_units(id).is_some(),
                    follows: follows[id.index()].iter().map(|head: &OperatorId| head.index()).collect(),
                    is_gathered: Some(id) != last
                        && readers().next().is_some()
                        && readers().all(|reader| follows[reader.index()].is_empty()),
                }
            };
            let operators = own.iter().enumerate().map(describe).collect();
            windows.push(Window { operators, may_be_tiled: regions.cover(number) });
            before = last;
        }

        Self(windows)
    }

    /// The least time that these processors need for each subgraph's window.
    pub(crate) fn least_times(&self, table: &CostTable, processors: &[ProcessorIndex]) -> LeastTimes {
        let team = TeamCosts { table, processors };
        let is_tiled = |window: &&Window| window.may_be_tiled && has_tiles(table, processors);
        // Tiles of several subgraphs run on without waiting for each other, so that all of them count with the same prices.
        let tiled: Vec<&WindowOperator> = self.0.iter().filter(is_tiled).flat_map(|window| &window.operators).collect();
        let tile_worths = if tiled.is_empty() { Vec::new() } else { team.worths(&tiled) };
        let least = |window: &Window| {
            let operators: Vec<&WindowOperator> = window.operators.iter().collect();
            let (least, worths) = if is_tiled(&window) {
                (team.load(&operators, &tile_worths) as f64, Vec::new())
            } else {
                let (path, worths) = (team.path(&window.operators), team.worths(&operators));
                let load = team.load(&operators, &worths) as f64;
                if load > path { (load, worths) } else { (path, Vec::new()) }
            };
            let nanoseconds = (least * (1.0 - 1e-9) - ROUNDING * operators.len() as f64).max(0.0) as u64;
            (nanoseconds, worths)
        };
        let (nanoseconds, worths) = self.0.iter().map(least).unzip();
        LeastTimes { nanoseconds, worths, tile_worths }
    }
}

/// What a team takes for each subgraph at least, and what proves it.
#[derive(Debug)]
pub(crate) struct LeastTimes {
    pub(crate) nanoseconds: Vec<u64>,
    /// What the time of each processor is worth in a subgraph, in billionths of what all is worth; nothing where the longest path says as much.
    pub(crate) worths: Vec<Vec<u64>>,
    /// The same for all subgraphs that may be divided by rows; nothing if there are none.
    pub(crate) tile_worths: Vec<u64>,
}

/// The operators of a subgraph that depend on the sink before it, and that its own sink depends on, with that sink. `places` are those in
/// the graph's order.
fn between(
    graph: &Graph,
    places: &[usize],
    subgraph: &Subgraph,
    before: Option<OperatorId>,
    last: Option<OperatorId>,
) -> Vec<OperatorId> {
    let mut own: Vec<OperatorId> = subgraph.operators().collect();
    own.sort_by_key(|id| places[id.index()]);
    let makers = |id: OperatorId| graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
    let mut is_after: HashSet<OperatorId> = before.into_iter().collect();
    for &id in &own {
        if before.is_none() || makers(id).any(|maker| is_after.contains(&maker)) {
            is_after.insert(id);
        }
    }
    let mut is_wanted: HashSet<OperatorId> = last.into_iter().collect();
    for &id in own.iter().rev() {
        if is_wanted.contains(&id) {
            is_wanted.extend(makers(id));
        }
    }
    own.retain(|id| is_after.contains(id) && is_wanted.contains(id));
    own
}

/// Whether several of the processors make tiles of rows.
pub(crate) fn has_tiles(table: &CostTable, processors: &[ProcessorIndex]) -> bool {
    let makes_tiles = |processor: &&ProcessorIndex| {
        (0..table.operators()).any(|operator| table.rows(**processor, operator).is_some())
    };
    processors.iter().filter(makes_tiles).count() > 1
}

struct TeamCosts<'a> {
    table: &'a CostTable,
    processors: &'a [ProcessorIndex],
}

/// When an operator can be done at the earliest, whole on one processor or divided between several.
#[derive(Clone, Copy)]
struct Ends {
    whole: f64,
    divided: f64,
}

/// Operators that are divided together, each part of the last needing only that of the one before.
struct Run {
    head: usize,
    /// When what the first reads is made, and its bytes.
    entries: Vec<(Ends, u64)>,
    /// All operators together.
    lines: Vec<PartLine>,
}

impl Run {
    /// The same with one more operator, if that may be divided with it.
    fn followed_by(&self, lines: &[PartLine], operator: &WindowOperator) -> Option<Self> {
        let longer = |own: &PartLine| {
            let next = lines.iter().find(|next| next.place == own.place)?;
            Some(PartLine { start: own.start + next.start, whole: own.whole + next.whole, ..*own })
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
    processor: ProcessorIndex,
    /// The processor's place in the team.
    place: usize,
    start: f64,
    whole: f64,
}

impl TeamCosts<'_> {
    fn time(&self, processor: ProcessorIndex, operator: &WindowOperator) -> Option<f64> {
        self.table.time(processor, operator.index).map(|time| time.0 as f64)
    }

    /// The longest way through a window, each operator whole where it is fastest or divided as well as can be, alone or together with those
    /// before it.
    ///
    /// Parts of an operator whose input is whole on one processor start later everywhere else by its transfer; and if all parts are needed
    /// together, those made elsewhere arrive later by theirs.
    fn path(&self, window: &[WindowOperator]) -> f64 {
        let mut ends: Vec<Ends> = Vec::with_capacity(window.len());
        let mut runs: Vec<Vec<Run>> = Vec::with_capacity(window.len());
        for operator in window {
            let times = || self.processors.iter().filter_map(|&processor| self.time(processor, operator));
            let entries: Vec<(Ends, u64)> = operator.reads.iter().map(|read| (ends[read.maker], read.bytes)).collect();
            let ready = entries.iter().map(|(end, _)| end.whole.min(end.divided)).fold(0.0, f64::max);
            let whole = ready + times().fold(f64::INFINITY, f64::min);

            let mut own: Vec<Run> = Vec::new();
            for run in operator.reads.iter().flat_map(|read| &runs[read.maker]) {
                own.extend(run.followed_by(&self.part_lines(operator, false), operator));
            }
            if operator.leads {
                own.push(Run { head: operator.index, entries, lines: self.part_lines(operator, true) });
            }
            own.retain(|run| run.lines.len() > 1);
            let divided = own.iter().map(|run| self.run_end(run, operator)).fold(f64::INFINITY, f64::min);
            ends.push(Ends { whole, divided });
            runs.push(own);
        }
        ends.iter().map(|own| own.whole.min(own.divided)).filter(|end| end.is_finite()).fold(0.0, f64::max)
    }

    /// When operators that are divided together are done at the earliest.
    fn run_end(&self, run: &Run, last: &WindowOperator) -> f64 {
        let after_divided = self.divided(&run.lines, None, last);
        let after = |(end, bytes): &(Ends, u64)| {
            (end.whole + self.divided(&run.lines, Some(*bytes), last)).min(end.divided + after_divided)
        };
        run.entries.iter().map(after).fold(after_divided, f64::max)
    }

    /// What parts of an operator take on each processor at least; none if it can't be divided.
    fn part_lines(&self, operator: &WindowOperator, is_first: bool) -> Vec<PartLine> {
        let line = |(place, &processor): (usize, &ProcessorIndex)| {
            let time = self.table.unlimited_time(processor, operator.index)?.0 as f64;
            // Of two that a part takes at least, its share of the time in memory and of its own time, whichever is more for the whole.
            let in_memory = self.table.memory_time(processor, operator.index).0 as f64;
            if in_memory > time {
                return Some(PartLine { processor, place, start: 0.0, whole: in_memory });
            }
            let part = self.table.part(processor, operator.index);
            let apart = if is_first { part.apart.0 as f64 } else { 0.0 };
            let varying = PartCost { fixed_fraction: 0.0, ..part };
            let least = operator.divisions.iter().map(|&of| least_per_share(&varying, of)).fold(1.0, f64::min);
            let fixed = part.fixed_fraction.clamp(0.0, 1.0);
            let whole = (time * (1.0 - fixed) * least).max(1e-9);
            Some(PartLine { processor, place, start: apart + time * fixed, whole })
        };
        match operator.divisions.is_empty() {
            true => Vec::new(),
            false => self.processors.iter().enumerate().filter_map(line).collect(),
        }
    }

    /// The least time in which parts on several processors make all of an operator. `received` bytes are on one of the processors before.
    fn divided(&self, lines: &[PartLine], received: Option<u64>, operator: &WindowOperator) -> f64 {
        if lines.len() < 2 {
            return f64::INFINITY;
        }
        // Of many processors, some pair is always close enough.
        if self.processors.len() > MOST_PAIRED {
            return together(&mut lines.to_vec());
        }
        let places = || (0..self.processors.len()).map(Some);
        let all = |is_needed: bool| {
            places().filter(move |_| is_needed).chain(std::iter::once(None).filter(move |_| !is_needed))
        };
        let mut least = f64::INFINITY;
        // The processor that has the input, and the one that has all of the output first.
        for source in all(received.is_some()) {
            for target in all(operator.is_gathered) {
                let mut delayed: Vec<PartLine> = lines.to_vec();
                for line in &mut delayed {
                    self.delay(line, source.zip(received), target.map(|target| (target, operator.output_bytes)));
                }
                least = least.min(together(&mut delayed));
            }
        }
        least
    }

    /// Adds what a part waits for its input, and what its output takes to where it is needed.
    fn delay(&self, line: &mut PartLine, source: Option<(usize, u64)>, target: Option<(usize, u64)>) {
        let transfer = |from, to, bytes| self.table.transfer(from, to, bytes).0 as f64;
        if let Some((source, bytes)) = source.filter(|(source, _)| *source != line.place) {
            line.start += transfer(self.processors[source], line.processor, bytes);
        }
        if let Some((target, bytes)) = target.filter(|(target, _)| *target != line.place) {
            // A part's bytes are rounded down, and its transfer to a nanosecond.
            let target = self.processors[target];
            let least = transfer(line.processor, target, 0);
            let byte = transfer(line.processor, target, 1) - least;
            line.start += (least - byte - ROUNDING).max(0.0);
            line.whole += (transfer(line.processor, target, bytes) - least - ROUNDING).max(0.0);
        }
    }

    /// The least nanoseconds of an operator's share on each processor, whole or divided; `None` where it can't run.
    fn costs(&self, operator: &WindowOperator) -> Vec<Option<u64>> {
        let cost = |&processor: &ProcessorIndex| {
            let time = self.table.time(processor, operator.index)?.0;
            let part = self.table.part(processor, operator.index);
            let least = operator.divisions.iter().map(|&of| least_per_share(&part, of)).fold(1.0, f64::min);
            Some(if least < 1.0 { (time as f64 * least) as u64 } else { time })
        };
        self.processors.iter().map(cost).collect()
    }

    /// The work of operators by what it is worth, in nanoseconds: with so many billionths for the processors' time, each operator where it is
    /// cheapest.
    fn load(&self, operators: &[&WindowOperator], worths: &[u64]) -> u64 {
        let cheapest = |operator: &&WindowOperator| {
            let priced = self.costs(operator).into_iter().zip(worths);
            priced.filter_map(|(time, worth)| Some(u128::from(time?) * u128::from(*worth))).min().unwrap_or(0)
        };
        let sum: u128 = operators.iter().map(cheapest).sum();
        u64::try_from(sum / u128::from(BILLION)).unwrap_or(u64::MAX)
    }

    /// Prices by which operators are worth much, in billionths.
    fn worths(&self, operators: &[&WindowOperator]) -> Vec<u64> {
        let mut worths: Vec<u64> = self.prices(operators).iter().map(|price| (price * BILLION as f64) as u64).collect();
        let left = BILLION.saturating_sub(worths.iter().sum());
        if let Some(largest) = worths.iter_mut().max() {
            *largest += left;
        }
        worths
    }

    /// Prices by which operators are worth much: processors that too many choose become dearer, step by step.
    fn prices(&self, operators: &[&WindowOperator]) -> Vec<f64> {
        let seconds = |own: Option<u64>| own.map_or(f64::INFINITY, |own| own as f64);
        let work: Vec<Vec<f64>> =
            operators.iter().map(|operator| self.costs(operator).into_iter().map(seconds).collect()).collect();
        let mut prices = vec![1.0 / self.processors.len().max(1) as f64; self.processors.len()];
        let mut best = (0.0_f64, prices.clone());
        for step in 0..PRICE_STEPS {
            let mut loads = vec![0.0; prices.len()];
            let mut worth = 0.0;
            for own in &work {
                let priced = own.iter().zip(&prices).map(|(time, price)| time * price).enumerate();
                let cheapest =
                    priced.filter(|(_, cost)| cost.is_finite()).min_by(|one, other| one.1.total_cmp(&other.1));
                if let Some((place, cost)) = cheapest {
                    worth += cost;
                    loads[place] += own[place];
                }
            }
            if worth > best.0 {
                best = (worth, prices.clone());
            }
            let highest = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let rate = 1.0 / (1.0 + step as f64).sqrt();
            prices.iter_mut().zip(&loads).for_each(|(price, load)| *price *= (rate * load / highest).exp());
            let all: f64 = prices.iter().sum();
            prices.iter_mut().for_each(|price| *price /= all);
        }
        best.1
    }
}

/// When the shares that processors manage in the same time make a whole.
fn together(lines: &mut [PartLine]) -> f64 {
    lines.sort_unstable_by(|one, other| one.start.total_cmp(&other.start));
    let (mut rate, mut lost, mut least) = (0.0, 0.0, f64::INFINITY);
    for PartLine { start, whole, .. } in lines {
        rate += 1.0 / *whole;
        lost += *start / *whole;
        // Counting in who starts only later takes something away, so that the least of these is the time.
        least = least.min((1.0 + lost) / rate);
    }
    least
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_cost::{Nanoseconds, TransferModel};

    use super::*;

    fn operator(index: usize, reads: Vec<Read>, follows: Vec<usize>) -> WindowOperator {
        let leads = follows.is_empty();
        WindowOperator { index, reads, output_bytes: 12, divisions: vec![12], leads, follows, is_gathered: false }
    }

    /// Operators as rows of a time and a fixed part for each of two processors, between which a byte takes so long.
    fn table(rows: &[[(u64, f64); 2]], seconds_per_byte: f64) -> (CostTable, Vec<ProcessorIndex>) {
        let class = |count| ProcessorClass::new("B", count);
        let mut table = CostTable::new(rows.len(), [class(1), class(2)]);
        let processors: Vec<ProcessorIndex> = table.processors().collect();
        for (operator, row) in rows.iter().enumerate() {
            for (&processor, &(time, fixed_fraction)) in processors.iter().zip(row) {
                table.set_time(processor, operator, Nanoseconds(time));
                table.set_part(processor, operator, PartCost { fixed_fraction, ..PartCost::default() });
            }
        }
        let model = TransferModel { seconds_per_byte, ..TransferModel::default() };
        table.set_transfer(processors[0], processors[1], model);
        table.set_transfer(processors[1], processors[0], model);
        (table, processors)
    }

    /// The second operator's shares are those of the first: with a third on the first processor, 1000 + 333 there and 667 + 667 on the other.
    /// Each by itself would be done after 1000 and 500 more.
    #[test]
    fn operators_that_are_divided_together_have_one_division() {
        let (table, processors) = table(&[[(1000, 1.0), (1000, 0.0)], [(1000, 0.0), (1000, 0.0)]], 0.0);
        let team = TeamCosts { table: &table, processors: &processors };
        let first = operator(0, Vec::new(), Vec::new());
        let second = operator(1, vec![Read { maker: 0, bytes: 12 }], vec![0]);
        let path = team.path(&[first.clone(), second.clone()]);
        assert!((path - 1333.3).abs() < 0.1, "{path}");
        // If it has to be divided anew, it is: 1000 for the first, as on one processor, and 500 for the second.
        let apart = WindowOperator { leads: true, follows: Vec::new(), ..second };
        let path = team.path(&[first, apart]);
        assert!((path - 1500.0).abs() < 0.1, "{path}");
    }

    /// Twelve bytes take 120 ns, which the other processor waits for and its part of the output takes again where all of it is needed.
    #[test]
    fn parts_wait_for_what_they_read_and_are_waited_for() {
        let (table, processors) = table(&[[(600, 0.0), (9000, 0.0)], [(600, 0.0), (600, 0.0)]], 1e-8);
        let team = TeamCosts { table: &table, processors: &processors };
        let first = WindowOperator { divisions: Vec::new(), ..operator(0, Vec::new(), Vec::new()) };
        let second = operator(1, vec![Read { maker: 0, bytes: 12 }], Vec::new());
        // 600 s on the one and 120 + 600 (1 - s) on the other: s = 0.6.
        let path = team.path(&[first.clone(), second.clone()]);
        assert!((path - 960.0).abs() < 0.1, "{path}");
        // Where its output is needed, 120 (1 - s) more, but for a byte and a rounding.
        let path = team.path(&[first, WindowOperator { is_gathered: true, ..second }]);
        assert!(path > 975.0 && path < 982.0, "{path}");
    }
}
