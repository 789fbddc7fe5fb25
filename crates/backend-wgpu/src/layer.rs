//! What the device can do, operator by operator.

use millstream_graph::{DataType, Graph, Operator, OperatorId, OperatorKind, ValueId};
use millstream_onnx::{Model, NodeView, Weight};

use crate::shaders::{Activation, float};

/// What an operator is to this backend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Layer {
    /// A convolution with its padding before the image; or a matrix product, which is one of 1x1 pixels.
    Convolution { padding: [u64; 2], weight: String, bias: Option<String> },
    /// A product with a weight matrix; whether it is `[columns, inner]` already.
    Product { weight: String, bias: Option<String>, is_transposed: bool },
    /// A maximum or mean over a window.
    Pool { is_max: bool, window: Window, counts_padding: bool },
    /// Normalisation over neighbouring channels.
    LocalResponse { size: u64, alpha: f32, beta: f32, bias: f32 },
    /// A function of one element.
    Unary(Activation),
    /// `v * scale + shift` by channel: batch normalisation.
    ScaleShift { scale: Vec<f32>, shift: Vec<f32> },
    /// `a op b`, both values of one shape.
    Binary(char),
    /// `v op constant`, the constant the same for all or one per channel; or the other way round.
    Constant { operation: char, constant: Vec<f32>, is_left: bool },
    /// Joining along a dimension.
    Concat { axis: usize },
    /// The positions from this one on of a dimension, as many as the output has.
    Slice { axis: usize, start: usize },
    /// Softmax over the last dimension.
    Softmax,
    /// The same elements under another shape.
    Relabel,
}

/// A pooling window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    pub(crate) kernel: [u64; 2],
    pub(crate) strides: [u64; 2],
    pub(crate) padding: [u64; 2],
    pub(crate) dilations: [u64; 2],
}

/// How the device would run an operator; `None` if it can't.
pub(crate) fn layer(model: &Model, id: OperatorId) -> Option<Layer> {
    let description = Description::of(model, id)?;
    let Description { operator, node, .. } = description;
    let rank = description.before.len();

    match (&operator.kind, operator.op_type.as_str()) {
        (OperatorKind::Convolution(convolution), "Conv") if convolution.kernel.len() == 2 => description.convolution(),
        (OperatorKind::FullyConnected, "Gemm") if rank == 2 => description.product_and_sum(),
        (OperatorKind::FullyConnected, "MatMul") if rank == 2 => description.product(),
        (OperatorKind::Pool(_), "MaxPool" | "AveragePool") if rank == 4 => description.pool(),
        (OperatorKind::Pool(_), "GlobalAveragePool" | "GlobalMaxPool") if rank == 4 => Some(description.global_pool()),
        (_, "LRN") if rank == 4 => description.local_response(),
        (_, "BatchNormalization") => description.scale_shift(),
        (OperatorKind::Activation, op) => activation(op, node, &|place| description.weight(place)).map(Layer::Unary),
        (OperatorKind::Elementwise, op) => description.element_wise(op),
        (OperatorKind::Concat, _) => description.concat(),
        (OperatorKind::Softmax, "Softmax") => description.softmax(),
        (_, "Slice") if operator.inputs.len() == 1 => description.slice(),
        (_, "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout") if operator.inputs.len() == 1 => {
            Some(Layer::Relabel)
        }
        _ => None,
    }
}

/// An operator whose values are all 32-bit numbers of known shapes, with one output.
struct Description<'a> {
    model: &'a Model,
    operator: &'a Operator,
    node: NodeView<'a>,
    /// The names of all inputs, weights among them.
    names: Vec<&'a str>,
    /// Dimensions of the first input.
    before: Vec<usize>,
    /// Dimensions of the output.
    after: Vec<usize>,
}

impl<'a> Description<'a> {
    fn of(model: &'a Model, id: OperatorId) -> Option<Self> {
        let graph = model.graph();
        let operator = graph.operator(id);
        let [output] = operator.outputs.as_slice() else { return None };
        let is_plain = |&value: &ValueId| {
            let value = graph.value(value);
            value.data_type == Some(DataType::F32) && value.shape.as_ref().is_some_and(|shape| shape.elements() > 0)
        };
        if !operator.inputs.iter().chain([output]).all(is_plain) {
            return None;
        }

        let node = model.node(id);
        let before = dimensions(graph, *operator.inputs.first()?)?;
        let after = dimensions(graph, *output)?;
        Some(Self { model, operator, node, names: node.inputs().collect(), before, after })
    }

    fn name(&self, place: usize) -> Option<String> {
        self.names.get(place).filter(|name| !name.is_empty()).map(|name| (*name).to_owned())
    }

