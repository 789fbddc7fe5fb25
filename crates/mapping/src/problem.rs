use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;
use millstream_partition::Subgraph;
use millstream_schedule::execution::{Dependency, TaskGraph, TransferCost};

use crate::MappingError;

/// No operator takes longer, so that sums of all of them stay numbers.
const LONGEST_NANOSECONDS: u64 = 24 * 3600 * 1_000_000_000;

/// Nodes with times on processors, and what moving their values takes: everything that a mapper needs to know.
///
/// Nodes are in an order in which they can run: edges point from lower to higher places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingProblem {
    names: Vec<String>,
    processors: usize,
    /// Row per node.
    times: Vec<Option<u64>>,
    /// When what comes from outside has arrived; row per node.
    releases: Vec<u64>,
    edges: Vec<Edge>,
    /// Places in `edges` of what each node reads.
    incoming: Vec<Vec<usize>>,
    /// Places in `edges` of what reads each node.
    outgoing: Vec<Vec<usize>>,
}

/// A value that one node makes and another one reads, with what moving it between any two processors takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The node that makes the value.
    pub from: usize,
    /// The node that reads it.
    pub to: usize,
    /// Which of the maker's values it is: edges with the same one share its transfers.
    value: usize,
    /// Row per sending processor.
    transfers: Vec<u64>,
    /// Which end each transfer occupies.
    blocks: Vec<Option<BlockedEnd>>,
    processors: usize,
}

impl Edge {
    /// A dependency on a node's only value with given transfer times in nanoseconds, row per sending processor, which go on
    /// beside computation.
    pub fn new(from: usize, to: usize, transfers: Vec<Vec<u64>>) -> Self {
        let processors = transfers.len();
        let transfers: Vec<u64> = transfers.into_iter().flatten().collect();
        Self { from, to, value: 0, blocks: vec![None; transfers.len()], processors, transfers }
    }

    /// The same for the maker's value of this number.
    #[must_use]
    pub fn of_value(self, value: usize) -> Self {
        Self { value, ..self }
    }

    /// The same with transfers that occupy one of their ends; row per sending processor.
    #[must_use]
    pub fn blocking(self, blocks: Vec<Vec<Option<BlockedEnd>>>) -> Self {
        Self { blocks: blocks.into_iter().flatten().collect(), ..self }
    }

    /// Time that the transfer from one processor to another takes.
    pub fn transfer(&self, maker: usize, reader: usize) -> u64 {
        if maker == reader { 0 } else { self.transfers[maker * self.processors + reader] }
    }

    /// Which end the transfer from one processor to another occupies.
    pub fn blocks(&self, maker: usize, reader: usize) -> Option<BlockedEnd> {
        self.blocks.get(maker * self.processors + reader).copied().flatten().filter(|_| maker != reader)
    }

    /// The same between nodes whose numbers are so much lower.
    pub(crate) fn moved(self, down: usize) -> Self {
        Self { from: self.from - down, to: self.to - down, ..self }
    }

    /// Which of the maker's values it is.
    pub(crate) fn value(&self) -> usize {
        self.value
    }

    /// Whether a transfer between some two processors occupies this end.
    pub(crate) fn blocks_anywhere(&self, end: BlockedEnd) -> bool {
        let pairs = (0..self.processors).flat_map(|from| (0..self.processors).map(move |to| (from, to)));
        pairs.into_iter().any(|(from, to)| self.blocks(from, to) == Some(end))
    }
}

impl TaskGraph for MappingProblem {
    fn tasks(&self) -> usize {
        self.len()
    }

    fn processors(&self) -> usize {
        self.processors
    }

    fn time(&self, task: usize, processor: usize) -> Option<Nanoseconds> {
        Self::time(self, task, processor).map(Nanoseconds)
    }

    fn release(&self, task: usize, processor: usize) -> Nanoseconds {
        Nanoseconds(Self::release(self, task, processor))
    }

    fn inputs(&self, task: usize) -> impl Iterator<Item = Dependency> {
        self.incoming[task].iter().map(|&index| self.dependency(index))
    }

    fn readers(&self, task: usize) -> impl Iterator<Item = Dependency> {
        self.outgoing[task].iter().map(|&index| self.dependency(index))
    }

    fn transfer(&self, dependency: Dependency, from: usize, to: usize) -> TransferCost {
        let edge = &self.edges[dependency.index];
        TransferCost { time: Nanoseconds(edge.transfer(from, to)), blocks: edge.blocks(from, to) }
    }
}

/// A [`MappingProblem`] without names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProblemKey {
    times: Vec<Option<u64>>,
    releases: Vec<u64>,
    edges: Vec<Edge>,
}

