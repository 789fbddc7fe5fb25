//! What Para-Pipe is compared with: one operator after the other with changes of processor, and the classic list
//! schedulers.

use std::collections::BTreeSet;

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_mapping::{
    Cpop, Heft, LayerSwitched, Mapper, MapperLimits, Mapping, MappingError, MappingProblem, ProcessorId,
    SingleProcessor, TaskId,
};
use millstream_partition::{Subgraph, joined};
use millstream_schedule::{Assignment, Replica};

use crate::paper::ReproduceError;

/// A network on some processors, as one subgraph.
pub(super) struct Whole<'a> {
    graph: &'a Graph,
    table: &'a CostTable,
    processors: &'a [ClassId],
    subgraph: Subgraph,
    problem: MappingProblem,
}

/// What a baseline takes for a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Baseline {
    pub(super) seconds: f64,
    /// Not a number where power is not known.
    pub(super) joules: f64,
}

impl<'a> Whole<'a> {
    pub(super) fn new(graph: &'a Graph, table: &'a CostTable, processors: &'a [ClassId]) -> Result<Self, MappingError> {
        let subgraph = joined(graph);
        let problem = MappingProblem::of_subgraph(graph, &subgraph, table, processors)?;
        Ok(Self { graph, table, processors, subgraph, problem })
    }

    /// HEFT or CPOP, whichever is faster, as the paper does (section VII-A).
    pub(super) fn lists(&self) -> Result<Baseline, ReproduceError> {
        let limits = MapperLimits::default();
        let [heft, cpop] = [Heft.map(&self.problem, &limits)?, Cpop.map(&self.problem, &limits)?];
        let faster = if cpop.makespan < heft.makespan { cpop } else { heft };
        let seconds = faster.makespan.seconds();
        Ok(Baseline { seconds, joules: self.joules(&faster, seconds)? })
    }

    /// One node after the other, with changes of processor or on the best one alone, whichever is faster: the search
    /// takes what a node reads to be where the node before it ran, which branches are not. A mapping's own makespan
    /// would let processors work at the same time.
    pub(super) fn layer_switched(&self) -> Result<Baseline, ReproduceError> {
        let limits = MapperLimits::default();
        let mappings = [LayerSwitched.map(&self.problem, &limits)?, SingleProcessor.map(&self.problem, &limits)?];
        let baseline = |mapping: &Mapping| -> Result<Baseline, ReproduceError> {
            let seconds = self.in_turn(mapping);
            Ok(Baseline { seconds, joules: self.joules(mapping, seconds)? })
        };
        let [switched, single] = [baseline(&mappings[0])?, baseline(&mappings[1])?];
        Ok(if single.seconds < switched.seconds { single } else { switched })
    }

    /// All nodes and all that crosses between processors, one thing after the other.
    fn in_turn(&self, mapping: &Mapping) -> f64 {
        let time = |node: TaskId| self.problem.time(node, mapping.processor_of(node));
        let work: Nanoseconds = self.problem.nodes().filter_map(time).sum();
        (work.0 + self.transfers(mapping)) as f64 * 1e-9
    }

    /// Nanoseconds of all values that cross between processors, each once to each processor that reads it.
    fn transfers(&self, mapping: &Mapping) -> u64 {
        let mut home = vec![ProcessorId::new(0); self.graph.operators().len()];
        for (&processor, operators) in mapping.placement.iter().zip(&self.subgraph.nodes) {
            operators.iter().for_each(|id| home[id.index()] = processor);
        }
        let mut sum = 0;
        for id in self.graph.operator_ids() {
            let from = home[id.index()];
            for &value in &self.graph.operator(id).outputs {
                let readers = self.graph.readers(value).iter().map(|reader| home[reader.index()]);
                let targets: BTreeSet<ProcessorId> = readers.filter(|&to| to != from).collect();
                let bytes = self.graph.value(value).bytes().unwrap_or(0);
                let time = |to: ProcessorId| self.table.transfer(self.class(from), self.class(to), bytes).0;
                sum += targets.into_iter().map(time).sum::<u64>();
            }
        }
        sum
    }

    fn class(&self, processor: ProcessorId) -> ClassId {
        self.processors[processor.index()]
    }

    /// What processors draw while they work or are occupied by transfers, and while they wait, as far as that is known.
    fn joules(&self, mapping: &Mapping, seconds: f64) -> Result<f64, ReproduceError> {
        let replica = self.replica(mapping);
        let execution = replica.execute(self.graph, self.table)?;
        let drawn = self.processors.iter().zip(execution.busy()).map(|(&processor, busy)| {
            let Some(power) = self.table.power(processor) else { return f64::NAN };
            (power.active_watts - power.idle_watts) * busy.seconds() + power.idle_watts * seconds
        });
        Ok(drawn.sum())
    }

    /// The operators on stand-ins for the processors, in the order in which these run them.
    fn replica(&self, mapping: &Mapping) -> Replica {
        let assignments = self.processors.iter().zip(&mapping.order).map(|(processor, nodes)| {
            let class = &self.table.classes()[processor.index()];
            let operators = nodes.iter().flat_map(|node| self.subgraph.nodes[node.index()].iter().copied());
            Assignment { processor: class.stand_in(), operators: operators.collect() }
        });
        Replica::new(assignments.collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::para_pipe::bst::board;

    #[test]
    fn baselines_take_at_least_what_their_operators_take() {
        let model = millstream_zoo::build("googlenet").unwrap();
        let graph = model.graph();
        let (table, processors) = board(graph);
        let whole = Whole::new(graph, &table, &processors).unwrap();
        assert_eq!(whole.subgraph.operators().count(), graph.operators().len(), "every operator once");
        let least = |node: TaskId| whole.problem.least_time(node).0 as f64 * 1e-9;
        let work: f64 = whole.problem.nodes().map(least).sum();
        let [lists, switched] = [whole.lists().unwrap(), whole.layer_switched().unwrap()];
        assert!(switched.seconds >= work, "one after the other");
        assert!(lists.seconds >= work / 3.0 && lists.seconds < switched.seconds, "three processors at once");
        // Without power in the table there is no energy.
        assert!(lists.joules.is_nan() && switched.joules.is_nan());
        // One processor: nothing crosses, and everything takes its time.
        let alone = Whole::new(graph, &table, &processors[1..2]).unwrap();
        let [lists, switched] = [alone.lists().unwrap(), alone.layer_switched().unwrap()];
        assert!((lists.seconds / switched.seconds - 1.0).abs() < 1e-9);
    }
}
