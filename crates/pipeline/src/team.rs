//! Stages whose processors work on one frame together.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use millstream_board::{CoreId, Processor, ProcessorClass};
use millstream_cosched::divide;
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_mapping::{ExactMapper, Limits, Mapper, MappingError, entered_problem};
use millstream_partition::{Chain, Subgraph};
use millstream_schedule::execution::Execution;
use millstream_schedule::{Assignment, ChannelSplit, Entry, Replica, ReplicaTasks};

use crate::energy::{ClassPower, StagePower};
use crate::memory::MemoryLimits;
use crate::problem::UNSUPPORTED;
use crate::range_table::RangeTable;
use crate::senders::{SenderKinds, Senders};

/// How long and how far mapping a subgraph may go on; stages consist of many.
const MAPPING_TIME: Duration = Duration::from_millis(300);
const MAPPING_GAP: f64 = 0.005;
/// Subgraphs whose operators take less than this in all are searched for as much less long: hand-overs decide, and nobody waits for
/// them.
const WORTH_ALL_TIME: Nanoseconds = Nanoseconds(1_000_000);
/// The shortest search.
const LEAST_MAPPING_TIME: Duration = Duration::from_millis(1);

/// Several processors that may own a stage together, and what each range of blocks takes them.
///
/// Between two subgraphs the frame passes through the values of a single node, on one processor. So the best way through a range
/// is found subgraph by subgraph, for every processor on which the one before may have ended.
#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub(crate) classes: Vec<ProcessorClass>,
    /// Per senders, as for single processors.
    times: Vec<RangeTable<u64>>,
    /// As `times`: energy and power of the processors that are used; missing where these are not known or nothing runs.
    powers: Vec<RangeTable<Option<StagePower>>>,
    /// Places where both a block and a subgraph end: the number of blocks and of subgraphs before.
    cuts: Vec<(usize, usize)>,
    solutions: HashMap<Passage, Solution>,
}

/// A subgraph, the processor where what it reads was made (none at the start of a stage), and the one where it ends.
type Passage = (usize, Option<usize>, usize);

/// The processor where what a subgraph reads was made, and the one where it ends.
type Ends = (Option<usize>, usize);

#[derive(Debug, Clone)]
struct Solution {
    /// Operators of each processor.
    lists: Vec<Vec<OperatorId>>,
    splits: Vec<ChannelSplit>,
    nanoseconds: u64,
}

impl Solution {
    /// The same with every processor in another's place.
    fn exchanged(&self, places: &[usize]) -> Self {
        let mut lists = self.lists.clone();
        let mut splits = self.splits.clone();
        for (place, &to) in places.iter().enumerate() {
            lists[to].clone_from(&self.lists[place]);
            for (split, own) in splits.iter_mut().zip(&self.splits) {
                split.channels[to] = own.channels[place];
            }
        }
        Self { lists, splits, nanoseconds: self.nanoseconds }
    }
}

/// What all teams of a problem are made from.
pub(crate) struct Ground<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) chain: &'a Chain,
    pub(crate) table: &'a CostTable,
    pub(crate) subgraphs: &'a [Subgraph],
    pub(crate) memory: &'a MemoryLimits,
    pub(crate) kinds: &'a SenderKinds,
}

impl Team {
    /// Maps every subgraph on the team's processors. `None` if the table does not know one of them.
    pub(crate) fn new(ground: &Ground<'_>, classes: Vec<ProcessorClass>) -> Result<Option<Self>, MappingError> {
        let processors: Option<Vec<ProcessorIndex>> = classes.iter().map(|class| ground.table.find(class)).collect();
        let Some(processors) = processors else { return Ok(None) };
        let blocks = ground.chain.blocks().len();
        let mut team = Self {
            classes,
            times: ground.kinds.all().map(|_| RangeTable::of(blocks, |_| UNSUPPORTED)).collect(),
            powers: ground.kinds.all().map(|_| RangeTable::of(blocks, |_| None)).collect(),
            cuts: common_cuts(ground),
            solutions: HashMap::new(),
        };
        let starts: Vec<usize> = team.cuts.iter().map(|&(_, subgraph)| subgraph).collect();
        for index in 0..ground.subgraphs.len() {
            let sources = (0..processors.len()).map(Some).filter(|_| index > 0);
            let entrances = std::iter::once(None).filter(|_| starts.contains(&index)).chain(sources);
            for source in entrances {
                for end in 0..processors.len() {
                    let alike = team.alike((source, end));
                    let solution = match team.solutions.get(&(index, alike.0, alike.1)) {
                        _ if alike == (source, end) => team.solve(ground, &processors, (index, source, end))?,
                        known => known.map(|known| known.exchanged(&team.exchange(alike, (source, end)))),
                    };
                    if let Some(solution) = solution {
                        team.solutions.insert((index, source, end), solution);
                    }
                }
            }
        }
        let cuts = team.cuts.clone();
        for (position, &(start, first)) in cuts.iter().enumerate() {
            // Time until the subgraphs so far are done, per processor where they end.
            let mut arrived: Option<Vec<u64>> = None;
            let mut next = first;
            for &(end, past) in &cuts[position + 1..] {
                for subgraph in next..past {
                    arrived = Some(team.advance(subgraph, arrived.as_deref()));
                }
                next = past;
                let shortest = arrived.iter().flatten().copied().min().unwrap_or(UNSUPPORTED);
                if shortest < UNSUPPORTED {
                    team.evaluate(ground, &(start..end));
                }
            }
        }
        Ok(Some(team))
    }

