//! How the processors of a team go through one subgraph.

use std::collections::HashMap;

use millstream_board::ProcessorClass;
use millstream_cosched::{Executed, divide_where_close};
use millstream_cost::{Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_mapping::{
    ExactMapper, Mapper, MapperLimits, MappingError, MappingProblem, ProcessorId, entered_problem,
};
use millstream_partition::Subgraph;
use millstream_schedule::execution::TaskId;
use millstream_schedule::{Assignment, OperatorSplit, Replica, ReplicaTasks};

use crate::ground::Ground;

/// How long and how far mapping a subgraph may go on; stages consist of many.
const MAPPING_STEPS: u64 = 300_000;
const MAPPING_GAP: f64 = 0.005;
/// Subgraphs whose operators take less than this in all are searched for as much less long: hand-overs decide, and nobody waits for
/// them.
const WORTH_ALL_STEPS: Nanoseconds = Nanoseconds(1_000_000);
/// How much longer than without a division its channels are worth shifting, at the usual effort.
const MOST_ABOVE: f64 = 0.02;
/// Processors of a team on which the same subgraph may end.
const MOST_ENDS: usize = 2;
/// About as much as evaluating an operator among others.
const STEPS_PER_EVALUATION: u64 = 6;
/// The shortest search.
const LEAST_MAPPING_STEPS: u64 = 10_000;

/// The processor where what a subgraph reads was made (none at the start of a stage), and the one where it ends.
pub(crate) type Ends = (Option<ProcessorId>, ProcessorId);

/// A way through a subgraph between two processors.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// Operators of each processor.
    pub(crate) lists: Vec<Vec<OperatorId>>,
    pub(crate) splits: Vec<OperatorSplit>,
    pub(crate) nanoseconds: u64,
}

impl Solution {
    /// The same with every processor in another's place.
    fn exchanged(&self, places: &[ProcessorId]) -> Self {
        let mut lists = self.lists.clone();
        let mut splits = self.splits.clone();
        for (place, to) in places.iter().enumerate() {
            lists[to.index()].clone_from(&self.lists[place]);
            for (split, own) in splits.iter_mut().zip(&self.splits) {
                split.shares[to.index()] = own.shares[place];
            }
        }
        Self { lists, splits, nanoseconds: self.nanoseconds }
    }
}

/// What is known of a subgraph: a way through it for each pair of processors that there is one for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Solutions(HashMap<Ends, Solution>);

