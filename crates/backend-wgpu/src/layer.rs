//! What the device can do, operator by operator.

use millstream_graph::{DataType, OperatorId, OperatorKind, ValueId};
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
    let graph = model.graph();
    let operator = graph.operator(id);
    let node = model.node(id);
    let [output] = operator.outputs.as_slice() else { return None };
    let is_plain = |&value: &ValueId| {
        let value = graph.value(value);
        value.data_type == Some(DataType::F32) && value.shape.as_ref().is_some_and(|shape| shape.elements() > 0)
    };
    if !operator.inputs.iter().chain([output]).all(is_plain) || operator.inputs.is_empty() {
        return None;
    }
    let dimensions = |value: &ValueId| graph.value(*value).shape.as_ref().map(|shape| shape.dimensions().to_vec());
    let before = dimensions(operator.inputs.first()?)?;
    let after = dimensions(output)?;
    let names: Vec<&str> = node.inputs().collect();
    let weight = |place: usize| names.get(place).filter(|name| !name.is_empty()).and_then(|name| floats(model, name));
    let name = |place: usize| names.get(place).filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
    match (&operator.kind, operator.op_type.as_str()) {
        (OperatorKind::Convolution(convolution), "Conv") if convolution.kernel.len() == 2 => {
            weight(1)?;
            if name(2).is_some() {
                weight(2)?;
            }
            Some(Layer::Convolution { padding: padding(node)?, weight: name(1)?, bias: name(2) })
        }
        (OperatorKind::FullyConnected, "Gemm") if before.len() == 2 => {
            let plain = |name: &str| node.float(name).is_none_or(|value| value == 1.0);
            let fits = plain("alpha") && plain("beta") && node.int("transA").unwrap_or(0) == 0;
            let columns = *after.last()?;
            let bias_fits = name(2).is_none() || weight(2)?.len() == columns;
            weight(1)?;
            let is_transposed = node.int("transB").unwrap_or(0) != 0;
            (fits && bias_fits).then(|| Some(Layer::Product { weight: name(1)?, bias: name(2), is_transposed }))?
        }
        (OperatorKind::FullyConnected, "MatMul") if before.len() == 2 => {
            weight(1)?;
            Some(Layer::Product { weight: name(1)?, bias: None, is_transposed: false })
        }
        (OperatorKind::Pool(_), op @ ("MaxPool" | "AveragePool")) if before.len() == 4 => {
            let counts_padding = node.int("count_include_pad").unwrap_or(0) != 0;
            let is_odd = counts_padding && node.int("ceil_mode").unwrap_or(0) != 0;
            let window = Window {
                kernel: pair(node.ints("kernel_shape"))?,
                strides: pair(node.ints("strides")).unwrap_or([1; 2]),
                padding: padding(node)?,
                dilations: pair(node.ints("dilations")).unwrap_or([1; 2]),
            };
            (!is_odd).then_some(Layer::Pool { is_max: op == "MaxPool", window, counts_padding })
        }
        (OperatorKind::Pool(_), op @ ("GlobalAveragePool" | "GlobalMaxPool")) if before.len() == 4 => {
            let window = Window {
                kernel: [before[2] as u64, before[3] as u64],
                strides: [1; 2],
                padding: [0; 2],
                dilations: [1; 2],
            };
            Some(Layer::Pool { is_max: op == "GlobalMaxPool", window, counts_padding: false })
        }
        (_, "LRN") if before.len() == 4 => Some(Layer::LocalResponse {
            size: u64::try_from(node.int("size")?).ok()?,
            alpha: node.float("alpha").unwrap_or(1e-4),
            beta: node.float("beta").unwrap_or(0.75),
            bias: node.float("bias").unwrap_or(1.0),
        }),
        (_, "BatchNormalization") => scale_shift(node, [weight(1)?, weight(2)?, weight(3)?, weight(4)?]),
        (OperatorKind::Activation, op) => activation(op, node, &weight).map(Layer::Unary),
        (OperatorKind::Elementwise, op) => {
            let operation = match op {
                "Add" | "Sum" => '+',
                "Sub" => '-',
                "Mul" => '*',
                "Div" => '/',
                _ => return None,
            };
            match (names.len(), operator.inputs.as_slice()) {
                (2, [left, right]) => (dimensions(left) == dimensions(right)).then_some(Layer::Binary(operation)),
                (2, [_]) => {
                    let place = usize::from(weight(0).is_none());
                    let constant = weight(place)?;
                    let shape = model.weights().get(names[place])?.shape.dimensions();
                    let by_channel = per_channel(shape, &before);
                    let fits = constant.len() == 1 || by_channel && before == after;
                    fits.then_some(Layer::Constant { operation, constant, is_left: place == 0 })
                }
                _ => None,
            }
        }
        (OperatorKind::Concat, _) => {
            let axis = node.int("axis")?;
            let axis = if axis < 0 { axis + after.len() as i64 } else { axis };
            let axis = usize::try_from(axis).ok().filter(|&axis| axis < after.len())?;
            (operator.inputs.len() == names.len()).then_some(Layer::Concat { axis })
        }
        (OperatorKind::Softmax, "Softmax") => {
            let axis = node.int("axis").unwrap_or(-1);
            let is_last = axis == -1 || axis == after.len() as i64 - 1;
            is_last.then_some(Layer::Softmax)
        }
        (_, "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout") if operator.inputs.len() == 1 => {
            Some(Layer::Relabel)
        }
        _ => None,
    }
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
