//! The problem that mappers solve: nodes with times on processors, and dependencies with transfers.

pub(crate) mod edge;
mod evaluation;
pub(crate) mod node_range;
pub(crate) mod twins;

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Subgraph;
use millstream_schedule::execution::{
    Dependency, DependencyId, OutputId, ProcessorId, TaskGraph, TaskId, TransferCost,
};

use crate::error::MappingError;
use crate::problem::edge::Edge;

/// No operator takes longer, so that sums of all of them stay numbers.
const LONGEST_TIME: Nanoseconds = Nanoseconds(24 * 3600 * 1_000_000_000);

/// Nodes with times on processors, and what moving their values takes: everything that a mapper needs to know.
///
/// Nodes are numbered in an order in which they can run: edges point from lower to higher ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingProblem {
    names: Vec<String>,
    processor_count: usize,
    /// Row per node.
    times: Vec<Option<Nanoseconds>>,
    /// When what comes from outside has arrived; row per node.
    releases: Vec<Nanoseconds>,
    edges: Vec<Edge>,
    /// Places in `edges` of what each node reads.
    incoming: Vec<Vec<DependencyId>>,
    /// Places in `edges` of what reads each node.
    outgoing: Vec<Vec<DependencyId>>,
}

impl TaskGraph for MappingProblem {
    fn task_count(&self) -> usize {
        self.len()
    }

    fn processor_count(&self) -> usize {
        self.processor_count
    }

    fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        Self::time(self, task, processor)
    }

    fn release(&self, task: TaskId, processor: ProcessorId) -> Nanoseconds {
        Self::release(self, task, processor)
    }

    fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.incoming[task.index()].iter().map(|&id| self.dependency(id))
    }

    fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.outgoing[task.index()].iter().map(|&id| self.dependency(id))
    }

    fn transfer(&self, dependency: Dependency, from: ProcessorId, to: ProcessorId) -> TransferCost {
        let edge = &self.edges[dependency.id.index()];
        TransferCost { time: edge.transfer(from, to), blocks: edge.blocks(from, to) }
    }
}

/// All that matters for a mapping: problems with equal keys have the same mappings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProblemKey {
    times: Vec<Option<Nanoseconds>>,
    releases: Vec<Nanoseconds>,
    edges: Vec<Edge>,
}

impl MappingProblem {
    /// A problem of nodes with a time per processor (`None` where a processor can't run a node) and edges.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if no processor can run a node, [`MappingError::Shape`] if an edge does not point
    /// forward, numbers of processors differ, or one value has transfers that occupy a processor in different ways.
    pub fn new(
        names: Vec<String>,
        times: Vec<Vec<Option<Nanoseconds>>>,
        edges: Vec<Edge>,
    ) -> Result<Self, MappingError> {
        let processor_count = times.first().map_or(0, Vec::len);
        let shape = |detail: String| Err(MappingError::Shape { detail });
        if names.len() != times.len() || times.iter().any(|row| row.len() != processor_count) {
            return shape("nodes have different numbers of processors, or names and times differ in number".to_owned());
        }
        for (name, row) in names.iter().zip(&times) {
            if row.iter().all(Option::is_none) {
                return Err(MappingError::Unsupported { operator: name.clone() });
            }
        }

        let mut incoming = vec![Vec::new(); names.len()];
        let mut outgoing = vec![Vec::new(); names.len()];
        for (id, edge) in DependencyId::all(edges.len()).zip(&edges) {
            let (from, to) = (edge.from.index(), edge.to.index());
            if from >= to || to >= names.len() || !edge.is_between(processor_count) {
                return shape(format!("the edge from node {from} to node {to} does not point forward"));
            }
            incoming[to].push(id);
            outgoing[from].push(id);
        }

        let times: Vec<Option<Nanoseconds>> = times.into_iter().flatten().collect();
        let longest = times.iter().flatten().chain(edges.iter().flat_map(Edge::transfers)).max();
        if longest.is_some_and(|&longest| longest > LONGEST_TIME) {
            return shape("a time is longer than a day; is it infinite where it should be unsupported?".to_owned());
        }
        for edges_of_node in &outgoing {
            refuse_one_value_in_two_ways(edges_of_node.iter().map(|id| &edges[id.index()]))?;
        }
        let releases = vec![Nanoseconds::ZERO; names.len() * processor_count];
        Ok(Self { names, processor_count, times, releases, edges, incoming, outgoing })
    }

