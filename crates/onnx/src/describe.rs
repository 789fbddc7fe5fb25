//! From nodes to descriptors: the kind of an operator and how much work it is.

use millstream_graph::{Convolution, GemmShape, OperatorKind, Pool, Shape, Work};

use crate::proto::NodeProto;

/// One input of a node, as far as the descriptor needs it.
pub(crate) struct Input {
    pub(crate) shape: Option<Shape>,
    pub(crate) bytes: u64,
    pub(crate) is_constant: bool,
}

/// One output of a node.
pub(crate) struct Output {
    pub(crate) shape: Option<Shape>,
    pub(crate) bytes: u64,
}

pub(crate) fn describe(node: &NodeProto, inputs: &[Input], outputs: &[Output]) -> (OperatorKind, Work) {
    let kind = kind(node, inputs);
    let sum =
        |constant: bool| inputs.iter().filter(|input| input.is_constant == constant).map(|input| input.bytes).sum();
    let mut work = Work {
        macs: 0,
        input_bytes: sum(false),
        weight_bytes: sum(true),
        output_bytes: outputs.iter().map(|output| output.bytes).sum(),
        gemm: None,
    };
    let result = outputs.first().and_then(|output| output.shape.as_ref());
    let elements = result.map_or(0, Shape::elements);
    match &kind {
        OperatorKind::Convolution(convolution) => {
            if let Some(gemm) = result.and_then(|result| convolution_gemm(convolution, result)) {
                work.macs = gemm.n * gemm.k * gemm.m;
                work.gemm = Some(gemm);
            }
        }
        OperatorKind::FullyConnected | OperatorKind::MatrixMultiplication => {
            let inner = inner_dimension(node, inputs);
            if let (Some(k), Some(&m)) = (inner, result.and_then(|result| result.dimensions().last())) {
                work.macs = elements * k;
                work.gemm = Some(GemmShape { n: elements / (m as u64).max(1), k, m: m as u64 });
            }
        }
        OperatorKind::Pool(pool) => work.macs = elements * pool.kernel.iter().map(|&size| size as u64).product::<u64>(),
        OperatorKind::Activation | OperatorKind::Elementwise | OperatorKind::Normalization | OperatorKind::Softmax => {
            work.macs = elements;
        }
        _ => {}
    }
    (kind, work)
}

fn kind(node: &NodeProto, inputs: &[Input]) -> OperatorKind {
    let is_constant = |index: usize| inputs.get(index).is_some_and(|input| input.is_constant);
    match node.op() {
        "Conv" | "ConvInteger" if is_constant(1) => {
            convolution(node, inputs).map_or(OperatorKind::Opaque, OperatorKind::Convolution)
        }
        "Gemm" | "MatMul" | "MatMulInteger" => match is_constant(0) || is_constant(1) {
            true => OperatorKind::FullyConnected,
            false => OperatorKind::MatrixMultiplication,
        },
        "MaxPool" | "AveragePool" | "LpPool" => {
            let kernel = node.sizes("kernel_shape").unwrap_or_default();
            let strides = node.sizes("strides").unwrap_or_else(|| vec![1; kernel.len()]);
            OperatorKind::Pool(Pool { kernel, strides })
        }
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "ReduceMean" => {
            let input = inputs.first().and_then(|input| input.shape.as_ref());
            let kernel: Vec<usize> =
                input.map_or(Vec::new(), |shape| shape.dimensions().iter().skip(2).copied().collect());
            OperatorKind::Pool(Pool { strides: vec![1; kernel.len()], kernel })
        }
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

fn convolution(node: &NodeProto, inputs: &[Input]) -> Option<Convolution> {
    let filter = inputs.get(1)?.shape.as_ref()?.dimensions();
    let [output_channels, channels_per_group, kernel @ ..] = filter else { return None };
    let groups = usize::try_from(node.int("group").unwrap_or(1)).ok().filter(|&groups| groups > 0)?;
    Some(Convolution {
        input_channels: channels_per_group * groups,
        output_channels: *output_channels,
        kernel: kernel.to_vec(),
        strides: node.sizes("strides").unwrap_or_else(|| vec![1; kernel.len()]),
        dilations: node.sizes("dilations").unwrap_or_else(|| vec![1; kernel.len()]),
        groups,
    })
}

/// Pipe-it, section V-A: rows are output positions, columns filters, and the inner dimension one filter's size.
fn convolution_gemm(convolution: &Convolution, result: &Shape) -> Option<GemmShape> {
    let [batch, _, positions @ ..] = result.dimensions() else { return None };
    let taps: usize = convolution.kernel.iter().product();
    Some(GemmShape {
        n: (batch * positions.iter().product::<usize>()) as u64,
        k: (taps * convolution.input_channels / convolution.groups) as u64,
        m: convolution.output_channels as u64,
    })
}

fn inner_dimension(node: &NodeProto, inputs: &[Input]) -> Option<u64> {
    let left = inputs.first()?.shape.as_ref()?.dimensions();
    let transposed = node.op() == "Gemm" && node.int("transA").unwrap_or(0) != 0;
    let inner = if transposed { left.first() } else { left.last() };
    inner.map(|&size| size as u64)
}