    /// The first places that look the same: processors of one class are interchangeable.
    fn alike(&self, (source, end): Ends) -> Ends {
        let first = |place: usize, except: Option<usize>| {
            let mut alike = (0..self.classes.len()).filter(|&other| self.classes[other] == self.classes[place]);
            alike.find(|&other| Some(other) != except).unwrap_or(place)
        };
        let own = source.map(|source| first(source, None));
        let end = own.filter(|_| source == Some(end)).unwrap_or_else(|| first(end, own));
        (own, end)
    }

    /// Where each processor goes if one pair of places becomes another that looks the same.
    fn exchange(&self, from: Ends, to: Ends) -> Vec<usize> {
        let mut places: Vec<Option<usize>> = vec![None; self.classes.len()];
        if let (Some(from), Some(to)) = (from.0, to.0) {
            places[from] = Some(to);
        }
        places[from.1] = Some(to.1);
        for place in 0..places.len() {
            if places[place].is_none() {
                let is_free =
                    |other: &usize| self.classes[*other] == self.classes[place] && !places.contains(&Some(*other));
                places[place] = (0..places.len()).find(is_free);
            }
        }
        places.into_iter().enumerate().map(|(place, to)| to.unwrap_or(place)).collect()
    }

    /// Time of the stage of blocks `start..end` that takes its frames over from these senders; at least [`UNSUPPORTED`] if the team
    /// can't run it.
    #[inline]
    pub(crate) fn time(&self, senders: Senders, start: usize, end: usize) -> u64 {
        *self.times[senders.index()].at(start, end)
    }

    /// Energy and power of that stage; `None` if the power of one of its processors is not known.
    pub(crate) fn power(&self, senders: Senders, start: usize, end: usize) -> Option<StagePower> {
        *self.powers[senders.index()].at(start, end)
    }

    /// Multiplies all times.
    pub(crate) fn scale(&mut self, factor: f64) {
        for time in self.times.iter_mut().flat_map(RangeTable::values_mut).filter(|time| **time < UNSUPPORTED) {
            *time = (*time as f64 * factor.max(0.0)).round() as u64;
        }
    }

    /// From when the subgraphs before are done to when this one is, per processor where it ends.
    fn advance(&self, subgraph: usize, before: Option<&[u64]>) -> Vec<u64> {
        let reach = |end: usize| {
            let from = |source: Option<usize>, time: u64| {
                let solution = self.solutions.get(&(subgraph, source, end))?;
                (time < UNSUPPORTED).then(|| time + solution.nanoseconds)
            };
            let all = match before {
                None => from(None, 0),
                Some(times) => times.iter().enumerate().filter_map(|(source, &time)| from(Some(source), time)).min(),
            };
            all.unwrap_or(UNSUPPORTED)
        };
        (0..self.classes.len()).map(reach).collect()
    }

