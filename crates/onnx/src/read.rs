//! From the decoded file to a [`Model`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use millstream_graph::{Graph, GraphBuilder, GraphError, NewOperator, OperatorKind, ValueId};

use crate::describe::{self, describe};
use crate::fold::{Folded, fold};
use crate::infer::Knowledge;
use crate::model::Header;
use crate::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use crate::{Model, NEWEST_OPSET, OLDEST_OPSET, OnnxError, ReadOptions, Weight, catalogue, dimensions, types, weight};

pub(crate) fn model(proto: ModelProto, options: &ReadOptions, folder: Option<&Path>) -> Result<Model, OnnxError> {
    let opset = default_opset(&proto)?;
    let mut graph =
        proto.graph.ok_or_else(|| OnnxError::Malformed { detail: "the file contains no graph".to_owned() })?;
    if !graph.sparse_initializer.is_empty() {
        let what = "a sparse initializer".to_owned();
        return Err(OnnxError::Unsupported { what, remedy: ": store the weight densely".to_owned() });
    }
    name_nodes(&mut graph.node);
    catalogue::check(&graph.node, &proto.functions)?;
    let weights = load_weights(&mut graph, folder)?;
    // An initializer may be listed as an input as well, which makes it a default; it is a constant here.
    let inputs: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|input| !weights.contains_key(value_name(input))).collect();
    let shapes = dimensions::fix(&inputs, options)?;
    let order = execution_order(&graph, &weights)?;
    let mut known: HashMap<String, Knowledge> =
        weights.iter().map(|(name, weight)| (name.clone(), Knowledge::of_weight(weight))).collect();
    for (input, shape) in inputs.iter().zip(&shapes) {
        known.insert(value_name(input).to_owned(), Knowledge::new(declared_type(input), shape.as_ref()));
    }
    let inputs: Vec<String> = inputs.into_iter().map(|input| value_name(input).to_owned()).collect();
    let ordered: Vec<NodeProto> = order.into_iter().map(|index| graph.node[index].clone()).collect();
    let outputs: HashSet<&str> = graph.output.iter().map(value_name).collect();
    let declared = declared_values(&graph);
    let folded = fold(ordered, weights, known, &declared, &outputs, opset);
    let header = Header { ir_version: proto.ir_version, opset_import: proto.opset_import, functions: proto.functions };
    let name = graph.name.clone().unwrap_or_default();
    let output_names: Vec<&str> = graph.output.iter().map(value_name).collect();
    build(&name, &inputs, &output_names, folded, header)
}

fn default_opset(proto: &ModelProto) -> Result<i64, OnnxError> {
    let default = proto
        .opset_import
        .iter()
        .find(|opset| catalogue::is_default_domain(opset.domain.as_deref().unwrap_or_default()));
    let version = match default {
        Some(opset) => opset.version.unwrap_or_default(),
        None if proto.opset_import.is_empty() => {
            return Err(OnnxError::Malformed { detail: "the file declares no operator set".to_owned() });
        }
        None => NEWEST_OPSET,
    };
    if (OLDEST_OPSET..=NEWEST_OPSET).contains(&version) { Ok(version) } else { Err(OnnxError::Opset { version }) }
}

/// Gives every node a unique name: its own where it has one, else its type and position.
fn name_nodes(nodes: &mut [NodeProto]) {
    let mut taken = HashSet::new();
    for (index, node) in nodes.iter_mut().enumerate() {
        let base =
            node.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{}_{index}", node.op()));
        let name = if taken.contains(&base) { format!("{base}_{index}") } else { base };
        taken.insert(name.clone());
        node.name = Some(name);
    }
}

/// Loads the initializers and the tensors of `Constant` nodes, taking both out of the graph.
fn load_weights(graph: &mut GraphProto, folder: Option<&Path>) -> Result<BTreeMap<String, Weight>, OnnxError> {
    let mut weights = BTreeMap::new();
    for initializer in std::mem::take(&mut graph.initializer) {
        let name = initializer.name.clone().unwrap_or_default();
        let loaded = weight::load(&name, &initializer, folder)?;
        weights.insert(name, loaded);
    }
    let outputs: HashSet<&str> = graph.output.iter().map(value_name).collect();
    let mut failure = None;
    graph.node.retain(|node| {
        let is_result = node.output.iter().any(|name| outputs.contains(name.as_str()));
        let (false, "Constant", [name]) = (is_result, node.op(), node.output.as_slice()) else { return true };
        let tensor = node.attribute("value").and_then(|value| value.t.as_ref());
        let loaded = match tensor {
            Some(tensor) => weight::load(name, tensor, folder),
            None => match plain_constant(node) {
                Some(constant) => Ok(constant),
                None => return true,
            },
        };
        match loaded {
            Ok(loaded) => {
                weights.insert(name.clone(), loaded);
            }
            Err(error) => failure = Some(error),
        }
        false
    });
    failure.map_or(Ok(weights), Err)
}

fn plain_constant(node: &NodeProto) -> Option<Weight> {
    if let Some(value) = node.int("value_int") {
        return Some(Weight::from_i64([], &[value]));
    }
    if let Some(values) = node.ints("value_ints") {
        return Some(Weight::from_i64([values.len()], values));
    }
    if let Some(value) = node.attribute("value_float").and_then(|attribute| attribute.f) {
        return Some(Weight::from_f32([], vec![value]));
    }
    let floats = &node.attribute("value_floats")?.floats;
    Some(Weight::from_f32([floats.len()], floats.clone()))
}