    /// The nodes of a subgraph on some processors of a cost table: the nodes in the order of the subgraph, the
    /// processors in that of `processors`.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if none of the processors can run a node.
    pub fn of_subgraph(
        graph: &Graph,
        subgraph: &Subgraph,
        table: &CostTable,
        processors: &[ClassId],
    ) -> Result<Self, MappingError> {
        let name = |node: &Vec<OperatorId>| node.first().map_or(String::new(), |&id| graph.operator(id).name.clone());
        let time = |node: &[OperatorId], processor: ClassId| {
            let times = node.iter().map(|&id| table.time(processor, id));
            times.sum::<Option<Nanoseconds>>()
        };
        let times = subgraph
            .nodes
            .iter()
            .map(|node| processors.iter().map(|&processor| time(node, processor)).collect())
            .collect();

        let mut edges = Vec::new();
        for &(from, to) in &subgraph.edges {
            let made = subgraph.nodes[from].iter().flat_map(|&id| &graph.operator(id).outputs);
            for (number, &value) in made.enumerate() {
                if !subgraph.nodes[to].iter().any(|id| graph.readers(value).contains(id)) {
                    continue;
                }
                let bytes = graph.value(value).bytes().unwrap_or(0);
                // What moving the value from one processor takes, to each of them.
                let rows = |maker: ClassId| {
                    let times = processors.iter().map(move |&reader| table.transfer(maker, reader, bytes));
                    (times.collect(), processors.iter().map(|&reader| table.blocks(maker, reader)).collect())
                };
                let (transfers, blocks) = processors.iter().map(|&maker| rows(maker)).unzip();
                let edge = Edge::new(TaskId::new(from), TaskId::new(to), transfers);
                edges.push(edge.of_value(OutputId::new(number)).blocking(blocks));
            }
        }
        Self::new(subgraph.nodes.iter().map(name).collect(), times, edges)
    }

    fn dependency(&self, id: DependencyId) -> Dependency {
        let edge = &self.edges[id.index()];
        Dependency { maker: edge.from, reader: edge.to, value: edge.value(), id }
    }

    /// Restricts a node to one processor, as the last node of a subgraph whose place is decided elsewhere.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if that processor can't run it.
    pub fn fix(&mut self, node: TaskId, processor: ProcessorId) -> Result<(), MappingError> {
        if self.time(node, processor).is_none() {
            return Err(MappingError::Unsupported { operator: self.name(node).to_owned() });
        }
        for other in self.processors().filter(|&other| other != processor) {
            let cell = self.cell(node, other);
            self.times[cell] = None;
        }
        Ok(())
    }

    /// Sets when what a node reads from outside has arrived on a processor, counted from the beginning of the problem.
    pub fn set_release(&mut self, node: TaskId, processor: ProcessorId, release: Nanoseconds) {
        let cell = self.cell(node, processor);
        self.releases[cell] = release;
    }

    /// Where tables with a row per node have what is true of a node on a processor.
    fn cell(&self, node: TaskId, processor: ProcessorId) -> usize {
        node.index() * self.processor_count + processor.index()
    }

    /// What tells this problem from others, names apart.
    pub(crate) fn key(&self) -> ProblemKey {
        ProblemKey { times: self.times.clone(), releases: self.releases.clone(), edges: self.edges.clone() }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is nothing to map.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All nodes.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = TaskId> + ExactSizeIterator + Clone + use<> {
        TaskId::all(self.len())
    }

    /// The node that ends the subgraph; `None` if there is nothing to map.
    pub fn last_node(&self) -> Option<TaskId> {
        self.nodes().next_back()
    }

    /// Number of processors.
    pub fn processor_count(&self) -> usize {
        self.processor_count
    }

    /// All processors.
    pub fn processors(&self) -> impl DoubleEndedIterator<Item = ProcessorId> + ExactSizeIterator + Clone + use<> {
        ProcessorId::all(self.processor_count)
    }

    /// A node's name.
    pub fn name(&self, node: TaskId) -> &str {
        &self.names[node.index()]
    }

    /// A node's time on a processor; `None` if the processor can't run it.
    pub fn time(&self, node: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        self.times[self.cell(node, processor)]
    }

    /// When what a node reads from outside has arrived on a processor, counted from the beginning of the problem.
    pub fn release(&self, node: TaskId, processor: ProcessorId) -> Nanoseconds {
        self.releases[self.cell(node, processor)]
    }

    /// All dependencies.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// What a node reads.
    pub fn incoming(&self, node: TaskId) -> impl ExactSizeIterator<Item = &Edge> {
        self.incoming[node.index()].iter().map(|id| &self.edges[id.index()])
    }

    /// What reads a node.
    pub fn outgoing(&self, node: TaskId) -> impl ExactSizeIterator<Item = &Edge> {
        self.outgoing[node.index()].iter().map(|id| &self.edges[id.index()])
    }

    /// Processors that can run a node.
    pub fn supporting(&self, node: TaskId) -> impl Iterator<Item = ProcessorId> {
        self.processors().filter(move |&processor| self.time(node, processor).is_some())
    }

    /// The least time of a node on any processor.
    pub fn least_time(&self, node: TaskId) -> Nanoseconds {
        self.supporting(node).filter_map(|processor| self.time(node, processor)).min().unwrap_or_default()
    }
}

/// Execution moves a value to a processor once for all who read it there, if that occupies somebody: so it takes the
/// same time for each of them.
fn refuse_one_value_in_two_ways<'a>(edges_of_node: impl Iterator<Item = &'a Edge>) -> Result<(), MappingError> {
    let mut first_with: Vec<(OutputId, &Edge)> = Vec::new();
    for edge in edges_of_node {
        match first_with.iter().find(|(value, _)| *value == edge.value()) {
            None => first_with.push((edge.value(), edge)),
            Some((_, first)) if first.moves_as(edge) => {}
            Some((_, first)) => {
                let (from, to, other) = (edge.from.index(), edge.to.index(), first.to.index());
                let detail = format!("nodes {other} and {to} read one value of node {from}, with different transfers");
                return Err(MappingError::Shape { detail: format!("{detail} that occupy a processor") });
            }
        }
    }
    Ok(())
}
