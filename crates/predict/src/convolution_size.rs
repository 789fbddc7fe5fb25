//! Convolutions in the terms of the co-scheduling paper.

use millstream_graph::OperatorKind;

use crate::published::ConvolutionSize;
use crate::samples::OperatorRecord;

/// A convolution without groups in the terms of the co-scheduling paper.
pub(crate) fn convolution_size(operator: &OperatorRecord) -> Option<ConvolutionSize> {
    let OperatorKind::Convolution(convolution) = &operator.kind else { return None };
    let gemm = operator.work.gemm.filter(|_| convolution.groups <= 1)?;
    let element = size_of::<f32>() as u64;
    Some(ConvolutionSize {
        input: operator.work.input_bytes / element,
        filter: gemm.k,
        output: gemm.n,
        normalisation: 0,
        filters: gemm.m,
    })
}
