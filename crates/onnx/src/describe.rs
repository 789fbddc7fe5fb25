//! From nodes to descriptors: the kind of an operator and how much work it is.

use millstream_graph::{Convolution, GemmShape, OperatorKind, Pool, Shape, Work};

use crate::proto::NodeProto;
use crate::quantised::{convolution_kind, quantised};

/// One input of a node, as far as the descriptor needs it.
pub(crate) struct Input {
    pub(crate) shape: Option<Shape>,
    pub(crate) bytes: u64,
    pub(crate) is_constant: bool,
    /// Whether it is made of integers by a scale that the model fixes.
    pub(crate) is_dequantized: bool,
}

/// One output of a node.
pub(crate) struct Output {
    pub(crate) shape: Option<Shape>,
    pub(crate) bytes: u64,
}

/// The kind of an operator, and how much it computes and moves as far as shapes tell that.
pub(crate) fn describe(node: &NodeProto, inputs: &[Input], outputs: &[Output]) -> (OperatorKind, Work) {
    let kind = kind(node, inputs);
    let result = outputs.first().and_then(|output| output.shape.as_ref());
    let gemm = gemm(&kind, node, inputs, result);
    let read_bytes = |is_constant: bool| {
        let read = inputs.iter().filter(|input| input.is_constant == is_constant);
        read.fold(0, |sum: u64, input| sum.saturating_add(input.bytes))
    };

    let work = Work {
        macs: macs(&kind, gemm.as_ref(), result.map_or(0, Shape::elements)),
        input_bytes: read_bytes(false),
        weight_bytes: read_bytes(true),
        output_bytes: outputs.iter().fold(0, |sum, output| sum.saturating_add(output.bytes)),
        gemm,
    };
    (kind, work)
}

/// The matrix product that an operator with such a result amounts to, if it is one and the shapes are known.
fn gemm(kind: &OperatorKind, node: &NodeProto, inputs: &[Input], result: Option<&Shape>) -> Option<GemmShape> {
    if let Some(convolution) = kind.convolution() {
        return convolution_gemm(convolution, result?);
    }
    if !is_matrix_product(kind) {
        return None;
    }

    let k = inner_dimension(node, inputs)?;
    let m = *result?.dimensions().last()? as u64;
    Some(GemmShape { n: result?.elements() / m.max(1), k, m })
}

fn is_matrix_product(kind: &OperatorKind) -> bool {
    matches!(
        kind,
        OperatorKind::FullyConnected
            | OperatorKind::MatrixMultiplication
            | OperatorKind::QuantizedMatrixMultiplication { .. }
            | OperatorKind::IntegerMatrixMultiplication { .. }
    )
}

/// The multiply-accumulate operations of an operator whose result has so many elements. What passes over elements one
/// by one counts as one of them per element, what only moves them as none.
fn macs(kind: &OperatorKind, gemm: Option<&GemmShape>, elements: u64) -> u64 {
    match kind {
        kind if is_matrix_product(kind) => gemm.map_or(0, |gemm| elements.saturating_mul(gemm.k)),
        OperatorKind::Pool(pool) => elements.saturating_mul(product(&pool.kernel)),
        OperatorKind::Activation
        | OperatorKind::Elementwise
        | OperatorKind::Normalization
        | OperatorKind::Softmax
        | OperatorKind::Quantization
        | OperatorKind::DynamicQuantization => elements,
        _ => gemm.map_or(0, |gemm| gemm.n.saturating_mul(gemm.k).saturating_mul(gemm.m)),
    }
}

fn product(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product: u64, &size| product.saturating_mul(size as u64))
}

fn kind(node: &NodeProto, inputs: &[Input]) -> OperatorKind {
    let is_constant = |index: usize| inputs.get(index).is_some_and(|input| input.is_constant);
    let has_weights = |left: usize, right: usize| is_constant(left) || is_constant(right);
    let is_quantised = || inputs.len() > 1 && inputs[..2].iter().all(|input| input.is_dequantized);
    let served = |kind: OperatorKind| if is_quantised() { quantised(kind) } else { kind };

    match node.op() {
        "Conv" | "ConvInteger" if is_constant(1) => {
            let descriptor = convolution(node, inputs.get(1));
            let kind = descriptor.map(|descriptor| convolution_kind(node.op(), descriptor));
            served(kind.unwrap_or(OperatorKind::Opaque))
        }
        "QLinearConv" if is_constant(3) => {
            convolution(node, inputs.get(3)).map_or(OperatorKind::Opaque, OperatorKind::QuantizedConvolution)
        }
        "Gemm" | "MatMul" if has_weights(0, 1) => served(OperatorKind::FullyConnected),
        "Gemm" | "MatMul" => served(OperatorKind::MatrixMultiplication),
        "MatMulInteger" => OperatorKind::IntegerMatrixMultiplication { has_weights: has_weights(0, 1) },
        "QLinearMatMul" => OperatorKind::QuantizedMatrixMultiplication { has_weights: has_weights(0, 3) },
        "MaxPool" | "AveragePool" | "LpPool" => OperatorKind::Pool(window(node)),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "ReduceMean" => {
            OperatorKind::Pool(window_over_all(inputs.first()))
        }
        op => kind_of_name(op),
    }
}