impl Solutions {
    /// Finds a way for every pair of processors.
    pub(crate) fn find(
        ground: &Ground,
        classes: &[ProcessorClass],
        processors: &[ProcessorIndex],
        index: usize,
        may_be_first: bool,
    ) -> Result<Self, MappingError> {
        let mut found = Self::default();
        let passage = Passage { ground, classes, processors, index };
        let ends = |subgraph: usize| good_ends(ground, processors, subgraph);
        let sources = index.checked_sub(1).map_or(Vec::new(), ends).into_iter().map(Some);
        for source in std::iter::once(None).filter(|_| may_be_first).chain(sources) {
            for end in ends(index) {
                let alike = alike(classes, (source, end));
                let solution = match found.0.get(&alike) {
                    _ if alike == (source, end) => passage.solve((source, end))?,
                    Some(known) => Some(known.exchanged(&exchange(classes, alike, (source, end)))),
                    None => passage.solve((source, end))?,
                };
                if let Some(solution) = solution {
                    found.0.insert((source, end), solution);
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn get(&self, ends: Ends) -> Option<&Solution> {
        self.0.get(&ends)
    }

    /// The least time of all pairs; `None` if there is no way at all.
    pub(crate) fn least(&self) -> Option<u64> {
        self.0.values().map(|solution| solution.nanoseconds).min()
    }
}

/// The processors on which a subgraph may end: those that are quickest at its sink. Others would have to pass on what they made.
pub(crate) fn good_ends(ground: &Ground, processors: &[ProcessorIndex], subgraph: usize) -> Vec<ProcessorId> {
    let sink = ground.subgraphs[subgraph].nodes.last().map_or(&[][..], Vec::as_slice);
    let time = |place: ProcessorId| {
        let times = sink.iter().map(|id| ground.table.time(processors[place.index()], id.index()));
        times.sum::<Option<Nanoseconds>>().map(|time| (time, place))
    };
    let mut able: Vec<(Nanoseconds, ProcessorId)> = ProcessorId::all(processors.len()).filter_map(time).collect();
    able.sort_unstable();
    able.into_iter().take(MOST_ENDS).map(|(_, place)| place).collect()
}

/// The first places that look the same: processors of one class are interchangeable.
fn alike(classes: &[ProcessorClass], (source, end): Ends) -> Ends {
    let first = |place: ProcessorId, except: Option<ProcessorId>| {
        let all = ProcessorId::all(classes.len());
        let mut alike = all.filter(|other| classes[other.index()] == classes[place.index()]);
        alike.find(|&other| Some(other) != except).unwrap_or(place)
    };
    let own = source.map(|source| first(source, None));
    let end = own.filter(|_| source == Some(end)).unwrap_or_else(|| first(end, own));
    (own, end)
}

/// Where each processor goes if one pair of places becomes another that looks the same.
fn exchange(classes: &[ProcessorClass], from: Ends, to: Ends) -> Vec<ProcessorId> {
    let mut places: Vec<Option<ProcessorId>> = vec![None; classes.len()];
    if let (Some(from), Some(to)) = (from.0, to.0) {
        places[from.index()] = Some(to);
    }
    places[from.1.index()] = Some(to.1);
    let all = ProcessorId::all(classes.len());
    for place in 0..places.len() {
        if places[place].is_none() {
            let is_free =
                |other: &ProcessorId| classes[other.index()] == classes[place] && !places.contains(&Some(*other));
            places[place] = all.clone().find(is_free);
        }
    }
    all.zip(places).map(|(place, to)| to.unwrap_or(place)).collect()
}

/// A subgraph before a team.
struct Passage<'a> {
    ground: &'a Ground,
    classes: &'a [ProcessorClass],
    processors: &'a [ProcessorIndex],
    index: usize,
}

impl Passage<'_> {
    /// The best way that is found: a mapping, exact as far as its steps go, then channel splits where they help.
    fn solve(&self, (source, end): Ends) -> Result<Option<Solution>, MappingError> {
        let Ground { graph, table, subgraphs, .. } = self.ground;
        let subgraph = &subgraphs[self.index];
        let sink = self.index.checked_sub(1).and_then(|before| subgraphs[before].nodes.last());
        let before = sink.zip(source).map(|(sink, source)| (sink.as_slice(), source));
        let Some(mut replica) = self.mapped(subgraph, before, end)? else { return Ok(None) };
        // What the subgraph reads comes from the processor where it was made: that operator stands before it.
        let entrance = before.map(|(sink, source)| (made_before(sink, subgraph, graph), source));
        let mut lead = 0;
        if let Some((makers, source)) = &entrance {
            replica.assignments[source.index()].operators.splice(0..0, makers.iter().copied());
            let times = makers.iter().filter_map(|id| table.time(self.processors[source.index()], id.index()));
            lead = times.map(|time| time.0).sum();
        }

        let own: Vec<OperatorId> = subgraph.operators().collect();
        let exit = subgraph.nodes.last().map_or(&[][..], Vec::as_slice);
        let finish = |executed: Executed<'_>| {
            self.ground.spend(own.len() as u64);
            self.arrival(executed, exit, end)
        };
        let most_above = 1.0 + MOST_ABOVE * self.ground.effort.factor();
        let mut replica = divide_where_close(replica, graph, table, most_above, |id| own.contains(&id), finish);
        let Ok(tasks) = ReplicaTasks::new(&replica, graph, table) else { return Ok(None) };
        let Ok(execution) = tasks.execute(graph) else { return Ok(None) };
        let time = finish(Executed { replica: &replica, tasks: &tasks, execution: &execution });
        if let Some((makers, source)) = &entrance {
            // A part of a divided operator may stand before them by now.
            replica.assignments[source.index()].operators.retain(|id| !makers.contains(id));
        }
        let lists = replica.assignments.into_iter().map(|assignment| assignment.operators).collect();
        Ok(Some(Solution { lists, splits: replica.splits, nanoseconds: time.0.saturating_sub(lead).max(1) }))
    }

    /// The subgraph's nodes, whole, each on one processor; `None` if these can't run them.
    fn mapped(
        &self,
        subgraph: &Subgraph,
        before: Option<(&[OperatorId], ProcessorId)>,
        end: ProcessorId,
    ) -> Result<Option<Replica>, MappingError> {
        let Ground { graph, table, .. } = self.ground;
        let mut problem = match entered_problem(graph, subgraph, table, self.processors, before) {
            Ok(problem) => problem,
            Err(MappingError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if problem.last_node().is_none_or(|sink| problem.fix(sink, end).is_err()) {
            return Ok(None);
        }
        let mapping = ExactMapper.map(&problem, &self.limits(&problem))?;
        self.ground.spend(mapping.steps / STEPS_PER_EVALUATION);
        let lists = mapping.order.iter().map(|nodes| {
            nodes.iter().flat_map(|node| subgraph.nodes[node.index()].iter().copied()).collect::<Vec<OperatorId>>()
        });
        let assignments = self.classes.iter().zip(lists);
        let assignments = assignments.map(|(class, operators)| Assignment { processor: class.stand_in(), operators });
        Ok(Some(Replica::new(assignments.collect())))
    }

    /// A gap below a single transfer is not worth a search, whatever part of a small network it is.
    fn limits(&self, problem: &MappingProblem) -> MapperLimits<'static> {
        let pairs = self.processors.iter().flat_map(|from| self.processors.iter().map(move |to| (*from, *to)));
        let transfers = pairs.filter(|(from, to)| from != to).map(|(from, to)| self.ground.table.transfer(from, to, 0));
        let slack = transfers.min().unwrap_or_default();
        let times = problem.nodes().map(|node| problem.least_time(node));
        let work = times.fold(0, u64::saturating_add);
        let steps = (MAPPING_STEPS as f64 * work as f64 / WORTH_ALL_STEPS.0 as f64) as u64;
        let steps = self.ground.effort.steps(steps.clamp(LEAST_MAPPING_STEPS, MAPPING_STEPS));
        MapperLimits { steps, gap: MAPPING_GAP, slack, ..MapperLimits::default() }
    }

    /// When everything is done and what the exit's operators made is on the processor `end`.
    fn arrival(&self, executed: Executed<'_>, exit: &[OperatorId], end: ProcessorId) -> Nanoseconds {
        let Executed { tasks, execution, .. } = executed;
        let Ground { graph, table, .. } = self.ground;
        let last = exit.last();
        let mut latest = Nanoseconds::ZERO;
        for (id, task) in TaskId::all(tasks.tasks().len()).zip(tasks.tasks()) {
            let mut there = execution.span(id).end;
            if Some(&task.operator) == last && task.processor != end {
                let outputs = graph.operator(task.operator).outputs.iter();
                let bytes: u64 = outputs.map(|&value| graph.value(value).bytes().unwrap_or(0)).sum();
                let bytes = task.share.map_or(bytes, |share| share.of_bytes(bytes));
                let [from, to] = [task.processor, end].map(|place| self.processors[place.index()]);
                there += table.transfer(from, to, bytes);
            }
            latest = latest.max(there);
        }
        latest
    }
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
