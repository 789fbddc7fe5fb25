//! Input names and attributes of the node behind an operator.

use millstream_graph::OperatorId;

use crate::model::Model;
use crate::proto::NodeProto;

/// An operator as the model file has it: its constant inputs and its attributes.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a>(&'a NodeProto);

impl Model {
    /// The node behind an operator.
    pub fn node(&self, operator: OperatorId) -> NodeView<'_> {
        NodeView(&self.nodes[operator.index()])
    }
}

impl<'a> NodeView<'a> {
    /// Names of all inputs in the order of the operator's definition, weights included; empty for one that is left out.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        self.0.input.iter().map(String::as_str)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.0.int(name)
    }

    /// A floating-point attribute.
    pub fn float(&self, name: &str) -> Option<f32> {
        self.0.attribute(name)?.f
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.0.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    /// A text attribute.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.0.text(name)
    }
}