    /// The replica that runs these blocks, on these processors of the team's classes.
    pub(crate) fn replica(&self, blocks: &Range<usize>, processors: Vec<Processor>) -> Option<Replica> {
        let subgraph_at = |block: usize| self.cuts.iter().find(|cut| cut.0 == block).map(|cut| cut.1);
        let subgraphs = subgraph_at(blocks.start)?..subgraph_at(blocks.end)?;
        let mut steps: Vec<Vec<u64>> = Vec::new();
        for subgraph in subgraphs.clone() {
            steps.push(self.advance(subgraph, steps.last().map(Vec::as_slice)));
        }
        let last = steps.last()?;
        let mut end = (0..last.len()).min_by_key(|&end| last[end]).filter(|&end| last[end] < UNSUPPORTED)?;
        let mut passages: Vec<Passage> = Vec::new();
        for (index, subgraph) in subgraphs.enumerate().rev() {
            let source = match index.checked_sub(1) {
                None => None,
                Some(before) => (0..self.classes.len()).find(|&source| {
                    let known = self.solutions.get(&(subgraph, Some(source), end));
                    known.is_some_and(|solution| steps[before][source] + solution.nanoseconds == steps[index][end])
                }),
            };
            passages.push((subgraph, source, end));
            end = source.unwrap_or(end);
        }
        let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); processors.len()];
        let mut splits = Vec::new();
        for passage in passages.into_iter().rev() {
            let solution = self.solutions.get(&passage)?;
            lists.iter_mut().zip(&solution.lists).for_each(|(list, own)| list.extend(own));
            splits.extend(solution.splits.iter().cloned());
        }
        // A processor that has nothing to do is no part of the stage.
        let is_used: Vec<bool> = lists.iter().map(|list| !list.is_empty()).collect();
        let used = |position: &usize| is_used[*position];
        for split in &mut splits {
            split.channels = (0..is_used.len()).filter(used).map(|position| split.channels[position]).collect();
        }
        let assignments = processors.into_iter().zip(lists).enumerate().filter(|(position, _)| is_used[*position]);
        let assignment = |(_, (processor, operators))| Assignment { processor, operators };
        Some(Replica { assignments: assignments.map(assignment).collect(), splits })
    }

    /// Notes what the schedule of these blocks takes, and what it draws: processors that are free early may begin the next subgraph, so this
    /// can be less than the subgraphs one after the other.
    fn evaluate(&mut self, ground: &Ground<'_>, blocks: &Range<usize>) {
        let Some(replica) = self.replica(blocks, self.classes.iter().map(stand_in).collect()) else { return };
        if !ground.memory.allow(&replica, ground.graph) {
            return;
        }
        let Ok(execution) = replica.execute(ground.graph, ground.table) else { return };
        let receivers: Vec<&str> = self.classes.iter().map(|class| class.cluster.as_str()).collect();
        let entries: Vec<(Senders, Entry)> = ground
            .kinds
            .all()
            .map(|senders| (senders, ground.kinds.entry(senders, blocks.start, &receivers)))
            .collect();
        for (senders, entry) in entries {
            let hand_over = replica.hand_over(&entry, ground.graph, ground.table);
            let drawn = drawn(&replica, &execution, hand_over, ground);
            let time = (hand_over + execution.makespan()).0.min(UNSUPPORTED);
            self.times[senders.index()].set(blocks, time);
            self.powers[senders.index()].set(blocks, drawn);
        }
    }

    /// The best way found through a subgraph: an exact mapping, then channel splits where they help.
    fn solve(
        &self,
        ground: &Ground<'_>,
        processors: &[ProcessorIndex],
        (index, source, end): Passage,
    ) -> Result<Option<Solution>, MappingError> {
        let Ground { graph, table, subgraphs, .. } = *ground;
        let subgraph = &subgraphs[index];
        let sink = index.checked_sub(1).and_then(|before| subgraphs[before].nodes.last());
        let before = sink.zip(source).map(|(sink, source)| (sink.as_slice(), source));
        let mut problem = match entered_problem(graph, subgraph, table, processors, before) {
            Ok(problem) => problem,
            Err(MappingError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if problem.is_empty() || problem.fix(problem.len() - 1, end).is_err() {
            return Ok(None);
        }
        // A gap below a single hand-over is not worth a search, whatever part of a small network it is.
        let pairs = processors.iter().flat_map(|from| processors.iter().map(move |to| (*from, *to)));
        let hand_overs = pairs.filter(|(from, to)| from != to).map(|(from, to)| table.transfer(from, to, 0));
        let slack = hand_overs.min().unwrap_or_default();
        let work: u64 = (0..problem.len()).fold(0, |sum, node| sum.saturating_add(problem.least_time(node)));
        let share = (work as f64 / WORTH_ALL_TIME.0 as f64).min(1.0);
        let time = MAPPING_TIME.mul_f64(share).max(LEAST_MAPPING_TIME);
        let limits = Limits { time, gap: MAPPING_GAP, slack, cancelled: None };
        let mapping = ExactMapper.map(&problem, &limits)?;
        let lists = mapping.order.iter().map(|nodes| {
            nodes.iter().flat_map(|&node| subgraph.nodes[node].iter().copied()).collect::<Vec<OperatorId>>()
        });
        let assignments = self.classes.iter().zip(lists);
        let mut replica = Replica::new(
            assignments.map(|(class, operators)| Assignment { processor: stand_in(class), operators }).collect(),
        );
        // What the subgraph reads comes from the processor where it was made: that operator stands before it.
        let entrance = before.map(|(sink, source)| (made_before(sink, subgraph, graph), source));
        let mut lead = 0;
        if let Some((makers, source)) = &entrance {
            replica.assignments[*source].operators.splice(0..0, makers.iter().copied());
            let times = makers.iter().filter_map(|id| table.time(processors[*source], id.index()));
            lead = times.map(|time| time.0).sum();
        }
        let own: Vec<OperatorId> = subgraph.operators().collect();
        let exit = subgraph.nodes.last().map_or(&[][..], Vec::as_slice);
        let finish = |replica: &Replica| arrival(replica, exit, end, processors, graph, table);
        let mut replica = divide(replica, graph, table, |id| own.contains(&id), finish);
        let Some(time) = finish(&replica) else { return Ok(None) };
        if let Some((makers, source)) = &entrance {
            replica.assignments[*source].operators.drain(..makers.len());
        }
        let lists = replica.assignments.into_iter().map(|assignment| assignment.operators).collect();
        Ok(Some(Solution { lists, splits: replica.splits, nanoseconds: time.0.saturating_sub(lead).max(1) }))
    }
}

/// What a replica draws; `None` if the power of one of its processors is not known.
fn drawn(replica: &Replica, execution: &Execution, hand_over: Nanoseconds, ground: &Ground<'_>) -> Option<StagePower> {
    let mut total = StagePower::default();
    for (assignment, &busy) in replica.assignments.iter().zip(execution.busy()) {
        let busy = busy + hand_over;
        let power = ClassPower::of(ground.table, ground.table.find(&assignment.processor.class())?)?;
        total.active_joules += power.more_watts * busy.seconds();
        total.idle_watts += power.idle_watts;
    }
    Some(total)
}

/// A processor of this class, for computing.
fn stand_in(class: &ProcessorClass) -> Processor {
    Processor { cluster: class.cluster.clone(), cores: vec![CoreId(0); class.count] }
}

/// The operators of a sink whose values the next subgraph reads.
fn made_before(sink: &[OperatorId], subgraph: &Subgraph, graph: &Graph) -> Vec<OperatorId> {
    let own: Vec<OperatorId> = subgraph.operators().collect();
    let is_read = |id: &&OperatorId| {
        let mut outputs = graph.operator(**id).outputs.iter();
        outputs.any(|&value| graph.readers(value).iter().any(|reader| own.contains(reader)))
    };
    sink.iter().filter(is_read).copied().collect()
}

/// When everything is done and what the exit's operators made is on the processor `end`.
fn arrival(
    replica: &Replica,
    exit: &[OperatorId],
    end: usize,
    processors: &[ProcessorIndex],
    graph: &Graph,
    table: &CostTable,
) -> Option<Nanoseconds> {
    let tasks = ReplicaTasks::new(replica, graph, table).ok()?;
    let execution = tasks.execute(graph).ok()?;
    let last = exit.last();
    let mut latest = Nanoseconds::ZERO;
    for (place, task) in tasks.tasks().iter().enumerate() {
        let mut there = execution.span(place).end;
        if Some(&task.operator) == last && task.processor != end {
            let bytes: u64 = graph
                .operator(task.operator)
                .outputs
                .iter()
                .map(|&value| graph.value(value).bytes().unwrap_or(0))
                .sum();
            let bytes = task.share.map_or(bytes, |share| share.of_bytes(bytes));
            there += table.transfer(processors[task.processor], processors[end], bytes);
        }
        latest = latest.max(there);
    }
    Some(latest)
}

/// Places where a prefix of the blocks has the same operators as a prefix of the subgraphs, both ends included.
fn common_cuts(ground: &Ground<'_>) -> Vec<(usize, usize)> {
    let mut subgraph_of = vec![0; ground.graph.operators().len()];
    let mut sizes = vec![0_usize];
    for (index, subgraph) in ground.subgraphs.iter().enumerate() {
        subgraph.operators().for_each(|id| subgraph_of[id.index()] = index);
        sizes.push(sizes[index] + subgraph.operators().count());
    }
    let mut cuts = vec![(0, 0)];
    let (mut operators, mut past) = (0, 0);
    for (block, own) in ground.chain.blocks().iter().enumerate() {
        operators += own.operators.len();
        past = own.operators.iter().map(|id| subgraph_of[id.index()] + 1).fold(past, usize::max);
        if sizes.get(past) == Some(&operators) {
            cuts.push((block + 1, past));
        }
    }
    cuts
}