impl MappingProblem {
    /// A problem of nodes with times in nanoseconds per processor (`None` where a processor can't run a node) and edges.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if no processor can run a node, [`MappingError::Shape`] if an edge does not point
    /// forward or numbers of processors differ.
    pub fn new(names: Vec<String>, times: Vec<Vec<Option<u64>>>, edges: Vec<Edge>) -> Result<Self, MappingError> {
        let processors = times.first().map_or(0, Vec::len);
        let shape = |detail: String| Err(MappingError::Shape { detail });
        if names.len() != times.len() || times.iter().any(|row| row.len() != processors) {
            return shape("nodes have different numbers of processors, or names and times differ in number".to_owned());
        }
        for (name, row) in names.iter().zip(&times) {
            if row.iter().all(Option::is_none) {
                return Err(MappingError::Unsupported { operator: name.clone() });
            }
        }
        let mut incoming = vec![Vec::new(); names.len()];
        let mut outgoing = vec![Vec::new(); names.len()];
        for (index, edge) in edges.iter().enumerate() {
            let pairs = processors * processors;
            let has_other_size = edge.transfers.len() != pairs || edge.blocks.len() != pairs;
            if edge.from >= edge.to || edge.to >= names.len() || edge.processors != processors || has_other_size {
                return shape(format!("the edge from node {} to node {} does not point forward", edge.from, edge.to));
            }
            incoming[edge.to].push(index);
            outgoing[edge.from].push(index);
        }
        let longest = times.iter().flatten().flatten().chain(edges.iter().flat_map(|edge| &edge.transfers)).max();
        if longest.is_some_and(|&longest| longest > LONGEST_NANOSECONDS) {
            return shape("a time is longer than a day; is it infinite where it should be unsupported?".to_owned());
        }
        let releases = vec![0; names.len() * processors];
        let times = times.into_iter().flatten().collect();
        Ok(Self { names, processors, times, releases, edges, incoming, outgoing })
    }

    /// The nodes of a subgraph on some processors of a cost table.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if none of the processors can run a node.
    pub fn of_subgraph(
        graph: &Graph,
        subgraph: &Subgraph,
        table: &CostTable,
        processors: &[ProcessorIndex],
    ) -> Result<Self, MappingError> {
        let name = |node: &Vec<millstream_graph::OperatorId>| {
            node.first().map_or(String::new(), |&id| graph.operator(id).name.clone())
        };
        let time = |node: &[millstream_graph::OperatorId], processor: ProcessorIndex| {
            let times = node.iter().map(|id| table.time(processor, id.index()));
            times.sum::<Option<Nanoseconds>>().map(|time| time.0)
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
                let matrix = |maker: ProcessorIndex| {
                    let times = processors.iter().map(move |&reader| table.transfer(maker, reader, bytes).0);
                    (times.collect(), processors.iter().map(|&reader| table.blocks(maker, reader)).collect())
                };
                let (transfers, blocks) = processors.iter().map(|&maker| matrix(maker)).unzip();
                edges.push(Edge::new(from, to, transfers).of_value(number).blocking(blocks));
            }
        }
        Self::new(subgraph.nodes.iter().map(name).collect(), times, edges)
    }

    fn dependency(&self, index: usize) -> Dependency {
        let Edge { from, to, value, .. } = self.edges[index];
        Dependency { maker: from, reader: to, value, index }
    }

    /// Restricts a node to one processor, as the last node of a subgraph whose place is decided elsewhere.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if that processor can't run it.
    pub fn fix(&mut self, node: usize, processor: usize) -> Result<(), MappingError> {
        if self.time(node, processor).is_none() {
            return Err(MappingError::Unsupported { operator: self.names[node].clone() });
        }
        for other in (0..self.processors).filter(|&other| other != processor) {
            self.times[node * self.processors + other] = None;
        }
        Ok(())
    }

    /// Sets when what a node reads from outside has arrived on a processor, in nanoseconds.
    pub fn set_release(&mut self, node: usize, processor: usize, nanoseconds: u64) {
        self.releases[node * self.processors + processor] = nanoseconds;
    }

    /// All that matters for a mapping: problems with the same key have the same mappings.
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

    /// Number of processors.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// A node's name.
    pub fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    /// A node's time in nanoseconds; `None` if the processor can't run it.
    pub fn time(&self, node: usize, processor: usize) -> Option<u64> {
        self.times[node * self.processors + processor]
    }

    /// When what a node reads from outside has arrived on a processor.
    pub fn release(&self, node: usize, processor: usize) -> u64 {
        self.releases[node * self.processors + processor]
    }

    /// All dependencies.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// What a node reads.
    pub fn incoming(&self, node: usize) -> impl ExactSizeIterator<Item = &Edge> {
        self.incoming[node].iter().map(|&edge| &self.edges[edge])
    }

    /// What reads a node.
    pub fn outgoing(&self, node: usize) -> impl ExactSizeIterator<Item = &Edge> {
        self.outgoing[node].iter().map(|&edge| &self.edges[edge])
    }

    /// Processors that can run a node.
    pub fn supporting(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.processors).filter(move |&processor| self.time(node, processor).is_some())
    }

    /// The least time of a node on any processor.
    pub fn least_time(&self, node: usize) -> u64 {
        self.supporting(node).filter_map(|processor| self.time(node, processor)).min().unwrap_or(0)
    }

    /// For each processor, the first one that is the same in all respects: they may be exchanged for each other.
    pub fn twins(&self) -> Vec<usize> {
        let same = |left: usize, right: usize| {
            let nodes = (0..self.len()).all(|node| {
                self.time(node, left) == self.time(node, right) && self.release(node, left) == self.release(node, right)
            });
            let swap = |processor: usize| match processor {
                processor if processor == left => right,
                processor if processor == right => left,
                other => other,
            };
            nodes
                && self.edges.iter().all(|edge| {
                    (0..self.processors).all(|from| {
                        (0..self.processors).all(|to| {
                            edge.transfer(from, to) == edge.transfer(swap(from), swap(to))
                                && edge.blocks(from, to) == edge.blocks(swap(from), swap(to))
                        })
                    })
                })
        };
        (0..self.processors)
            .map(|processor| (0..processor).find(|&first| same(first, processor)).unwrap_or(processor))
            .collect()
    }
}
