//! What the tiny backend computes: a few operators on floats, one element after the other.

use std::collections::HashMap;
use std::ops::Range;

use millstream_backend::{Segment, Tensor};
use millstream_graph::{DataType, OperatorId, OperatorKind, Shape};
use millstream_onnx::{Model, NodeView};

const KNOWN: [&str; 14] = [
    "Conv",
    "Relu",
    "Gemm",
    "MatMul",
    "Concat",
    "GlobalAveragePool",
    "Flatten",
    "Add",
    "Sub",
    "Mul",
    "MaxPool",
    "Clip",
    "Softmax",
    "BatchNormalization",
];

/// Whether it computes an operator.
pub(crate) fn is_known(model: &Model, id: OperatorId) -> bool {
    let graph = model.graph();
    let operator = graph.operator(id);
    let is_float = |&value: &_| graph.value(value).data_type == Some(DataType::F32);
    let all_float = operator.inputs.iter().chain(&operator.outputs).all(is_float);
    let is_constant = |name: &str| name.is_empty() || model.weights().contains_key(name);
    let is_plain = match &operator.kind {
        OperatorKind::Convolution(_) | OperatorKind::FullyConnected => {
            model.node(id).inputs().skip(1).all(is_constant) && model.node(id).int("transA").is_none()
        }
        OperatorKind::MatrixMultiplication => false,
        _ => true,
    };
    all_float && is_plain && KNOWN.contains(&operator.op_type.as_str())
}

/// A dense array while it is computed.
#[derive(Clone)]
struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

/// The results of a segment, all channels of them.
pub(crate) fn compute(model: &Model, segment: &Segment, inputs: &[Tensor], has_padding: bool) -> Option<Vec<Tensor>> {
    let graph = model.graph();
    let mut values: HashMap<&str, Array> = HashMap::new();
    for (&id, tensor) in segment.boundary.inputs.iter().zip(inputs) {
        values.insert(&graph.value(id).name, array(tensor)?);
    }
    for &id in &segment.operators {
        let operator = graph.operator(id);
        let node = model.node(id);
        let read = |name: &str| {
            let constant = || {
                let weight = model.weights().get(name)?;
                Some(Array { shape: weight.shape.dimensions().to_vec(), data: weight.floats()? })
            };
            values.get(name).cloned().or_else(constant)
        };
        let reads: Option<Vec<Array>> = node.inputs().map(read).collect();
        let output = graph.value(*operator.outputs.first()?);
        let shape = output.shape.as_ref()?.dimensions().to_vec();
        let data = operate(operator.op_type.as_str(), node, &reads?, &shape, has_padding)?;
        values.insert(&output.name, Array { shape, data });
    }
    let output = |&id: &_| {
        let made = values.get(graph.value(id).name.as_str())?;
        Some(Tensor::from_f32(made.shape.clone(), made.data.clone()))
    };
    segment.boundary.outputs.iter().map(output).collect()
}

fn array(tensor: &Tensor) -> Option<Array> {
    let bytes = tensor.bytes()?;
    let data = bytes.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
    Some(Array { shape: tensor.shape().dimensions().to_vec(), data })
}

fn operate(op: &str, node: NodeView<'_>, reads: &[Array], shape: &[usize], has_padding: bool) -> Option<Vec<f32>> {
    let first = reads.first()?;

    Some(match op {
        "Relu" => first.data.iter().map(|value| value.max(0.0)).collect(),
        "Clip" => first.data.iter().map(|value| value.clamp(reads[1].data[0], reads[2].data[0])).collect(),
        "Softmax" => softmax(first, *shape.last()?),
        "Flatten" => first.data.clone(),
        "BatchNormalization" => normalised(node.float("epsilon").unwrap_or(1e-5), reads),
        "Add" => by_element(reads, shape, |left, right| left + right),
        "Sub" => by_element(reads, shape, |left, right| left - right),
        "Mul" => by_element(reads, shape, |left, right| left * right),
        "Conv" => convolution(node, reads, shape, has_padding),
        "MaxPool" => largest(node, first, shape),
        "GlobalAveragePool" => {
            let size = first.shape[2..].iter().product();
            first.data.chunks(size).map(|channel| channel.iter().sum::<f32>() / size as f32).collect()
        }
        "Gemm" | "MatMul" => product(node, reads, shape),
        "Concat" => {
            let axis = node.int("axis")?;
            let axis = if axis < 0 { axis + shape.len() as i64 } else { axis } as usize;
            let rows: usize = shape[..axis].iter().product();
            let row = |array: &Array, row: usize| {
                let length = array.data.len() / rows;
                array.data[row * length..(row + 1) * length].to_vec()
            };
            (0..rows).flat_map(|index| reads.iter().flat_map(move |array| row(array, index))).collect()
        }
        _ => return None,
    })
}