/// The kind of an operator whose name alone tells it.
fn kind_of_name(op: &str) -> OperatorKind {
    match op {
        "QuantizeLinear" | "DequantizeLinear" => OperatorKind::Quantization,
        "DynamicQuantizeLinear" => OperatorKind::DynamicQuantization,
        "Relu" | "LeakyRelu" | "Clip" | "Sigmoid" | "HardSigmoid" | "HardSwish" | "Tanh" | "Elu" | "Selu" | "Celu"
        | "Erf" | "Gelu" | "Mish" | "Swish" | "Softplus" | "Softsign" | "PRelu" | "ThresholdedRelu" | "Exp"
        | "Sqrt" | "Abs" | "Neg" | "Log" | "Reciprocal" | "Ceil" | "Floor" | "Round" => OperatorKind::Activation,
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Sum" | "Max" | "Min" | "Mean" | "Where" | "Equal" | "Greater"
        | "Less" | "And" | "Or" | "Not" => OperatorKind::Elementwise,
        "BatchNormalization"
        | "InstanceNormalization"
        | "LayerNormalization"
        | "GroupNormalization"
        | "LRN"
        | "LpNormalization"
        | "RMSNormalization" => OperatorKind::Normalization,
        "Concat" => OperatorKind::Concat,
        "Softmax" | "LogSoftmax" | "Hardmax" => OperatorKind::Softmax,
        "Reshape" | "Transpose" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout" | "Slice" | "Split"
        | "Pad" | "Resize" | "Upsample" | "Gather" | "Expand" | "Tile" | "DepthToSpace" | "SpaceToDepth" | "Cast" => {
            OperatorKind::DataMovement
        }
        _ => OperatorKind::Opaque,
    }
}

fn window(node: &NodeProto) -> Pool {
    let kernel = node.sizes("kernel_shape").unwrap_or_default();
    let strides = node.sizes("strides").unwrap_or_else(|| vec![1; kernel.len()]);
    Pool { kernel, strides }
}

/// One window over all spatial dimensions of the input.
fn window_over_all(input: Option<&Input>) -> Pool {
    let shape = input.and_then(|input| input.shape.as_ref());
    let kernel: Vec<usize> = shape.map_or(Vec::new(), |shape| shape.dimensions().iter().skip(2).copied().collect());
    Pool { strides: vec![1; kernel.len()], kernel }
}

fn convolution(node: &NodeProto, filters: Option<&Input>) -> Option<Convolution> {
    let filters = filters?.shape.as_ref()?.dimensions();
    let [output_channels, channels_per_group, kernel @ ..] = filters else { return None };
    let groups = usize::try_from(node.int("group").unwrap_or(1)).ok().filter(|&groups| groups > 0)?;
    let per_dimension = |name: &str| node.sizes(name).unwrap_or_else(|| vec![1; kernel.len()]);
    Some(Convolution {
        input_channels: channels_per_group.checked_mul(groups)?,
        output_channels: *output_channels,
        kernel: kernel.to_vec(),
        strides: per_dimension("strides"),
        dilations: per_dimension("dilations"),
        groups,
    })
}

/// Pipe-it, section V-A: rows are output positions, columns filters, and the inner dimension one filter's size.
fn convolution_gemm(convolution: &Convolution, result: &Shape) -> Option<GemmShape> {
    let [batch, _, positions @ ..] = result.dimensions() else { return None };
    let per_group = (convolution.input_channels / convolution.groups) as u64;
    Some(GemmShape {
        n: product(positions).saturating_mul(*batch as u64),
        k: product(&convolution.kernel).saturating_mul(per_group),
        m: convolution.output_channels as u64,
    })
}

fn inner_dimension(node: &NodeProto, inputs: &[Input]) -> Option<u64> {
    let left = inputs.first()?.shape.as_ref()?.dimensions();
    let transposed = node.op() == "Gemm" && node.int("transA").unwrap_or(0) != 0;
    let inner = if transposed { left.first() } else { left.last() };
    inner.map(|&size| size as u64)
}
