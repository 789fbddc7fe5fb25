//! How the processors of a team go through one subgraph.

use std::collections::HashMap;

use millstream_board::ProcessorClass;
use millstream_cosched::{Executed, divide_where_close};
use millstream_cost::{ClassId, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_mapping::{
    BoundedMapper, Mapper, MapperLimits, MappingError, MappingProblem, ProcessorId, entered_problem,
};
use millstream_partition::{Subgraph, SubgraphId};
use millstream_schedule::execution::TaskId;
use millstream_schedule::{Assignment, OperatorSplit, Replica, ReplicaTasks};

use crate::teams::context::TeamContext;

/// Steps that mapping a subgraph may take at the usual effort.
const MAPPING_STEPS: u64 = 300_000;
/// A mapping is good enough if none can be quicker by more than this part.
const MAPPING_GAP: f64 = 0.005;
/// Subgraphs whose operators take less than this together get fewer steps, in proportion: their mapping hardly changes
/// the time of a stage.
const WORTH_ALL_STEPS: Nanoseconds = Nanoseconds(1_000_000);
/// A division by channels is refined if it takes longer than none by at most this part, at the usual effort.
const MOST_ABOVE: f64 = 0.02;
/// Processors of a team on which the same subgraph may end.
const MOST_ENDS: usize = 2;
/// So many steps of mapping take about as long as evaluating an operator.
const STEPS_PER_EVALUATION: u64 = 6;
/// The fewest steps that any subgraph gets at the usual effort.
const LEAST_MAPPING_STEPS: u64 = 10_000;

/// Between which processors a team goes through subgraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    /// Where what they read was made; `None` at the start of a stage.
    pub(crate) source: Option<ProcessorId>,
    /// Where they end.
    pub(crate) end: ProcessorId,
}

/// A way through a subgraph between two processors.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// Operators of each processor.
    pub(crate) lists: Vec<Vec<OperatorId>>,
    pub(crate) splits: Vec<OperatorSplit>,
    pub(crate) time: Nanoseconds,
}

impl Solution {
    /// The solution with every processor in another's place.
    fn exchanged(&self, places: &[ProcessorId]) -> Self {
        let mut lists = self.lists.clone();
        let mut splits = self.splits.clone();
        for (place, to) in places.iter().enumerate() {
            lists[to.index()].clone_from(&self.lists[place]);
            for (split, before) in splits.iter_mut().zip(&self.splits) {
                split.shares[to.index()] = before.shares[place];
            }
        }
        Self { lists, splits, time: self.time }
    }
}

/// The best ways that were found through a subgraph: one for each pair of processors that there is one for.
#[derive(Debug, Clone)]
pub(crate) struct Solutions(HashMap<Ends, Solution>);

impl Solutions {
    /// Finds a way through a subgraph for every pair of processors. `may_be_first`: whether a stage may begin with it.
    pub(crate) fn find(
        context: &TeamContext,
        classes: &[ProcessorClass],
        class_ids: &[ClassId],
        id: SubgraphId,
        may_be_first: bool,
    ) -> Result<Self, MappingError> {
        let mut solutions: HashMap<Ends, Solution> = HashMap::new();
        let passage = Passage { context, classes, class_ids, id };
        let ends = |subgraph: SubgraphId| good_ends(context, class_ids, subgraph);
        let sources = id.before().map_or(Vec::new(), ends).into_iter().map(Some);
        for source in std::iter::once(None).filter(|_| may_be_first).chain(sources) {
            for end in ends(id) {
                let ends = Ends { source, end };
                let alike = alike(classes, ends);
                let solution = match solutions.get(&alike) {
                    _ if alike == ends => passage.solve(ends)?,
                    Some(solution) => Some(solution.exchanged(&exchange(classes, alike, ends))),
                    None => passage.solve(ends)?,
                };
                solutions.extend(solution.map(|solution| (ends, solution)));
            }
        }
        Ok(Self(solutions))
    }

    pub(crate) fn get(&self, ends: Ends) -> Option<&Solution> {
        self.0.get(&ends)
    }

    /// The least time of all pairs; `None` if there is no way at all.
    pub(crate) fn least(&self) -> Option<Nanoseconds> {
        self.0.values().map(|solution| solution.time).min()
    }
}

