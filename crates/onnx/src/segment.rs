//! Sub-models: segments, and parts of them by channels or rows, with weights inside or beside the file.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use millstream_graph::{Along, OperatorId, Portion, Value, ValueId};
use prost::Message;

use crate::error::OnnxError;
use crate::model::Model;
use crate::names::operands;
use crate::proto::{
    DimensionProto, EXTERNAL, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};
use crate::types::to_onnx;
use crate::weight::Weight;

/// Weights below this size are always written into the sub-model: runtimes want to see shapes and scales.
const INLINE_BYTES: usize = 1024;

/// Where a sub-model keeps its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightStorage {
    /// In its own bytes.
    Inline,
    /// Outside: large weights are declared with a placeholder, and whoever loads the sub-model supplies them by name.
    External,
}

/// A part of a model as an ONNX model of its own.
#[derive(Debug, Clone)]
pub struct SubModel {
    /// The encoded model.
    pub bytes: Vec<u8>,
    /// Its inputs, in order.
    pub inputs: Vec<ValueId>,
    /// Its outputs, in order.
    pub outputs: Vec<ValueId>,
    /// The weights that the loader must supply, sorted by name.
    pub external_weights: Vec<(String, Weight)>,
}

/// Another size in one dimension of what is made.
#[derive(Debug, Clone, Copy)]
struct Resizing {
    axis: usize,
    size: usize,
}

impl Model {
    /// Writes `operators`, given in the order in which they run, as a model of their own. Its inputs and outputs are
    /// the values that cross the border of the set.
    ///
    /// # Errors
    /// [`OnnxError::UntypedValue`] if a value without a known element type crosses the border, and
    /// [`OnnxError::Unsupported`] if the sub-model would exceed what the format can hold.
    pub fn segment(&self, operators: &[OperatorId], storage: WeightStorage) -> Result<SubModel, OnnxError> {
        let mut nodes: Vec<NodeProto> = Vec::with_capacity(operators.len());
        let mut weights: BTreeMap<&str, &Weight> = BTreeMap::new();
        let mut included = HashSet::new();
        for operator in operators {
            let node = &self.nodes[operator.index()];
            for name in operands(node) {
                self.include_constant(name, &mut nodes, &mut weights, &mut included);
            }
            nodes.push(node.clone());
        }
        let weights = weights.into_iter().map(|(name, weight)| (name.to_owned(), Cow::Borrowed(weight))).collect();
        self.assemble_sub_model(operators, nodes, weights, None, storage)
    }

    /// Writes the part of some operators that makes the output channels `channels` of the first one: the others follow
    /// it channel by channel. The inputs are whole, the output has the part's channels only.
    ///
    /// # Errors
    /// As [`Model::segment`], and [`OnnxError::Unsupported`] if the operators can't be divided there.
    pub fn segment_part(
        &self,
        operators: &[OperatorId],
        channels: &Range<usize>,
        storage: WeightStorage,
    ) -> Result<SubModel, OnnxError> {
        let part = self.part(operators, channels)?;
        let weights = part.weights.into_iter().collect();
        self.assemble_sub_model(
            operators,
            part.nodes,
            weights,
            Some(Resizing { axis: part.units.axis, size: channels.len() }),
            storage,
        )
    }

    /// Writes the part of some operators that makes some rows, columns or heads of what the last one makes: a tile of
    /// them. The inputs are whole, the output has the tile's positions only.
    ///
    /// # Errors
    /// As [`Model::segment`], and [`OnnxError::Unsupported`] if the operators can't be divided there.
    pub fn segment_tile(
        &self,
        operators: &[OperatorId],
        portion: &Portion,
        storage: WeightStorage,
    ) -> Result<SubModel, OnnxError> {
        let tile = self.tile(operators, portion)?;
        let weights = tile.weights.into_iter().collect();
        let resized = Some(Resizing { axis: tile.axis, size: tile.size });
        self.assemble_sub_model(operators, tile.nodes, weights, resized, storage)
    }

    /// [`Model::segment`], or [`Model::segment_part`] or [`Model::segment_tile`] where only a part is made.
    ///
    /// # Errors
    /// As of these.
    pub fn sub_model(
        &self,
        operators: &[OperatorId],
        portion: Option<&Portion>,
        storage: WeightStorage,
    ) -> Result<SubModel, OnnxError> {
        match portion {
            None => self.segment(operators, storage),
            Some(Portion { along: Along::Channels, range }) => self.segment_part(operators, range, storage),
            Some(tile) => self.segment_tile(operators, tile, storage),
        }
    }