    /// The elements of an input that is a weight.
    fn weight(&self, place: usize) -> Option<Vec<f32>> {
        self.name(place).and_then(|name| floats(self.model, &name))
    }

    fn convolution(&self) -> Option<Layer> {
        self.weight(1)?;
        if self.name(2).is_some() {
            self.weight(2)?;
        }
        Some(Layer::Convolution { padding: padding(self.node)?, weight: self.name(1)?, bias: self.name(2) })
    }

    fn product_and_sum(&self) -> Option<Layer> {
        let is_one = |name: &str| self.node.float(name).is_none_or(|value| value == 1.0);
        let fits = is_one("alpha") && is_one("beta") && self.node.int("transA").unwrap_or(0) == 0;
        let columns = *self.after.last()?;
        let bias_fits = self.name(2).is_none() || self.weight(2)?.len() == columns;
        self.weight(1)?;

        let is_transposed = self.node.int("transB").unwrap_or(0) != 0;
        let layer = Layer::Product { weight: self.name(1)?, bias: self.name(2), is_transposed };
        (fits && bias_fits).then_some(layer)
    }

    fn product(&self) -> Option<Layer> {
        self.weight(1)?;
        Some(Layer::Product { weight: self.name(1)?, bias: None, is_transposed: false })
    }

    fn pool(&self) -> Option<Layer> {
        let counts_padding = self.node.int("count_include_pad").unwrap_or(0) != 0;
        let is_odd = counts_padding && self.node.int("ceil_mode").unwrap_or(0) != 0;
        let window = Window {
            kernel: pair(self.node.ints("kernel_shape"))?,
            strides: pair(self.node.ints("strides")).unwrap_or([1; 2]),
            padding: padding(self.node)?,
            dilations: pair(self.node.ints("dilations")).unwrap_or([1; 2]),
        };
        let is_max = self.operator.op_type == "MaxPool";
        (!is_odd).then_some(Layer::Pool { is_max, window, counts_padding })
    }

    fn global_pool(&self) -> Layer {
        let window = Window {
            kernel: [self.before[2] as u64, self.before[3] as u64],
            strides: [1; 2],
            padding: [0; 2],
            dilations: [1; 2],
        };
        Layer::Pool { is_max: self.operator.op_type == "GlobalMaxPool", window, counts_padding: false }
    }

    fn local_response(&self) -> Option<Layer> {
        Some(Layer::LocalResponse {
            size: u64::try_from(self.node.int("size")?).ok()?,
            alpha: self.node.float("alpha").unwrap_or(1e-4),
            beta: self.node.float("beta").unwrap_or(0.75),
            bias: self.node.float("bias").unwrap_or(1.0),
        })
    }

    fn scale_shift(&self) -> Option<Layer> {
        scale_shift(self.node, [self.weight(1)?, self.weight(2)?, self.weight(3)?, self.weight(4)?])
    }

    fn element_wise(&self, op: &str) -> Option<Layer> {
        let operation = match op {
            "Add" | "Sum" => '+',
            "Sub" => '-',
            "Mul" => '*',
            "Div" => '/',
            _ => return None,
        };
        match (self.names.len(), self.operator.inputs.as_slice()) {
            (2, &[left, right]) => {
                let graph = self.model.graph();
                (dimensions(graph, left) == dimensions(graph, right)).then_some(Layer::Binary(operation))
            }
            (2, [_]) => self.constant(operation),
            _ => None,
        }
    }

    fn constant(&self, operation: char) -> Option<Layer> {
        let place = usize::from(self.weight(0).is_none());
        let constant = self.weight(place)?;
        let shape = self.model.weights().get(self.names[place])?.shape.dimensions();
        let by_channel = per_channel(shape, &self.before);
        let fits = constant.len() == 1 || by_channel && self.before == self.after;
        fits.then_some(Layer::Constant { operation, constant, is_left: place == 0 })
    }

    fn concat(&self) -> Option<Layer> {
        let axis = self.node.int("axis")?;
        let axis = if axis < 0 { axis + self.after.len() as i64 } else { axis };
        let axis = usize::try_from(axis).ok().filter(|&axis| axis < self.after.len())?;
        (self.operator.inputs.len() == self.names.len()).then_some(Layer::Concat { axis })
    }

    /// Neighbouring positions along a single dimension.
    fn slice(&self) -> Option<Layer> {
        let rank = self.before.len();
        let bound = |place: usize, name: &str| match (self.node.ints(name), self.name(place)) {
            (Some(&[bound]), _) => Some(bound),
            (None, Some(constant)) => self.integer(&constant),
            _ => None,
        };
        let counted = |value: i64, size: usize| if value < 0 { value + size as i64 } else { value };
        let axis = usize::try_from(counted(bound(3, "axes")?, rank)).ok().filter(|&axis| axis < rank)?;
        let size = self.before[axis];
        let start = usize::try_from(counted(bound(1, "starts")?, size)).ok()?;
        // One after the other, as many as there are.
        let is_forward = self.name(4).is_none_or(|steps| self.integer(&steps) == Some(1));
        let fits = self.after.len() == rank && start.checked_add(*self.after.get(axis)?)? <= size;
        (is_forward && fits).then_some(Layer::Slice { axis, start })
    }

