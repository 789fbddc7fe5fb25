//! The least that several processors together need for each subgraph, whichever way they share it.

use std::collections::HashSet;

use millstream_cost::{CostTable, PartCost, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_partition::Subgraph;

use crate::throughput_bound::{divisions, least_per_share};

/// Steps in which processors become dearer, for the bound by load.
const PRICE_STEPS: usize = 24;
/// Divided parts are each rounded to a nanosecond.
const ROUNDING: f64 = 1.0;

/// Of each subgraph, the operators that run between the end of the sink before it and the end of its own sink, whoever runs them.
#[derive(Debug, Clone)]
pub(crate) struct Windows(Vec<Vec<WindowOperator>>);

/// An operator of a window, in an order in which they can run.
#[derive(Debug, Clone)]
struct WindowOperator {
    index: usize,
    /// What it reads of others of the window.
    reads: Vec<Read>,
    output_bytes: u64,
    /// Numbers of channels that it may be divided by; none if it may not.
    divisions: Vec<usize>,
    /// Whether its parts can't be made together with those of an operator before it, so that they pay for running apart.
    starts_apart: bool,
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
    pub(crate) fn of(graph: &Graph, subgraphs: &[Subgraph]) -> Self {
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
        for subgraph in subgraphs {
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
                    starts_apart: follows[id.index()].is_empty(),
                    is_gathered: Some(id) != last
                        && readers().next().is_some()
                        && readers().all(|reader| follows[reader.index()].is_empty()),
                }
            };
            windows.push(own.iter().enumerate().map(describe).collect());
            before = last;
        }
        Self(windows)
    }

    /// The least time in nanoseconds that these processors need for each subgraph's window.
    pub(crate) fn least_times(&self, table: &CostTable, processors: &[ProcessorIndex]) -> Vec<u64> {
        let team = TeamCosts { table, processors };
        let least = |window: &Vec<WindowOperator>| {
            let least = team.path(window).max(team.load(window)) * (1.0 - 1e-9) - ROUNDING * window.len() as f64;
            least.max(0.0) as u64
        };
        self.0.iter().map(least).collect()
    }
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

    /// The longest way through a window, each operator whole where it is fastest or divided as well as can be.
    ///
    /// Parts of an operator whose input is whole on one processor start later everywhere else by its transfer; and if all parts are needed
    /// together, those made elsewhere arrive later by theirs.
    fn path(&self, window: &[WindowOperator]) -> f64 {
        let mut ends: Vec<Ends> = Vec::with_capacity(window.len());
        for operator in window {
            let times = || self.processors.iter().filter_map(|&processor| self.time(processor, operator));
            let whole = times().fold(f64::INFINITY, f64::min);
            let lines = self.part_lines(operator);
            let after_divided = self.divided(&lines, None, operator);
            let mut own = Ends { whole, divided: after_divided };
            for &Read { maker, bytes } in &operator.reads {
                let after_whole = self.divided(&lines, Some(bytes), operator);
                let Ends { whole: read_whole, divided: read_divided } = ends[maker];
                own.whole = own.whole.max(read_whole.min(read_divided) + whole);
                own.divided = own.divided.max((read_whole + after_whole).min(read_divided + after_divided));
            }
            ends.push(own);
        }
        ends.iter().map(|own| own.whole.min(own.divided)).filter(|end| end.is_finite()).fold(0.0, f64::max)
    }

    /// What parts of an operator take on each processor at least; none if it can't be divided.
    fn part_lines(&self, operator: &WindowOperator) -> Vec<PartLine> {
        let line = |(place, &processor): (usize, &ProcessorIndex)| {
            let time = self.time(processor, operator)?;
            let part = self.table.part(processor, operator.index);
            let apart = if operator.starts_apart { part.apart.0 as f64 } else { 0.0 };
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
            let least = transfer(line.processor, self.processors[target], 1);
            line.start += least;
            line.whole += (transfer(line.processor, self.processors[target], bytes) - least - ROUNDING).max(0.0);
        }
    }

    /// The work of a window by what it is worth: with prices for the processors' time that are 1 together, each operator where it is cheapest.
    fn load(&self, window: &[WindowOperator]) -> f64 {
        let costs = |operator: &WindowOperator| -> Vec<f64> {
            let cost = |&processor: &ProcessorIndex| {
                let time = self.time(processor, operator).unwrap_or(f64::INFINITY);
                let part = self.table.part(processor, operator.index);
                time * operator.divisions.iter().map(|&of| least_per_share(&part, of)).fold(1.0, f64::min)
            };
            self.processors.iter().map(cost).collect()
        };
        let work: Vec<Vec<f64>> = window.iter().map(costs).collect();
        let mut prices = vec![1.0 / self.processors.len().max(1) as f64; self.processors.len()];
        let mut best = 0.0_f64;
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
            best = best.max(worth);
            let highest = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let rate = 1.0 / (1.0 + step as f64).sqrt();
            prices.iter_mut().zip(&loads).for_each(|(price, load)| *price *= (rate * load / highest).exp());
            let all: f64 = prices.iter().sum();
            prices.iter_mut().for_each(|price| *price /= all);
        }
        best
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