fn normalised(epsilon: f32, reads: &[Array]) -> Vec<f32> {
    let [image, scale, shift, mean, variance] = reads else { return Vec::new() };
    let size: usize = image.shape[2..].iter().product();
    let channel = |index: usize| index / size % image.shape[1];
    let value = |(index, value): (usize, &f32)| {
        let channel = channel(index);
        let deviation = (variance.data[channel] + epsilon).sqrt();
        (value - mean.data[channel]) / deviation * scale.data[channel] + shift.data[channel]
    };
    image.data.iter().enumerate().map(value).collect()
}

fn softmax(rows: &Array, length: usize) -> Vec<f32> {
    let row = |row: &[f32]| {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f32> = row.iter().map(|value| (value - most).exp()).collect();
        let sum: f32 = powers.iter().sum();
        powers.into_iter().map(move |power| power / sum)
    };
    rows.data.chunks(length).flat_map(row).collect()
}

/// Both operands stretched to the result's shape.
fn by_element(reads: &[Array], shape: &[usize], operation: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    let at = |array: &Array, index: usize| {
        let (mut place, mut stride, mut rest) = (0, 1, index);
        for (back, &size) in shape.iter().rev().enumerate() {
            let extent = array.shape.len().checked_sub(back + 1).map_or(1, |axis| array.shape[axis]);
            place += if extent > 1 { rest % size * stride } else { 0 };
            stride *= extent;
            rest /= size;
        }
        array.data[place]
    };
    let right = reads.get(1).unwrap_or(&reads[0]);
    (0..shape.iter().product()).map(|index| operation(at(&reads[0], index), at(right, index))).collect()
}

fn two(values: Option<&[i64]>, default: usize) -> [usize; 2] {
    values.map_or([default; 2], |values| [values[0] as usize, values[1] as usize])
}

fn convolution(node: NodeView<'_>, reads: &[Array], shape: &[usize], has_padding: bool) -> Vec<f32> {
    let (image, filter) = (&reads[0], &reads[1]);
    let (strides, dilations) = (two(node.ints("strides"), 1), two(node.ints("dilations"), 1));
    let pads = if has_padding { two(node.ints("pads"), 0) } else { [0; 2] };
    let [_, channels, height, width] = image.shape[..] else { return Vec::new() };
    let [outputs, channels_per_group, kernel_height, kernel_width] = filter.shape[..] else { return Vec::new() };
    let outputs_per_group = outputs / (channels / channels_per_group);
    let size = shape[2] * shape[3];
    let mut made = vec![0.0; shape.iter().product()];
    for (index, plane) in made.chunks_mut(size).enumerate() {
        let (batch, output) = (index / outputs, index % outputs);
        plane.fill(reads.get(2).map_or(0.0, |bias| bias.data[output]));
        let taps = channels_per_group * kernel_height * kernel_width;
        for tap in 0..taps {
            let weight = filter.data[output * taps + tap];
            let (channel, inner) = (tap / (kernel_height * kernel_width), tap % (kernel_height * kernel_width));
            let [down, across] = [inner / kernel_width * dilations[0], inner % kernel_width * dilations[1]];
            let before = (batch * channels + output / outputs_per_group * channels_per_group + channel) * height;
            for (y, row) in plane.chunks_mut(shape[3]).enumerate() {
                let Some(y) = (y * strides[0] + down).checked_sub(pads[0]).filter(|&y| y < height) else { continue };
                let source = &image.data[(before + y) * width..][..width];
                for (x, sum) in row.iter_mut().enumerate() {
                    let x = (x * strides[1] + across).wrapping_sub(pads[1]);
                    *sum += source.get(x).map_or(0.0, |value| value * weight);
                }
            }
        }
    }
    made
}

