//! From the decoded file to a [`Model`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use millstream_graph::{Graph, GraphBuilder, GraphError, NewOperator, OperatorKind, ValueId};

use crate::constants::ConstantTable;
use crate::describe::{self, describe};
use crate::error::OnnxError;
use crate::external::ExternalFiles;
use crate::fold::{Folded, fold};
use crate::header::Header;
use crate::knowledge::Knowledge;
use crate::locality::Described;
use crate::model::Model;
use crate::names::{operands, unused, value_name};
use crate::options::ReadOptions;
use crate::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use crate::quantised::separate_dequantizations;
use crate::weight::Weight;
use crate::{
    NEWEST_OPSET, OLDEST_OPSET, catalogue, constant_results, dimensions, functions, leftovers, nested, types, weight,
};

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
    leftovers::remove(&mut graph);
    separate_dequantizations(&mut graph);
    let mut weights = load_weights(&mut graph, &mut ExternalFiles::beside(folder, options))?;
    constant_results::make(&mut graph, &mut weights);
    nested::refuse_external(&graph, &proto.functions)?;
    functions::check_depth(&proto.functions)?;

    // An initializer may be listed as an input as well, which makes it a default; it is a constant here.
    let inputs: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|input| !weights.contains_key(value_name(input))).collect();
    inputs.iter().try_for_each(|input| check_type("input", input))?;
    graph.output.iter().try_for_each(|output| check_type("output", output))?;
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
    let folded = fold(ordered, weights, known, &declared, &outputs, opset, options.most_folded_bytes);

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
        let wanted =
            node.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{}_{index}", node.op()));
        node.name = Some(unused(&mut taken, &wanted));
    }
}