/// The processors on which a subgraph may end: those that are quickest at its sink. Others would have to pass on what
/// they made.
pub(crate) fn good_ends(context: &TeamContext, class_ids: &[ClassId], subgraph: SubgraphId) -> Vec<ProcessorId> {
    let sink = context.subgraphs[subgraph.index()].nodes.last().map_or(&[][..], Vec::as_slice);
    let time = |place: ProcessorId| {
        let times = sink.iter().map(|&id| context.table.time(class_ids[place.index()], id));
        times.sum::<Option<Nanoseconds>>().map(|time| (time, place))
    };
    let mut able: Vec<(Nanoseconds, ProcessorId)> = ProcessorId::all(class_ids.len()).filter_map(time).collect();
    able.sort_unstable();
    able.into_iter().take(MOST_ENDS).map(|(_, place)| place).collect()
}

/// The first places that look the same: processors of one class are interchangeable.
fn alike(classes: &[ProcessorClass], Ends { source, end }: Ends) -> Ends {
    let first = |place: ProcessorId, except: Option<ProcessorId>| {
        let all = ProcessorId::all(classes.len());
        let mut alike = all.filter(|other| classes[other.index()] == classes[place.index()]);
        alike.find(|&other| Some(other) != except).unwrap_or(place)
    };
    let alike_source = source.map(|source| first(source, None));
    let end = alike_source.filter(|_| source == Some(end)).unwrap_or_else(|| first(end, alike_source));
    Ends { source: alike_source, end }
}

/// Where each processor goes if one pair of places becomes another that looks the same.
fn exchange(classes: &[ProcessorClass], from: Ends, to: Ends) -> Vec<ProcessorId> {
    let mut places: Vec<Option<ProcessorId>> = vec![None; classes.len()];
    if let (Some(from), Some(to)) = (from.source, to.source) {
        places[from.index()] = Some(to);
    }
    places[from.end.index()] = Some(to.end);
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

/// The search for a team's way through one subgraph.
struct Passage<'a> {
    context: &'a TeamContext,
    classes: &'a [ProcessorClass],
    class_ids: &'a [ClassId],
    /// The subgraph.
    id: SubgraphId,
}

