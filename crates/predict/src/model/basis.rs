//! What the default model counts of an operator. Every amount grows with the work, so that with coefficients that are not
//! negative the predicted time does as well.

use millstream_graph::{Convolution, Family};

use crate::samples::OperatorRecord;

/// Number of amounts.
pub(crate) const COUNT: usize = 23;

/// Names of the amounts, for people and files.
pub(crate) const NAMES: [&str; COUNT] = [
    "operators",
    "macs",
    "macs, filters in blocks of 8",
    "macs, filters in blocks of 16",
    "macs, filters in blocks of 32",
    "macs, positions in blocks of 8",
    "macs of one row",
    "macs of 1x1 kernels",
    "macs of larger kernels",
    "macs of strided kernels",
    "macs on images",
    "patch elements",
    "patch elements on images",
    "output elements from images",
    "weight bytes",
    "weight bytes beyond the cache",
    "input bytes",
    "input bytes of strided kernels",
    "output bytes",
    "bytes beyond the cache",
    "bytes of further inputs",
    "macs of channels not in blocks of 8",
    "bytes of channels not in blocks of 8",
];

/// Inputs with fewer channels are images: kernels for them differ.
const IMAGE_CHANNELS: usize = 8;

/// The amounts of an operator that runs fused with others which read `further_bytes` more. `cache_bytes` is what the
/// processor can keep at hand.
pub(crate) fn amounts(operator: &OperatorRecord, further_bytes: u64, cache_bytes: u64) -> [f64; COUNT] {
    let work = &operator.work;
    let macs = work.macs as f64;
    let mut amounts = [0.0; COUNT];
    amounts[0] = 1.0;
    amounts[1] = macs;
    amounts[14] = work.weight_bytes as f64;
    amounts[15] = work.weight_bytes.saturating_sub(cache_bytes) as f64;
    amounts[16] = work.input_bytes as f64;
    amounts[18] = work.output_bytes as f64;
    amounts[19] = work.bytes().saturating_sub(cache_bytes.saturating_mul(2)) as f64;
    amounts[20] = further_bytes as f64;
    if !is_blocked(operator) {
        amounts[21] = macs;
        amounts[22] = if differs_by_type(operator.family()) { 0.0 } else { amount_by_type(operator) };
    }

    // With one row, all these would be the weights' bytes by other names.
    if let Some(gemm) = work.gemm
        && !operator.kind.has_weight_matrix()
    {
        let (n, k, m) = (gemm.n as f64, gemm.k as f64, gemm.m as f64);
        let groups = operator.kind.convolution().map_or(1, |convolution| convolution.groups.max(1) as u64);
        let filters = gemm.m.div_ceil(groups) as f64;
        for (slot, block) in [(2, 8.0), (3, 16.0), (4, 32.0)] {
            amounts[slot] = n * k * (in_blocks(filters, block) * groups as f64);
        }
        amounts[5] = in_blocks(n, 8.0) * k * m;
        amounts[6] = n.sqrt() * k * m;
        amounts[11] = n * k * groups as f64;
    }
    if let Some(convolution) = operator.kind.convolution() {
        describe_convolution(convolution, operator, &mut amounts);
    }
    amounts
}

/// How many there are with those that fill the last block up.
fn in_blocks(count: f64, block: f64) -> f64 {
    (count / block).ceil() * block
}

fn describe_convolution(convolution: &Convolution, operator: &OperatorRecord, amounts: &mut [f64; COUNT]) {
    let macs = operator.work.macs as f64;
    let is_point = convolution.kernel.iter().all(|&size| size == 1);
    amounts[if is_point { 7 } else { 8 }] = macs;
    if convolution.strides.iter().any(|&stride| stride > 1) {
        amounts[9] = macs;
        amounts[17] = operator.work.input_bytes as f64;
    }
    if convolution.input_channels < IMAGE_CHANNELS {
        amounts[10] = macs;
        amounts[12] = amounts[11];
        amounts[13] = operator.work.gemm.map_or(0.0, |gemm| gemm.n as f64 * gemm.m as f64);
    }
}

/// Whether the channels fill vectors. Runtimes keep maps in blocks of channels and have slower kernels for the others.
pub(crate) fn is_blocked(operator: &OperatorRecord) -> bool {
    let is_product = matches!(
        operator.family(),
        Family::FullyConnected
            | Family::MatrixMultiplication
            | Family::QuantizedMatrixMultiplication
            | Family::IntegerMatrixMultiplication
    );
    is_product || operator.input_channels.is_none_or(|channels| channels % 8 == 0)
}

/// Whether operators of one family differ so much by type that each has its own time per byte.
pub(crate) fn differs_by_type(family: Family) -> bool {
    matches!(
        family,
        Family::Pool
            | Family::Elementwise
            | Family::Normalization
            | Family::Softmax
            | Family::DataMovement
            | Family::Quantization
            | Family::DynamicQuantization
            | Family::Opaque
    )
}

/// The amount that is counted per type in such families: bytes read and written.
pub(crate) fn amount_by_type(operator: &OperatorRecord) -> f64 {
    operator.work.input_bytes as f64 + operator.work.output_bytes as f64
}

#[cfg(test)]
mod tests {
    use millstream_graph::{GemmShape, OperatorKind, Work};

    use super::*;

    /// Sizes as a file may state them: amounts are then large, and no reason to fail.
    #[test]
    fn amounts_of_absurd_sizes_are_numbers() {
        let most = u64::MAX;
        let gemm = Some(GemmShape { n: most, k: most, m: most });
        let work = Work { macs: most, input_bytes: most, weight_bytes: most, output_bytes: most, gemm };
        let record = OperatorRecord {
            name: "o".to_owned(),
            op_type: "MatMul".to_owned(),
            kind: OperatorKind::Opaque,
            work,
            input_channels: Some(most),
        };
        let amounts = amounts(&record, most, most);
        assert!(amounts.iter().all(|amount| amount.is_finite() && *amount >= 0.0), "{amounts:?}");
        assert!(amount_by_type(&record) > most as f64);
    }
}