/// A topological order of the nodes. Building a graph without types checks names and finds cycles on the way.
fn execution_order(graph: &GraphProto, weights: &BTreeMap<String, Weight>) -> Result<Vec<usize>, OnnxError> {
    let mut builder = GraphBuilder::new(graph.name.clone().unwrap_or_default());
    for input in &graph.input {
        if !weights.contains_key(value_name(input)) {
            let id = builder.value(value_name(input), None, None)?;
            builder.input(id);
        }
    }
    for node in &graph.node {
        let reads = operands(node)
            .into_iter()
            .filter(|name| !weights.contains_key(*name))
            .map(|name| value(&mut builder, name))
            .collect::<Result<Vec<ValueId>, _>>()?;
        let makes: Result<Vec<ValueId>, _> =
            node.output.iter().filter(|name| !name.is_empty()).map(|name| value(&mut builder, name)).collect();
        let operator = NewOperator::new(node.name.clone().unwrap_or_default(), node.op(), OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes(makes?))?;
    }
    for output in &graph.output {
        let id = value(&mut builder, value_name(output))?;
        builder.output(id);
    }
    Ok(builder.build()?.order().iter().map(|id| id.index()).collect())
}

fn value(builder: &mut GraphBuilder, name: &str) -> Result<ValueId, GraphError> {
    match builder.find_value(name) {
        Some(id) => Ok(id),
        None => builder.value(name, None, None),
    }
}

/// Names that a node reads: its inputs and whatever its nested graphs take from around them.
pub(crate) fn operands(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    for attribute in &node.attribute {
        for nested in attribute.g.iter().chain(&attribute.graphs) {
            names.extend(free_names(nested));
        }
    }
    names
}

fn free_names(graph: &GraphProto) -> Vec<&str> {
    let own: HashSet<&str> = graph
        .input
        .iter()
        .map(value_name)
        .chain(graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()))
        .chain(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)))
        .collect();
    let read = graph.node.iter().flat_map(operands).chain(graph.output.iter().map(value_name));
    read.filter(|name| !own.contains(name)).collect()
}

pub(crate) fn value_name(info: &ValueInfoProto) -> &str {
    info.name.as_deref().unwrap_or_default()
}

fn declared_type(info: &ValueInfoProto) -> Option<millstream_graph::DataType> {
    types::from_onnx(info.r#type.as_ref()?.tensor_type.as_ref()?.elem_type?)
}

/// Types and fixed shapes that the file itself states for values.
fn declared_values(graph: &GraphProto) -> HashMap<String, Knowledge> {
    let known = |info: &ValueInfoProto| {
        let dims = info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref().map(|shape| &shape.dim);
        let sizes: Option<Vec<usize>> = dims.and_then(|dims| {
            dims.iter().map(|dim| usize::try_from(dim.dim_value?).ok().filter(|&size| size > 0)).collect()
        });
        Some((value_name(info).to_owned(), Knowledge::new(declared_type(info), sizes.map(Into::into).as_ref())))
    };
    graph.value_info.iter().chain(&graph.output).filter_map(known).collect()
}

/// The final graph, with types, shapes and descriptors.
fn build(name: &str, inputs: &[String], outputs: &[&str], folded: Folded, header: Header) -> Result<Model, OnnxError> {
    let Folded { nodes, constant_nodes, weights, known } = folded;
    let mut builder = GraphBuilder::new(name);
    let add = |builder: &mut GraphBuilder, name: &str| -> Result<ValueId, GraphError> {
        match builder.find_value(name) {
            Some(id) => Ok(id),
            None => {
                let knowledge = known.get(name);
                let data_type = knowledge.and_then(|known| known.data_type);
                builder.value(name, data_type, knowledge.and_then(Knowledge::shape))
            }
        }
    };
    for input in inputs {
        let id = add(&mut builder, input)?;
        builder.input(id);
    }
    let bytes = |name: &str| {
        let known = known.get(name)?;
        Some(known.shape()?.elements() * known.data_type?.bytes()? as u64)
    };
    for node in &nodes {
        let is_constant = |name: &str| weights.contains_key(name) || constant_nodes.contains_key(name);
        let described: Vec<describe::Input> = node
            .input
            .iter()
            .map(|name| describe::Input {
                shape: known.get(name).and_then(Knowledge::shape),
                bytes: bytes(name).unwrap_or(0),
                is_constant: is_constant(name),
            })
            .collect();
        let made: Vec<describe::Output> = node
            .output
            .iter()
            .map(|name| describe::Output {
                shape: known.get(name).and_then(Knowledge::shape),
                bytes: bytes(name).unwrap_or(0),
            })
            .collect();
        let (kind, work) = describe(node, &described, &made);
        let reads: Result<Vec<ValueId>, _> =
            operands(node).into_iter().filter(|name| !is_constant(name)).map(|name| add(&mut builder, name)).collect();
        let makes: Result<Vec<ValueId>, _> =
            node.output.iter().filter(|name| !name.is_empty()).map(|name| add(&mut builder, name)).collect();
        let operator = NewOperator::new(node.name.clone().unwrap_or_default(), node.op(), kind);
        builder.operator(operator.reads(reads?).makes(makes?).work(work))?;
    }
    for output in outputs {
        let id = add(&mut builder, output)?;
        builder.output(id);
    }
    let graph: Graph = builder.build()?;
    Ok(Model::assemble(graph, nodes, constant_nodes, weights, header))
}