impl Passage<'_> {
    /// The best way that is found: a mapping, exact as far as its steps go, then channel splits where they help.
    fn solve(&self, Ends { source, end }: Ends) -> Result<Option<Solution>, MappingError> {
        let TeamContext { graph, table, subgraphs, .. } = self.context;
        let subgraph = &subgraphs[self.id.index()];
        let sink = self.id.before().and_then(|before| subgraphs[before.index()].nodes.last());
        let before = sink.zip(source).map(|(sink, source)| (sink.as_slice(), source));
        let Some(mut replica) = self.mapped(subgraph, before, end)? else { return Ok(None) };

        // What the subgraph reads comes from the processor where it was made: that operator stands before it.
        let entrance = before.map(|(sink, source)| (made_before(sink, subgraph, graph), source));
        let mut lead = Nanoseconds::ZERO;
        if let Some((makers, source)) = &entrance {
            replica.assignments[source.index()].operators.splice(0..0, makers.iter().copied());
            let times = makers.iter().filter_map(|&id| table.time(self.class_ids[source.index()], id));
            lead = times.sum();
        }

        let operators: Vec<OperatorId> = subgraph.operators().collect();
        let exit = subgraph.nodes.last().map_or(&[][..], Vec::as_slice);
        let finish = |executed: Executed<'_>| {
            self.context.spend(operators.len() as u64);
            self.arrival(executed, exit, end)
        };
        let most_above = 1.0 + MOST_ABOVE * self.context.effort.factor();
        let mut replica = divide_where_close(replica, graph, table, most_above, |id| operators.contains(&id), finish);

        let Ok(tasks) = ReplicaTasks::new(&replica, graph, table) else { return Ok(None) };
        let Ok(execution) = tasks.execute(graph) else { return Ok(None) };
        let time = finish(Executed { replica: &replica, tasks: &tasks, execution: &execution });
        if let Some((makers, source)) = &entrance {
            // A part of a divided operator may stand before them by now.
            replica.assignments[source.index()].operators.retain(|id| !makers.contains(id));
        }
        let lists = replica.assignments.into_iter().map(|assignment| assignment.operators).collect();
        Ok(Some(Solution { lists, splits: replica.splits, time: (time - lead).max(Nanoseconds(1)) }))
    }

    /// The subgraph's nodes, whole, each on one processor; `None` if these can't run them.
    fn mapped(
        &self,
        subgraph: &Subgraph,
        before: Option<(&[OperatorId], ProcessorId)>,
        end: ProcessorId,
    ) -> Result<Option<Replica>, MappingError> {
        let TeamContext { graph, table, .. } = self.context;
        let mut problem = match entered_problem(graph, subgraph, table, self.class_ids, before) {
            Ok(problem) => problem,
            Err(MappingError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if problem.last_node().is_none_or(|sink| problem.fix(sink, end).is_err()) {
            return Ok(None);
        }
        let mapping = BoundedMapper.map(&problem, &self.limits(&problem))?;
        self.context.spend(mapping.steps / STEPS_PER_EVALUATION);
        let lists = mapping.order.iter().map(|nodes| {
            nodes.iter().flat_map(|node| subgraph.nodes[node.index()].iter().copied()).collect::<Vec<OperatorId>>()
        });
        let assignments = self.classes.iter().zip(lists);
        let assignments = assignments.map(|(class, operators)| Assignment { processor: class.stand_in(), operators });
        Ok(Some(Replica::new(assignments.collect())))
    }

    /// Steps by the subgraph's work. A gap below a single transfer is not worth a search, whatever part of a short time
    /// it is.
    fn limits(&self, problem: &MappingProblem) -> MapperLimits<'static> {
        let pairs = self.class_ids.iter().flat_map(|from| self.class_ids.iter().map(move |to| (*from, *to)));
        let transfers =
            pairs.filter(|(from, to)| from != to).map(|(from, to)| self.context.table.transfer(from, to, 0));
        let slack = transfers.min().unwrap_or_default();
        let work: Nanoseconds = problem.nodes().map(|node| problem.least_time(node)).sum();
        let steps = (MAPPING_STEPS as f64 * work.0 as f64 / WORTH_ALL_STEPS.0 as f64) as u64;
        let steps = self.context.effort.steps(steps.clamp(LEAST_MAPPING_STEPS, MAPPING_STEPS));
        MapperLimits { steps, gap: MAPPING_GAP, slack, ..MapperLimits::default() }
    }

    /// When everything is done and what the exit's operators made is on the processor `end`.
    fn arrival(&self, executed: Executed<'_>, exit: &[OperatorId], end: ProcessorId) -> Nanoseconds {
        let Executed { tasks, execution, .. } = executed;
        let TeamContext { graph, table, .. } = self.context;
        let last = exit.last();
        let mut latest = Nanoseconds::ZERO;
        for (id, task) in TaskId::all(tasks.tasks().len()).zip(tasks.tasks()) {
            let mut there = execution.span(id).end;
            if Some(&task.operator) == last && task.processor != end {
                let outputs = graph.operator(task.operator).outputs.iter();
                let bytes: u64 = outputs.map(|&value| graph.value(value).bytes().unwrap_or(0)).sum();
                let bytes = task.share.map_or(bytes, |share| share.of_bytes(bytes));
                let [from, to] = [task.processor, end].map(|place| self.class_ids[place.index()]);
                there += table.transfer(from, to, bytes);
            }
            latest = latest.max(there);
        }
        latest
    }
}

/// The operators of a sink whose values the next subgraph reads.
fn made_before(sink: &[OperatorId], subgraph: &Subgraph, graph: &Graph) -> Vec<OperatorId> {
    let operators: Vec<OperatorId> = subgraph.operators().collect();
    let is_read = |id: &&OperatorId| {
        let mut outputs = graph.operator(**id).outputs.iter();
        outputs.any(|&value| graph.readers(value).iter().any(|reader| operators.contains(reader)))
    };
    sink.iter().filter(is_read).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_look_the_same_change_places() {
        let classes: Vec<ProcessorClass> = [("B", 1), ("B", 1), ("s", 2), ("B", 1), ("s", 1)]
            .map(|(cluster, count)| ProcessorClass::new(cluster, count))
            .into();
        let all = || ProcessorId::all(classes.len());
        let mut exchanged = 0;
        for (source, end) in
            std::iter::once(None).chain(all().map(Some)).flat_map(|source| all().map(move |end| (source, end)))
        {
            let wanted = Ends { source, end };
            let alike = alike(&classes, wanted);
            let places = exchange(&classes, alike, wanted);
            let mut taken = places.clone();
            taken.sort_unstable();
            assert!(taken.into_iter().eq(all()), "{wanted:?}: {places:?}");
            assert!(all().zip(&places).all(|(from, to)| classes[from.index()] == classes[to.index()]), "{wanted:?}");
            assert_eq!((alike.source.map(|from| places[from.index()]), places[alike.end.index()]), (source, end));
            exchanged += usize::from(alike != wanted);
        }
        // Ends on either of two; each end after one of these two; and one of the two after what is not one of them.
        assert_eq!(exchanged, 2 + 10 + 5);
    }
}