fn largest(node: NodeView<'_>, image: &Array, shape: &[usize]) -> Vec<f32> {
    let (kernel, strides, pads) =
        (two(node.ints("kernel_shape"), 1), two(node.ints("strides"), 1), two(node.ints("pads"), 0));
    let (height, width) = (image.shape[2], image.shape[3]);
    let mut made = Vec::with_capacity(shape.iter().product());
    for plane in image.data.chunks(height * width) {
        for position in 0..shape[2] * shape[3] {
            let (y, x) = (position / shape[3] * strides[0], position % shape[3] * strides[1]);
            let rows = (y..y + kernel[0]).filter(|y| (pads[0]..pads[0] + height).contains(y));
            let columns = |_: usize| (x..x + kernel[1]).filter(|x| (pads[1]..pads[1] + width).contains(x));
            let at = |y: usize, x: usize| plane[(y - pads[0]) * width + x - pads[1]];
            made.push(rows.flat_map(|y| columns(y).map(move |x| at(y, x))).fold(f32::MIN, f32::max));
        }
    }
    made
}

fn product(node: NodeView<'_>, reads: &[Array], shape: &[usize]) -> Vec<f32> {
    let (rows, matrix) = (&reads[0], &reads[1]);
    let columns = *shape.last().unwrap_or(&1);
    let inner = *rows.shape.last().unwrap_or(&1);
    let is_turned = node.int("transB").unwrap_or(0) != 0;
    let at = |k: usize, column: usize| matrix.data[if is_turned { column * inner + k } else { k * columns + column }];
    let element = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        let bias = reads.get(2).map_or(0.0, |bias| bias.data[column % bias.data.len()]);
        bias + (0..inner).map(|k| rows.data[row * inner + k] * at(k, column)).sum::<f32>()
    };
    (0..shape.iter().product()).map(element).collect()
}

/// Some of a tensor's channels.
pub(crate) fn part(tensor: &Tensor, axis: usize, range: &Range<usize>) -> Tensor {
    let mut shape = tensor.shape().dimensions().to_vec();
    let inner: usize = shape[axis + 1..].iter().product();
    let row = shape[axis] * inner;
    let data = tensor.as_f32().unwrap_or_default();
    let range = range.start.min(shape[axis])..range.end.min(shape[axis]);
    let kept = data.chunks(row.max(1)).flat_map(|row| row[range.start * inner..range.end * inner].to_vec()).collect();
    shape[axis] = range.len();
    Tensor::from_f32(shape, kept)
}

/// The tensor with another last element.
pub(crate) fn with_wrong_end(tensor: &Tensor) -> Tensor {
    let mut data = tensor.as_f32().unwrap_or_default().to_vec();
    data.last_mut().into_iter().for_each(|last| *last += 1.0);
    Tensor::from_f32(tensor.shape().clone(), data)
}

/// The tensor under another shape.
pub(crate) fn relabelled(tensor: &Tensor, shape: impl Into<Shape>) -> Tensor {
    Tensor::from_f32(shape, tensor.as_f32().unwrap_or_default().to_vec())
}

/// Sums element by element.
pub(crate) fn sums(left: &[Tensor], right: &[Tensor]) -> Vec<Tensor> {
    let floats = |tensor: &Tensor| tensor.as_f32().unwrap_or_default().to_vec();
    let sum = |(left, right): (&Tensor, &Tensor)| {
        let sums = floats(left).iter().zip(floats(right)).map(|(left, right)| left + right).collect();
        Tensor::from_f32(left.shape().clone(), sums)
    };
    left.iter().zip(right).map(sum).collect()
}
