//! The graph itself: operators, values, who makes and who reads what, and an order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::error::GraphError;
use crate::operator::{Operator, OperatorId};
use crate::value::{Value, ValueId};

/// A checked, acyclic network.
#[derive(Debug, Clone)]
pub struct Graph {
    name: String,
    operators: Vec<Operator>,
    values: Vec<Value>,
    /// Of each value.
    producers: Vec<Option<OperatorId>>,
    /// Of each value.
    readers: Vec<Vec<OperatorId>>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    dependencies: DiGraph<OperatorId, ValueId>,
    order: Vec<OperatorId>,
    /// Whether some operators can't be apart: searches ask for it very often.
    pub(crate) has_inseparable: bool,
}

impl Graph {
    pub(crate) fn assemble(
        name: String,
        operators: Vec<Operator>,
        values: Vec<Value>,
        producers: Vec<Option<OperatorId>>,
        inputs: Vec<ValueId>,
        outputs: Vec<ValueId>,
    ) -> Result<Self, GraphError> {
        let mut dependencies = DiGraph::with_capacity(operators.len(), values.len());
        for index in 0..operators.len() {
            dependencies.add_node(OperatorId(index as u32));
        }

        let mut readers = vec![Vec::new(); values.len()];
        for (index, operator) in operators.iter().enumerate() {
            for &value in &operator.inputs {
                readers[value.index()].push(OperatorId(index as u32));
                if let Some(producer) = producers[value.index()] {
                    dependencies.add_edge(NodeIndex::new(producer.index()), NodeIndex::new(index), value);
                }
            }
        }

        let order = stable_order(&dependencies).map_err(|is_waiting| cycle(&dependencies, &operators, &is_waiting))?;
        let has_inseparable = false;
        let mut graph =
            Self { name, operators, values, producers, readers, inputs, outputs, dependencies, order, has_inseparable };
        graph.has_inseparable = graph.operator_ids().any(|id| graph.inseparable_producers(id).next().is_some());
        Ok(graph)
    }

    /// The network's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the network another name.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.name = name.into();
    }

    /// All operators, in the order in which they were added.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// All values, in the order in which they were added.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// One operator.
    pub fn operator(&self, id: OperatorId) -> &Operator {
        &self.operators[id.index()]
    }

    /// One value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The ids of all operators, in the order in which they were added.
    pub fn operator_ids(&self) -> impl ExactSizeIterator<Item = OperatorId> + use<> {
        OperatorId::all(self.operators.len())
    }

    /// The operator of this name.
    pub fn find_operator(&self, name: &str) -> Option<OperatorId> {
        self.operator_ids().find(|id| self.operator(*id).name == name)
    }

    /// The ids of all values, in the order in which they were added.
    pub fn value_ids(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// Values that the caller supplies.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// Values that the network returns.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The operator that makes a value; `None` for graph inputs.
    pub fn producer(&self, value: ValueId) -> Option<OperatorId> {
        self.producers[value.index()]
    }

    /// The operators that read a value.
    pub fn readers(&self, value: ValueId) -> &[OperatorId] {
        &self.readers[value.index()]
    }

    /// A topological order that keeps the order of addition wherever dependencies allow it.
    pub fn order(&self) -> &[OperatorId] {
        &self.order
    }

    /// The graph for petgraph's algorithms: nodes are operators (node index = [`OperatorId::index`]), edges the values
    /// that pass between them.
    pub fn dependencies(&self) -> &DiGraph<OperatorId, ValueId> {
        &self.dependencies
    }

    /// The operators that make what an operator reads, input by input; inputs of the network are left out.
    pub fn producers(&self, reader: OperatorId) -> impl Iterator<Item = OperatorId> {
        self.operator(reader).inputs.iter().filter_map(|&value| self.producer(value))
    }

    /// Multiply-accumulates of the whole network for one frame.
    pub fn macs(&self) -> u64 {
        self.operators.iter().fold(0, |sum: u64, operator| sum.saturating_add(operator.work.macs))
    }

    /// Bytes of all weights; shared weights count once per operator that uses them.
    pub fn weight_bytes(&self) -> u64 {
        self.operators.iter().fold(0, |sum: u64, operator| sum.saturating_add(operator.work.weight_bytes))
    }
}

/// Kahn's algorithm, smallest index first. The error has the operators that wait for each other, and those behind them.
fn stable_order(dependencies: &DiGraph<OperatorId, ValueId>) -> Result<Vec<OperatorId>, Vec<bool>> {
    let mut waiting_for: Vec<usize> = dependencies
        .node_indices()
        .map(|node| dependencies.edges_directed(node, petgraph::Direction::Incoming).count())
        .collect();

    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..waiting_for.len()).filter(|&index| waiting_for[index] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(waiting_for.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(OperatorId(index as u32));
        for successor in dependencies.neighbors(NodeIndex::new(index)) {
            let waiting = &mut waiting_for[successor.index()];
            *waiting -= 1;
            if *waiting == 0 {
                ready.push(Reverse(successor.index()));
            }
        }
    }

    if order.len() == waiting_for.len() { Ok(order) } else { Err(waiting_for.iter().map(|&count| count > 0).collect()) }
}

/// One cycle among the operators that never became ready. Each of them waits for another one of them, so walking back
/// from any leads round a cycle; recursion could exhaust the stack on long chains.
fn cycle(dependencies: &DiGraph<OperatorId, ValueId>, operators: &[Operator], is_waiting: &[bool]) -> GraphError {
    let mut step_of: Vec<Option<usize>> = vec![None; is_waiting.len()];
    let mut path: Vec<usize> = Vec::new();
    let mut current = is_waiting.iter().position(|&waiting| waiting);
    while let Some(index) = current.filter(|&index| step_of[index].is_none()) {
        step_of[index] = Some(path.len());
        path.push(index);
        let mut predecessors =
            dependencies.neighbors_directed(NodeIndex::new(index), petgraph::Direction::Incoming).map(NodeIndex::index);
        current = predecessors.find(|&predecessor| is_waiting[predecessor]);
    }
    let start = current.and_then(|index| step_of[index]).unwrap_or(0);
    let mut members = path.split_off(start);
    members.sort_unstable();
    GraphError::Cycle { operators: members.into_iter().map(|index| operators[index].name.clone()).collect() }
}
