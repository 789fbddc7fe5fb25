//! Which results OpenVINO may write where it is told to.
//!
//! Where a result turns out to be an input handed on, OpenVINO does not write it, and may write to the input instead.
//! So it is told where to write only what is computed for sure; everything else it keeps, and is copied.

use millstream_graph::{Graph, OperatorKind, ValueId};

use crate::native::{Place, Port};

/// Who decides where a result goes.
pub(crate) fn of(graph: &Graph, result: ValueId, port: &Port) -> Place {
    if port.dimensions.is_some() && is_computed(graph, result) { Place::Given } else { Place::Own }
}

/// Whether the value is made by an operator that always computes something: none that could turn out to change nothing,
/// such as a reshape, a cast to the same type, or a product with one.
fn is_computed(graph: &Graph, value: ValueId) -> bool {
    let Some(producer) = graph.producer(value) else { return false };
    let operator = graph.operator(producer);
    match operator.op_type.as_str() {
        "Relu" | "LeakyRelu" | "Sigmoid" | "Tanh" | "Softmax" => true,
        "Add" | "Mul" | "Sub" | "Div" | "Concat" => {
            let mut inputs = operator.inputs.clone();
            inputs.dedup();
            let is_empty = |&&value: &&ValueId| {
                let shape = graph.value(value).shape.as_ref();
                shape.is_none_or(|shape| shape.elements() == 0)
            };
            inputs.len() > 1 && !inputs.iter().any(|value| is_empty(&value))
        }
        _ => matches!(operator.kind, OperatorKind::Convolution(_) | OperatorKind::FullyConnected),
    }
}