    /// A constant of one integer.
    fn integer(&self, name: &str) -> Option<i64> {
        self.model.weights().get(name).and_then(Weight::integers).filter(|values| values.len() == 1)?.first().copied()
    }

    fn softmax(&self) -> Option<Layer> {
        let axis = self.node.int("axis").unwrap_or(-1);
        let is_last = axis == -1 || axis == self.after.len() as i64 - 1;
        is_last.then_some(Layer::Softmax)
    }
}

fn dimensions(graph: &Graph, value: ValueId) -> Option<Vec<usize>> {
    graph.value(value).shape.as_ref().map(|shape| shape.dimensions().to_vec())
}

fn floats(model: &Model, name: &str) -> Option<Vec<f32>> {
    model.weights().get(name).and_then(Weight::floats)
}

/// Whether a constant of this shape has one element per channel of a value of that shape.
fn per_channel(constant: &[usize], value: &[usize]) -> bool {
    let Some(&channels) = value.get(1) else { return false };
    let Some(axis) = (1 + constant.len()).checked_sub(value.len()) else { return false };
    constant.iter().enumerate().all(|(index, &size)| size == if index == axis { channels } else { 1 })
}

fn pair(values: Option<&[i64]>) -> Option<[u64; 2]> {
    let [first, second] = values? else { return None };
    Some([u64::try_from(*first).ok()?, u64::try_from(*second).ok()?])
}

/// Padding before the image; what comes after follows from the output's size.
fn padding(node: NodeView<'_>) -> Option<[u64; 2]> {
    match (node.text("auto_pad").unwrap_or("NOTSET"), node.ints("pads")) {
        ("NOTSET" | "VALID", None) => Some([0; 2]),
        ("NOTSET", Some([top, left, _, _])) => pair(Some(&[*top, *left])),
        _ => None,
    }
}

/// `(v - mean) / sqrt(variance + epsilon) * gamma + beta` as one product and one sum.
fn scale_shift(node: NodeView<'_>, [gamma, beta, mean, variance]: [Vec<f32>; 4]) -> Option<Layer> {
    let epsilon = node.float("epsilon").unwrap_or(1e-5);
    let scale: Vec<f32> =
        gamma.iter().zip(&variance).map(|(gamma, variance)| gamma / (variance + epsilon).sqrt()).collect();
    let shift = beta.iter().zip(&mean).zip(&scale).map(|((beta, mean), scale)| beta - mean * scale).collect();
    Some(Layer::ScaleShift { scale, shift })
}

fn activation(op: &str, node: NodeView<'_>, weight: &dyn Fn(usize) -> Option<Vec<f32>>) -> Option<Activation> {
    let parameter = |name: &str, default: f32| float(node.float(name).unwrap_or(default));
    let bound = |place: usize, name: &str| match weight(place).as_deref() {
        Some([bound]) => Some(*bound),
        Some(_) => None,
        None => node.float(name),
    };
    let text = match op {
        "Relu" => "max(v, 0.0)".to_owned(),
        "LeakyRelu" => format!("select(v * {}, v, v >= 0.0)", parameter("alpha", 0.01)),
        "Clip" => {
            let low = bound(1, "min").map_or("v".to_owned(), |low| format!("max(v, {})", float(low)));
            bound(2, "max").map_or(low.clone(), |high| format!("min({low}, {})", float(high)))
        }
        "Sigmoid" => "1.0 / (1.0 + exp(-v))".to_owned(),
        "Tanh" => "tanh(clamp(v, -15.0, 15.0))".to_owned(),
        "HardSigmoid" => {
            format!("clamp(v * {} + {}, 0.0, 1.0)", parameter("alpha", 0.2), parameter("beta", 0.5))
        }
        "HardSwish" => "v * clamp(v / 6.0 + 0.5, 0.0, 1.0)".to_owned(),
        "Elu" => format!("select({} * (exp(v) - 1.0), v, v >= 0.0)", parameter("alpha", 1.0)),
        "Abs" => "abs(v)".to_owned(),
        "Neg" => "-v".to_owned(),
        "Sqrt" => "sqrt(v)".to_owned(),
        "Exp" => "exp(v)".to_owned(),
        _ => return None,
    };
    Some(Activation(text))
}
