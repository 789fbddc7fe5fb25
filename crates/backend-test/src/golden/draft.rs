//! Networks of a few operators with results worked out by hand.

use millstream_backend::Tensor;
use millstream_graph::{DataType, Shape};
use millstream_onnx::{Attributes, Model, ModelBuilder, OnnxError, Weight};

/// A model, a frame, and what comes out.
pub(crate) struct Golden {
    pub(crate) name: &'static str,
    pub(crate) model: Result<Model, OnnxError>,
    pub(crate) frame: Vec<Tensor>,
    pub(crate) expected: Vec<Tensor>,
}

/// A model in the making, with its frame.
pub(crate) struct Draft {
    name: &'static str,
    pub(crate) builder: ModelBuilder,
    frame: Vec<Tensor>,
    expected: Vec<Tensor>,
}

impl Draft {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, builder: ModelBuilder::new(name), frame: Vec::new(), expected: Vec::new() }
    }

    /// An input, with the tensor that the frame has for it.
    pub(crate) fn input(&mut self, tensor: Tensor) -> String {
        let name = format!("x{}", self.frame.len());
        let sizes: Vec<String> = tensor.shape().dimensions().iter().map(usize::to_string).collect();
        let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
        let name = self.builder.typed_open_input(&name, tensor.data_type(), &sizes);
        self.frame.push(tensor);
        name
    }

    pub(crate) fn floats<const N: usize>(&mut self, shape: [usize; N], elements: &[f32]) -> String {
        self.input(f32s(shape, elements))
    }

    pub(crate) fn weight<const N: usize>(&mut self, shape: [usize; N], elements: &[f32]) -> String {
        self.builder.weight("weight", &Weight::from_f32(shape, elements.to_vec()))
    }

    pub(crate) fn bytes_weight<const N: usize>(
        &mut self,
        data_type: DataType,
        shape: [usize; N],
        data: &[u8],
    ) -> String {
        let weight = Weight { data_type, shape: shape.into(), data: data.to_vec().into() };
        self.builder.weight("weight", &weight)
    }

    /// Declares a value as a result, with the tensor that it must be.
    pub(crate) fn makes(mut self, value: &str, expected: Tensor) -> Self {
        self.builder.output(value);
        self.expected.push(expected);
        self
    }

    pub(crate) fn done(self) -> Golden {
        let Self { name, builder, frame, expected } = self;
        Golden { name, model: builder.build(), frame, expected }
    }

    /// One operator over the inputs and weights so far; its only result is expected.
    pub(crate) fn operator(
        mut self,
        op_type: &str,
        reads: &[&str],
        attributes: Attributes,
        expected: Tensor,
    ) -> Golden {
        let made = self.builder.node_with(op_type, reads, attributes);
        self.makes(&made, expected).done()
    }
}

pub(crate) fn f32s(shape: impl Into<Shape>, elements: &[f32]) -> Tensor {
    Tensor::from_f32(shape, elements.to_vec())
}