/// Loads the initializers and the tensors of `Constant` nodes, taking both out of the graph.
fn load_weights(graph: &mut GraphProto, files: &mut ExternalFiles) -> Result<BTreeMap<String, Weight>, OnnxError> {
    let mut weights = BTreeMap::new();
    for initializer in std::mem::take(&mut graph.initializer) {
        let name = initializer.name.clone().unwrap_or_default();
        let loaded = weight::load(&name, &initializer, files)?;
        weights.insert(name, loaded);
    }

    let outputs: HashSet<&str> = graph.output.iter().map(value_name).collect();
    let mut failure = None;
    graph.node.retain(|node| {
        let is_result = node.output.iter().any(|name| outputs.contains(name.as_str()));
        let (false, "Constant", [name]) = (is_result, node.op(), node.output.as_slice()) else { return true };
        let tensor = node.attribute("value").and_then(|value| value.t.as_ref());
        let loaded = match tensor {
            Some(tensor) => weight::load(name, tensor, files),
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

/// Whether what crosses the network's border is a tensor of a type that can.
fn check_type(role: &str, info: &ValueInfoProto) -> Result<(), OnnxError> {
    let Some(declared) = &info.r#type else { return Ok(()) };
    let element = declared.tensor_type.as_ref().and_then(|tensor| tensor.elem_type).unwrap_or(0);
    let is = if declared.sequence_type.is_some() {
        "which is a sequence,".to_owned()
    } else if declared.map_type.is_some() {
        "which is a map,".to_owned()
    } else if declared.optional_type.is_some() {
        "which is optional,".to_owned()
    } else if element != 0 && types::from_onnx(element).is_none() {
        format!("whose elements are {},", types::name(element))
    } else {
        return Ok(());
    };
    let what = format!("the {role} '{}', {is}", value_name(info));
    Err(OnnxError::Unsupported {
        what,
        remedy: ": frames consist of tensors of ordinary numbers, booleans or strings".to_owned(),
    })
}

fn declared_type(info: &ValueInfoProto) -> Option<millstream_graph::DataType> {
    types::from_onnx(info.r#type.as_ref()?.tensor_type.as_ref()?.elem_type?)
}

/// Types and fixed shapes that the file itself states for values.
fn declared_values(graph: &GraphProto) -> HashMap<String, Knowledge> {
    let known = |info: &ValueInfoProto| {
        let dims = info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref().map(|shape| &shape.dim);
        let sizes: Option<Vec<usize>> =
            dims.and_then(|dims| dims.iter().map(|dim| usize::try_from(dim.dim_value?).ok()).collect());
        Some((value_name(info).to_owned(), Knowledge::new(declared_type(info), sizes.map(Into::into).as_ref())))
    };
    graph.value_info.iter().chain(&graph.output).filter_map(known).collect()
}

/// The most bytes that a single value may have: more than any machine holds, and few enough for sums and products of
/// sizes.
const MOST_VALUE_BYTES: u64 = 1 << 40;

/// The final graph, with types, shapes and descriptors.
fn build(name: &str, inputs: &[String], outputs: &[&str], folded: Folded, header: Header) -> Result<Model, OnnxError> {
    let Folded { nodes, constant_nodes, weights, known } = folded;
    let mut builder = GraphBuilder::new(name);
    for input in inputs {
        let id = add_value(&mut builder, input, &known)?;
        builder.input(id);
    }

    let constants = ConstantTable { weights: &weights, nodes: &constant_nodes };
    let producers: HashMap<&str, &NodeProto> =
        nodes.iter().flat_map(|node| node.output.iter().map(move |output| (output.as_str(), node))).collect();
    for node in &nodes {
        let described = |name: &String| describe_input(name, &known, constants, &producers);
        let inputs: Vec<describe::Input> = node.input.iter().map(described).collect();
        let made = |name: &String| describe::Output {
            shape: known.get(name).and_then(Knowledge::shape),
            bytes: bytes(name, &known).unwrap_or(0),
        };
        let outputs: Vec<describe::Output> = node.output.iter().filter(|name| !name.is_empty()).map(made).collect();
        let (kind, work) = describe(node, &inputs, &outputs);
        let locality = Described { node, kind: &kind, inputs: &inputs, outputs: &outputs }.locality(constants);

        let mut reads = Vec::new();
        for name in operands(node).into_iter().filter(|name| !constants.contains(name)) {
            reads.push(add_value(&mut builder, name, &known)?);
        }
        let mut makes = Vec::new();
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            makes.push(add_value(&mut builder, name, &known)?);
        }

        let divisible = constants.of(node, &kind);
        let operator = NewOperator::new(node.name.clone().unwrap_or_default(), node.op(), kind);
        builder.operator(operator.reads(reads).makes(makes).constants(divisible).locality(locality).work(work))?;
    }

    for output in outputs {
        let id = add_value(&mut builder, output, &known)?;
        builder.output(id);
    }
    let graph: Graph = builder.build()?;
    Ok(Model::assemble(graph, nodes, constant_nodes, weights, header))
}

/// The value of this name, added with what is known of it if it is new.
fn add_value(builder: &mut GraphBuilder, name: &str, known: &HashMap<String, Knowledge>) -> Result<ValueId, OnnxError> {
    if let Some(id) = builder.find_value(name) {
        return Ok(id);
    }
    let knowledge = known.get(name);
    let shape = knowledge.and_then(Knowledge::shape);
    // Strings count as single bytes here.
    let element = knowledge.and_then(|known| known.data_type?.bytes()).unwrap_or(1) as u64;
    let bytes = shape.as_ref().map_or(0, |shape| shape.elements().saturating_mul(element));
    if bytes > MOST_VALUE_BYTES {
        let shape = shape.unwrap_or_default();
        return Err(OnnxError::TooLarge { value: name.to_owned(), shape, limit: MOST_VALUE_BYTES });
    }
    Ok(builder.value(name, knowledge.and_then(|known| known.data_type), shape)?)
}

fn bytes(name: &str, known: &HashMap<String, Knowledge>) -> Option<u64> {
    let known = known.get(name)?;
    Some(known.shape()?.elements().saturating_mul(known.data_type?.bytes()? as u64))
}

/// An input of a node. A dequantised one has the size of the integers: these are what runtimes read.
fn describe_input(
    name: &str,
    known: &HashMap<String, Knowledge>,
    constants: ConstantTable<'_>,
    producers: &HashMap<&str, &NodeProto>,
) -> describe::Input {
    let stored = constants.dequantized(name).and_then(|(_, node)| node.input.first());
    let producer = producers.get(name).filter(|node| node.op() == "DequantizeLinear");
    let integers = stored.or_else(|| producer?.input.first());
    describe::Input {
        shape: known.get(name).and_then(Knowledge::shape),
        bytes: bytes(integers.map_or(name, String::as_str), known).unwrap_or(0),
        is_constant: constants.contains(name),
        is_dequantized: integers.is_some(),
    }
}
