//! A part of a network that one processor runs.

use std::collections::HashMap;
use std::ops::Range;

use millstream_graph::{Along, Boundary, Graph, OperatorId, Portion, ValueId};

use crate::error::BackendError;
use crate::tensor::Tensor;

/// Operators that run as one, and the values that cross their border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The operators, in the order in which they run.
    pub operators: Vec<OperatorId>,
    /// What they read from and make for others.
    pub boundary: Boundary,
    /// What is made of the only output, if not all: some channels of the first operator, which the others follow
    /// channel by channel, or some rows of the last one. Inputs are whole.
    pub portion: Option<Portion>,
}

impl Segment {
    /// The segment of these operators, given in the order in which they run.
    pub fn new(graph: &Graph, operators: Vec<OperatorId>) -> Self {
        let boundary = graph.boundary(&operators);
        Self { operators, boundary, portion: None }
    }

    /// The part of operators that makes these output channels of the first one.
    pub fn part(graph: &Graph, operators: Vec<OperatorId>, channels: Range<usize>) -> Self {
        Self { portion: Some(Portion { along: Along::Channels, range: channels }), ..Self::new(graph, operators) }
    }

    /// The tile of operators that makes these rows, columns or heads of what the last one makes.
    pub fn tile(graph: &Graph, operators: Vec<OperatorId>, along: Along, range: Range<usize>) -> Self {
        Self { portion: Some(Portion { along, range }), ..Self::new(graph, operators) }
    }

    /// The channels that are made, if it is a part of operators that are divided by channels.
    pub fn channels(&self) -> Option<&Range<usize>> {
        self.portion.as_ref().filter(|portion| portion.along == Along::Channels).map(|portion| &portion.range)
    }

    /// The tensors that the segment takes, of a frame that has one tensor for each input of the network. Inputs that
    /// the segment does not read are left out, and values that are no inputs of the network are missing.
    pub fn inputs_of(&self, graph: &Graph, frame: &[Tensor]) -> Vec<Tensor> {
        let place = |value| graph.inputs().iter().position(|input| input == value);
        self.boundary.inputs.iter().filter_map(|value| frame.get(place(value)?).cloned()).collect()
    }

    /// The tensors that the segment takes, of those that were made so far. Values that are not there are left out.
    pub fn inputs_from(&self, values: &HashMap<ValueId, Tensor>) -> Vec<Tensor> {
        self.boundary.inputs.iter().filter_map(|value| values.get(value).cloned()).collect()
    }

    /// The whole network. [`WholeNetwork`](crate::WholeNetwork) runs it.
    pub fn whole(graph: &Graph) -> Self {
        Self::new(graph, graph.order().to_vec())
    }
}

impl BackendError {
    /// Why a segment of the network can't be prepared.
    pub fn preparing(graph: &Graph, segment: &Segment, detail: impl Into<String>) -> Self {
        let name = |id: Option<&OperatorId>| id.map_or(String::new(), |&id| graph.operator(id).name.clone());
        let operators = &segment.operators;
        Self::Prepare { first: name(operators.first()), last: name(operators.last()), detail: detail.into() }
    }
}