    /// A model of these nodes and weights, whose outputs have a different size in one dimension if `resized` says so.
    fn assemble_sub_model(
        &self,
        operators: &[OperatorId],
        nodes: Vec<NodeProto>,
        weights: BTreeMap<String, Cow<'_, Weight>>,
        resized: Option<Resizing>,
        storage: WeightStorage,
    ) -> Result<SubModel, OnnxError> {
        let boundary = self.graph.boundary(operators);
        let Initializers { inline: initializer, external: external_weights } = initializers(weights, storage)?;

        // Runtimes check the branches of conditions against fixed shapes, those that are never taken for them as well.
        let has_branches = nodes.iter().any(has_nested_graph);
        let input = self.interface(&boundary.inputs, None, has_branches)?;
        let output = self.interface(&boundary.outputs, resized, has_branches)?;

        let proto = ModelProto {
            ir_version: self.header.ir_version,
            producer_name: Some("millstream".to_owned()),
            opset_import: self.header.opset_import.clone(),
            functions: self.header.functions.clone(),
            graph: Some(GraphProto {
                node: nodes,
                name: Some(self.graph.name().to_owned()),
                initializer,
                input,
                output,
                ..GraphProto::default()
            }),
            ..ModelProto::default()
        };
        Ok(SubModel {
            bytes: proto.encode_to_vec(),
            inputs: boundary.inputs,
            outputs: boundary.outputs,
            external_weights,
        })
    }

    /// Inputs or outputs of a sub-model, with a different size in one dimension if `resized` says so, or without
    /// shapes.
    fn interface(
        &self,
        ids: &[ValueId],
        resized: Option<Resizing>,
        has_branches: bool,
    ) -> Result<Vec<ValueInfoProto>, OnnxError> {
        let info = |&id: &ValueId| {
            let mut value = self.graph.value(id).clone();
            if has_branches {
                value.shape = None;
            }
            if let (Some(Resizing { axis, size }), Some(shape)) = (resized, &value.shape) {
                let mut dimensions = shape.dimensions().to_vec();
                if let Some(dimension) = dimensions.get_mut(axis) {
                    *dimension = size;
                }
                value.shape = Some(dimensions.into());
            }
            value_info(&value)
        };
        ids.iter().map(info).collect()
    }

    /// Adds what a name stands for, if it is a constant: a weight, or the nodes that compute it, those before it first.
    /// A walk with a stack of its own: chains of constants may be long.
    pub(crate) fn include_constant<'a>(
        &'a self,
        name: &'a str,
        nodes: &mut Vec<NodeProto>,
        weights: &mut BTreeMap<&'a str, &'a Weight>,
        included: &mut HashSet<&'a str>,
    ) {
        enum Step<'a> {
            Visit(&'a str),
            Add(&'a NodeProto),
        }
        let mut open = vec![Step::Visit(name)];
        while let Some(step) = open.pop() {
            match step {
                Step::Add(node) => nodes.push(node.clone()),
                Step::Visit(name) => {
                    if let Some(weight) = self.weights.get(name) {
                        weights.insert(name, weight);
                    } else if let Some(node) = self.constant_nodes.get(name)
                        && included.insert(node.name.as_deref().unwrap_or_default())
                    {
                        open.push(Step::Add(node));
                        open.extend(operands(node).into_iter().map(Step::Visit));
                    }
                }
            }
        }
    }
}

/// Weights as a sub-model holds them.
struct Initializers {
    /// Within the model; those of `external` as placeholders.
    inline: Vec<TensorProto>,
    /// Beside the model.
    external: Vec<(String, Weight)>,
}

fn initializers(weights: BTreeMap<String, Cow<'_, Weight>>, storage: WeightStorage) -> Result<Initializers, OnnxError> {
    let mut external = Vec::new();
    let mut inline_bytes = 0;
    let proto = |(name, weight): (String, Cow<'_, Weight>)| {
        if storage == WeightStorage::External && weight.data.len() >= INLINE_BYTES {
            let proto = placeholder(&name, &weight);
            external.push((name, weight.into_owned()));
            proto
        } else {
            inline_bytes += weight.data.len();
            weight.to_proto(&name)
        }
    };
    let inline = weights.into_iter().map(proto).collect();

    if inline_bytes >= i32::MAX as usize {
        let what = format!("an ONNX file of {inline_bytes} bytes");
        let remedy = ": keep the weights outside it, the format ends at 2 GiB".to_owned();
        return Err(OnnxError::Unsupported { what, remedy });
    }
    Ok(Initializers { inline, external })
}

fn has_nested_graph(node: &NodeProto) -> bool {
    node.attribute.iter().any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty())
}

fn placeholder(name: &str, weight: &Weight) -> TensorProto {
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    TensorProto {
        data_location: Some(EXTERNAL),
        external_data: vec![
            entry("location", "supplied by the loader".to_owned()),
            entry("offset", "0".to_owned()),
            entry("length", weight.data.len().to_string()),
        ],
        ..weight.header(name)
    }
}

fn value_info(value: &Value) -> Result<ValueInfoProto, OnnxError> {
    let data_type = value.data_type.ok_or_else(|| OnnxError::UntypedValue { value: value.name.clone() })?;
    let shape = value.shape.as_ref().map(|shape| TensorShapeProto {
        dim: shape
            .dimensions()
            .iter()
            .map(|&size| DimensionProto { dim_value: Some(size as i64), dim_param: None })
            .collect(),
    });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(to_onnx(data_type)), shape });
    Ok(ValueInfoProto {
        name: Some(value.name.clone()),
        r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
    })
}
