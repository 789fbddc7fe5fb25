//! What is known of a value before the network runs.

use millstream_graph::{DataType, Shape};
use rten_shape_inference::{Constant, SymExpr, SymTensor};

use crate::quiet::without_panic;
use crate::weight::Weight;

/// Integer tensors up to this many elements take part in shape arithmetic.
pub(crate) const LARGEST_SHAPE_VALUE: u64 = 64;

/// What is known about a value.
#[derive(Debug, Clone)]
pub(crate) struct Knowledge {
    pub(crate) data_type: Option<DataType>,
    pub(crate) shape: Option<Shape>,
    /// The same for the rules, which count in 32 bits, with elements where they are known.
    pub(crate) tensor: SymTensor,
}

impl Knowledge {
    pub(crate) fn new(data_type: Option<DataType>, shape: Option<&Shape>) -> Self {
        let is_small = |shape: &&Shape| shape.elements() <= i32::MAX as u64 && fits(shape);
        let tensor = match shape.filter(is_small) {
            Some(shape) => SymTensor::from_fixed_shape(shape.dimensions()),
            None => SymTensor::unknown("not declared, or too large for the rules"),
        };
        Self { data_type, shape: shape.cloned(), tensor }
    }

    pub(crate) fn of_weight(weight: &Weight) -> Self {
        let known = Self::new(Some(weight.data_type), Some(&weight.shape));
        Self { tensor: weight_values(weight).unwrap_or(known.tensor), ..known }
    }

    pub(crate) fn shape(&self) -> Option<Shape> {
        self.shape.clone()
    }

    /// The value itself, where shape arithmetic determines it.
    pub(crate) fn constant(&self) -> Option<Weight> {
        let constant = without_panic(|| self.tensor.to_constant())??;
        let values: Vec<i64> = constant.values().iter().map(|&value| i64::from(value)).collect();
        let shape = match constant {
            Constant::Scalar(_) => Shape::default(),
            Constant::Vector(_) => Shape::from([values.len()]),
        };
        match self.data_type? {
            DataType::I64 => Some(Weight::from_i64(shape, &values)),
            DataType::I32 => {
                let data = constant.values().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into();
                Some(Weight { data_type: DataType::I32, shape, data })
            }
            _ => None,
        }
    }
}

/// Whether every dimension is one that the rules can count.
pub(crate) fn fits(shape: &Shape) -> bool {
    shape.dimensions().iter().all(|&size| i32::try_from(size).is_ok())
}

pub(crate) fn weight_values(weight: &Weight) -> Option<SymTensor> {
    if weight.shape.dimensions().len() > 1 || weight.shape.elements() > LARGEST_SHAPE_VALUE {
        return None;
    }
    let whole = |value: f32| (value.fract() == 0.0 && value.abs() < 1e6).then_some(value as i64);
    let values = match weight.integers() {
        Some(values) => values,
        None => weight.floats()?.into_iter().map(whole).collect::<Option<_>>()?,
    };
    let limit = i64::from(i32::MAX);
    let mut expressions = values.iter().map(|&value| SymExpr::Value(value.clamp(-limit, limit) as i32));
    if weight.shape.dimensions().is_empty() {
        expressions.next().map(SymTensor::from_scalar)
    } else {
        Some(SymTensor::from_vec(expressions.collect()))
    }
}

pub(crate) fn fixed_shape(tensor: &SymTensor) -> Option<Shape> {
    let fixed = |size: SymExpr| match size.simplify() {
        SymExpr::Value(size) => usize::try_from(size).ok(),
        _ => None,
    };
    Some(Shape::from(tensor.shape()?.map(fixed).collect::<Option<Vec<usize>>>()?))
}
