//! Small models with results computed by hand.

mod elements;
mod integers;
mod maps;
mod moves;
mod products;

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

/// All of them.
pub(crate) fn all() -> Vec<Golden> {
    [maps::cases(), products::cases(), elements::cases(), moves::cases(), integers::cases()]
        .into_iter()
        .flatten()
        .collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Whoever adds an operator to the zoo adds a case here.
    #[test]
    fn every_operator_and_family_of_the_zoo_has_a_case() {
        let mut known = BTreeSet::new();
        for case in all() {
            let model = case.model.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let operators = model.graph().operators().iter();
            known.extend(operators.map(|operator| (operator.op_type.clone(), operator.kind.family())));
        }
        let mut missing = BTreeSet::new();
        for name in millstream_zoo::names() {
            let model = millstream_zoo::build(name).unwrap();
            for operator in model.graph().operators() {
                let key = (operator.op_type.clone(), operator.kind.family());
                if !known.contains(&key) {
                    missing.insert(key);
                }
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }
}
