//! Tensors that runtimes read by themselves: in bodies of loops and branches, in functions, in attributes. They must be
//! in the model.

use bytes::Bytes;
use prost::Message;

use crate::error::OnnxError;
use crate::proto::{AttributeProto, EXTERNAL, GraphProto, NodeProto, TensorProto};

/// What of a function is looked at.
#[derive(Clone, PartialEq, Message)]
struct FunctionBody {
    #[prost(message, repeated, tag = "7")]
    node: Vec<NodeProto>,
    #[prost(message, repeated, tag = "11")]
    attribute: Vec<AttributeProto>,
}

#[derive(Clone, PartialEq, Message)]
struct SparseTensor {
    #[prost(message, optional, tag = "1")]
    values: Option<TensorProto>,
    #[prost(message, optional, tag = "2")]
    indices: Option<TensorProto>,
}

/// Refuses tensors in other files that are not weights of the main graph: a runtime that gets the model as bytes would
/// look for the files wherever the program happens to be.
pub(crate) fn refuse_external(graph: &GraphProto, functions: &[Bytes]) -> Result<(), OnnxError> {
    for function in functions {
        let body = FunctionBody::decode(function.clone()).map_err(|error| malformed(&error))?;
        check_nodes(&body.node)?;
        body.attribute.iter().try_for_each(check_attribute)?;
    }
    check_nodes(&graph.node)
}

// The reader of the format limits how deep this goes.
fn check_nodes(nodes: &[NodeProto]) -> Result<(), OnnxError> {
    nodes.iter().flat_map(|node| &node.attribute).try_for_each(check_attribute)
}

fn check_attribute(attribute: &AttributeProto) -> Result<(), OnnxError> {
    attribute.t.iter().chain(&attribute.tensors).try_for_each(check_tensor)?;
    attribute.sparse_tensor.iter().chain(&attribute.sparse_tensors).try_for_each(check_sparse)?;
    attribute.g.iter().chain(&attribute.graphs).try_for_each(check_graph)
}

fn check_graph(graph: &GraphProto) -> Result<(), OnnxError> {
    graph.initializer.iter().try_for_each(check_tensor)?;
    graph.sparse_initializer.iter().try_for_each(check_sparse)?;
    check_nodes(&graph.node)
}

fn check_sparse(bytes: &Bytes) -> Result<(), OnnxError> {
    let tensor = SparseTensor::decode(bytes.clone()).map_err(|error| malformed(&error))?;
    tensor.values.iter().chain(&tensor.indices).try_for_each(check_tensor)
}

fn check_tensor(tensor: &TensorProto) -> Result<(), OnnxError> {
    if tensor.data_location != Some(EXTERNAL) && tensor.external_data.is_empty() {
        return Ok(());
    }
    let name = tensor.name.as_deref().unwrap_or_default();
    let what = format!("the tensor '{name}' in another file, inside an operator or a function");
    Err(OnnxError::Unsupported { what, remedy: ": store it in the model".to_owned() })
}

fn malformed(error: &prost::DecodeError) -> OnnxError {
    OnnxError::Malformed { detail: error.to_string() }
}
