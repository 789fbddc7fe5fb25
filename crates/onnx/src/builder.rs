//! Models made from code, node by node.

use millstream_graph::DataType;

use crate::error::OnnxError;
use crate::model::Model;
use crate::options::ReadOptions;
use crate::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use crate::read;
use crate::types::to_onnx;
use crate::weight::Weight;

/// Operator set that built models declare.
const BUILT_OPSET: i64 = 17;
/// File format version that goes with it.
const BUILT_IR_VERSION: i64 = 8;

/// Makes a model from code. Values are named after the operators that make them: `Relu_7`.
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    graph: GraphProto,
    opset: i64,
}

/// Attributes of a node: `Attributes::new().int("group", 2).ints("pads", &[1, 1, 1, 1])`.
#[derive(Debug, Clone, Default)]
pub struct Attributes(Vec<AttributeProto>);

impl Attributes {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an integer.
    #[must_use]
    pub fn int(mut self, name: &str, value: i64) -> Self {
        self.0.push(AttributeProto::from_int(name, value));
        self
    }

    /// Adds a list of integers.
    #[must_use]
    pub fn ints(mut self, name: &str, values: &[i64]) -> Self {
        self.0.push(AttributeProto::from_ints(name, values));
        self
    }

    /// Adds a float.
    #[must_use]
    pub fn float(mut self, name: &str, value: f32) -> Self {
        self.0.push(AttributeProto::from_float(name, value));
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.push(AttributeProto::from_text(name, value));
        self
    }
}

impl ModelBuilder {
    /// An empty model of this name.
    pub fn new(name: &str) -> Self {
        Self { graph: GraphProto { name: Some(name.to_owned()), ..GraphProto::default() }, opset: BUILT_OPSET }
    }

    /// Declares another operator set than 17.
    #[must_use]
    pub fn opset(mut self, version: i64) -> Self {
        self.opset = version;
        self
    }

    /// Adds an f32 input and returns its name.
    pub fn input<const N: usize>(&mut self, name: &str, shape: [usize; N]) -> String {
        let dimensions = shape.map(|size| DimensionProto { dim_value: Some(size as i64), dim_param: None });
        self.typed_input(name, DataType::F32, dimensions.to_vec())
    }

    /// Adds an f32 input with named, open dimensions and returns its name. A text that is a number is a fixed size.
    pub fn open_input(&mut self, name: &str, shape: &[&str]) -> String {
        self.typed_open_input(name, DataType::F32, shape)
    }

    /// The same with elements of any type.
    pub fn typed_open_input(&mut self, name: &str, data_type: DataType, shape: &[&str]) -> String {
        let dimension = |text: &&str| match text.parse::<i64>() {
            Ok(size) => DimensionProto { dim_value: Some(size), dim_param: None },
            Err(_) => DimensionProto { dim_value: None, dim_param: Some((*text).to_owned()) },
        };
        self.typed_input(name, data_type, shape.iter().map(dimension).collect())
    }

    fn typed_input(&mut self, name: &str, data_type: DataType, dim: Vec<DimensionProto>) -> String {
        let tensor_type =
            Some(TensorTypeProto { elem_type: Some(to_onnx(data_type)), shape: Some(TensorShapeProto { dim }) });
        let r#type = Some(TypeProto { tensor_type, ..TypeProto::default() });
        self.graph.input.push(ValueInfoProto { name: Some(name.to_owned()), r#type });
        name.to_owned()
    }

    /// Adds a weight under a name derived from `hint` and returns the name.
    pub fn weight(&mut self, hint: &str, weight: &Weight) -> String {
        let name = format!("{hint}_{}", self.graph.initializer.len());
        self.graph.initializer.push(weight.to_proto(&name));
        name
    }

    /// Adds an initializer as it stands in a file.
    #[doc(hidden)]
    pub fn initializer(&mut self, initializer: TensorProto) {
        self.graph.initializer.push(initializer);
    }

    /// Adds a node without attributes and returns the name of its output.
    pub fn node(&mut self, op_type: &str, inputs: &[&str]) -> String {
        self.node_with(op_type, inputs, Attributes::new())
    }

    /// Adds a node and returns the name of its output.
    pub fn node_with(&mut self, op_type: &str, inputs: &[&str], attributes: Attributes) -> String {
        let name = format!("{op_type}_{}", self.graph.node.len());
        self.named_node(&name, op_type, inputs, &[&name], attributes);
        name
    }

    /// Adds a node with several outputs and returns their names.
    pub fn node_with_outputs<const N: usize>(&mut self, op_type: &str, inputs: &[&str]) -> [String; N] {
        let name = format!("{op_type}_{}", self.graph.node.len());
        let outputs: [String; N] = std::array::from_fn(|index| format!("{name}.{index}"));
        self.named_node(&name, op_type, inputs, &outputs.each_ref().map(String::as_str), Attributes::new());
        outputs
    }

    /// Adds a node whose names the caller chooses; an empty input name leaves an optional input out.
    pub fn named_node(&mut self, name: &str, op_type: &str, inputs: &[&str], outputs: &[&str], attributes: Attributes) {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        self.graph.node.push(NodeProto {
            name: Some(name.to_owned()),
            op_type: Some(op_type.to_owned()),
            input: owned(inputs),
            output: owned(outputs),
            attribute: attributes.0,
            ..NodeProto::default()
        });
    }

    /// Declares a value as a result.
    pub fn output(&mut self, name: &str) {
        self.graph.output.push(ValueInfoProto { name: Some(name.to_owned()), r#type: None });
    }

    /// The model as it would stand in a file.
    #[doc(hidden)]
    pub fn into_proto(self) -> ModelProto {
        let version = OperatorSetIdProto { domain: None, version: Some(self.opset) };
        ModelProto {
            ir_version: Some(BUILT_IR_VERSION),
            opset_import: vec![version],
            graph: Some(self.graph),
            ..ModelProto::default()
        }
    }

    /// Checks what was added and describes it.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn build(self) -> Result<Model, OnnxError> {
        self.build_with(&ReadOptions::default())
    }

    /// The same with sizes for open dimensions.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn build_with(self, options: &ReadOptions) -> Result<Model, OnnxError> {
        read::model(self.into_proto(), options, None)
    }
}
