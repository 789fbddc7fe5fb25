//! What the default model counts of an operator. Every amount grows with the work, so that with coefficients that are
//! not negative the predicted time does as well.

use millstream_graph::{Convolution, Family, FamilyWork};

use crate::samples::OperatorRecord;

/// What is counted, and how people and files call it.
macro_rules! named_amounts {
    ($($amount:ident = $name:literal,)+) => {
        /// An amount: its position among all of them.
        #[derive(Clone, Copy)]
        enum Amount {
            $($amount),+
        }

        /// Names of the amounts, for people and files.
        pub(crate) const NAMES: [&str; COUNT] = [$($name),+];
    };
}

/// Number of amounts.
pub(crate) const COUNT: usize = 23;

named_amounts! {
    Operators = "operators",
    Macs = "macs",
    MacsInFilterBlocksOf8 = "macs, filters in blocks of 8",
    MacsInFilterBlocksOf16 = "macs, filters in blocks of 16",
    MacsInFilterBlocksOf32 = "macs, filters in blocks of 32",
    MacsInPositionBlocksOf8 = "macs, positions in blocks of 8",
    MacsOfOneRow = "macs of one row",
    MacsOfPointKernels = "macs of 1x1 kernels",
    MacsOfLargerKernels = "macs of larger kernels",
    MacsOfStridedKernels = "macs of strided kernels",
    MacsOnImages = "macs on images",
    PatchElements = "patch elements",
    PatchElementsOnImages = "patch elements on images",
    OutputElementsFromImages = "output elements from images",
    WeightBytes = "weight bytes",
    WeightBytesBeyondCache = "weight bytes beyond the cache",
    InputBytes = "input bytes",
    InputBytesOfStridedKernels = "input bytes of strided kernels",
    OutputBytes = "output bytes",
    BytesBeyondCache = "bytes beyond the cache",
    BytesOfFurtherInputs = "bytes of further inputs",
    MacsOfUnblockedChannels = "macs of channels not in blocks of 8",
    BytesOfUnblockedChannels = "bytes of channels not in blocks of 8",
}

/// Inputs with fewer channels are images: kernels for them differ.
const IMAGE_CHANNELS: usize = 8;

/// The amounts of an operator that runs fused with others which read `further_bytes` more. `cache_bytes` is what the
/// processor can keep at hand; without it, nothing is beyond the cache.
pub(crate) fn amounts(operator: &OperatorRecord, further_bytes: u64, cache_bytes: Option<u64>) -> [f64; COUNT] {
    let work = &operator.work;
    let macs = work.macs as f64;
    let beyond = |bytes: u64, caches: u64| {
        cache_bytes.map_or(0, |cache| bytes.saturating_sub(cache.saturating_mul(caches))) as f64
    };
    let mut amounts = [0.0; COUNT];

    amounts[Amount::Operators as usize] = 1.0;
    amounts[Amount::Macs as usize] = macs;
    amounts[Amount::WeightBytes as usize] = work.weight_bytes as f64;
    amounts[Amount::WeightBytesBeyondCache as usize] = beyond(work.weight_bytes, 1);
    amounts[Amount::InputBytes as usize] = work.input_bytes as f64;
    amounts[Amount::OutputBytes as usize] = work.output_bytes as f64;
    amounts[Amount::BytesBeyondCache as usize] = beyond(work.bytes(), 2);
    amounts[Amount::BytesOfFurtherInputs as usize] = further_bytes as f64;
    if !is_blocked(operator) {
        amounts[Amount::MacsOfUnblockedChannels as usize] = macs;
        amounts[Amount::BytesOfUnblockedChannels as usize] =
            if differs_by_type(operator.family()) { 0.0 } else { amount_by_type(operator) };
    }

    // With one row, all these would be the weights' bytes by other names.
    if let Some(gemm) = work.gemm
        && !operator.kind.has_weight_matrix()
    {
        let (n, k, m) = (gemm.n as f64, gemm.k as f64, gemm.m as f64);
        let groups = operator.kind.convolution().map_or(1, |convolution| convolution.groups.max(1) as u64);
        let filters = gemm.m.div_ceil(groups) as f64;

        let in_filter_blocks = [
            (Amount::MacsInFilterBlocksOf8, 8.0),
            (Amount::MacsInFilterBlocksOf16, 16.0),
            (Amount::MacsInFilterBlocksOf32, 32.0),
        ];
        for (amount, block) in in_filter_blocks {
            amounts[amount as usize] = n * k * (in_blocks(filters, block) * groups as f64);
        }
        amounts[Amount::MacsInPositionBlocksOf8 as usize] = in_blocks(n, 8.0) * k * m;
        amounts[Amount::MacsOfOneRow as usize] = n.sqrt() * k * m;
        amounts[Amount::PatchElements as usize] = n * k * groups as f64;
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

/// The amounts that only convolutions have.
fn describe_convolution(convolution: &Convolution, operator: &OperatorRecord, amounts: &mut [f64; COUNT]) {
    let macs = operator.work.macs as f64;
    let is_point = convolution.kernel.iter().all(|&size| size == 1);
    let by_kernel = if is_point { Amount::MacsOfPointKernels } else { Amount::MacsOfLargerKernels };
    amounts[by_kernel as usize] = macs;
    if convolution.strides.iter().any(|&stride| stride > 1) {
        amounts[Amount::MacsOfStridedKernels as usize] = macs;
        amounts[Amount::InputBytesOfStridedKernels as usize] = operator.work.input_bytes as f64;
    }
    if convolution.input_channels < IMAGE_CHANNELS {
        amounts[Amount::MacsOnImages as usize] = macs;
        amounts[Amount::PatchElementsOnImages as usize] = amounts[Amount::PatchElements as usize];
        amounts[Amount::OutputElementsFromImages as usize] =
            operator.work.gemm.map_or(0.0, |gemm| gemm.n as f64 * gemm.m as f64);
    }
}

/// Whether the channels fill vectors. Runtimes keep maps in blocks of channels and have slower kernels for the others.
pub(crate) fn is_blocked(operator: &OperatorRecord) -> bool {
    operator.family().work() == FamilyWork::MatrixProduct
        || operator.input_channels.is_none_or(|channels| channels % 8 == 0)
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
        let amounts = amounts(&record, most, Some(most));
        assert!(amounts.iter().all(|amount| amount.is_finite() && *amount >= 0.0), "{amounts:?}");
        assert!(amount_by_type(&record) > most as f64);
    }
}
