//! 32-bit floats in fewer bits.

use half::f16;
use half::slice::HalfFloatSliceExt;
use millstream_backend::Tensor;
use millstream_board::TransferPrecision;
use serde::{Deserialize, Serialize};

/// What 32-bit floats of a value were sent as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SentAs {
    /// 16-bit floats.
    F16,
    /// Integers of 8 bits with a step and a zero for the whole value, as ONNX's `DynamicQuantizeLinear` has them.
    Int8 {
        /// The integer that zero is.
        zero: u8,
        /// Between two integers.
        step: f32,
    },
}

impl SentAs {
    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::Int8 { .. } => 1,
        }
    }

    /// The elements as they were, as far as the bytes tell.
    pub(crate) fn widened(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F16 => {
                let (pairs, _) = bytes.as_chunks::<2>();
                pairs.iter().map(|&pair| f16::from_le_bytes(pair).to_f32()).collect()
            }
            Self::Int8 { zero, step } => {
                bytes.iter().map(|&byte| f32::from(i16::from(byte) - i16::from(zero)) * step).collect()
            }
        }
    }
}

/// Floats as they are sent; `None` if they go as they are: with this precision, or because some have no place in fewer
/// bits.
pub(crate) fn narrowed(floats: &[f32], precision: TransferPrecision) -> Option<(SentAs, Vec<u8>)> {
    match precision {
        TransferPrecision::F32 => None,
        TransferPrecision::F16 => as_halves(floats),
        TransferPrecision::Int8 => as_integers(floats),
    }
}

/// `None` if something is too large for 16 bits.
fn as_halves(floats: &[f32]) -> Option<(SentAs, Vec<u8>)> {
    let mut halves = vec![f16::ZERO; floats.len()];
    halves.convert_from_f32_slice(floats);
    let is_lost = halves.iter().zip(floats).any(|(half, float)| half.is_infinite() && float.is_finite());
    (!is_lost).then(|| (SentAs::F16, halves.into_iter().flat_map(f16::to_le_bytes).collect()))
}

/// `None` if something is not finite, or too far away from zero or from each other.
fn as_integers(floats: &[f32]) -> Option<(SentAs, Vec<u8>)> {
    if !floats.iter().all(|float| float.is_finite()) {
        return None;
    }
    let (least, greatest) =
        floats.iter().fold((0.0_f32, 0.0_f32), |(least, greatest), &float| (least.min(float), greatest.max(float)));
    let step = (f64::from(greatest) - f64::from(least)) / f64::from(u8::MAX);
    if step == 0.0 {
        return Some((SentAs::Int8 { zero: 0, step: 0.0 }, vec![0; floats.len()]));
    }
    // Receivers get the step as 32 bits, so elements are divided by that.
    let step = step as f32;
    if !step.is_normal() {
        return None;
    }
    // `as` keeps within 0 and 255, so rounding at the ends does no harm.
    let zero = (-least / step).round() as u8;
    let bytes = floats.iter().map(|float| (float / step + f32::from(zero)).round() as u8).collect();
    Some((SentAs::Int8 { zero, step }, bytes))
}

/// What a receiver gets of a value that is sent with a precision.
///
/// ```
/// use millstream_backend::Tensor;
/// use millstream_board::TransferPrecision;
/// use millstream_distributed::received;
///
/// let sent = Tensor::from_f32([3], vec![0.0, 0.1, 255.0]);
/// assert_eq!(received(&sent, TransferPrecision::Int8).as_f32(), Some(&[0.0, 0.0, 255.0][..]));
/// assert_eq!(received(&sent, TransferPrecision::F32).as_f32(), sent.as_f32());
/// ```
#[must_use]
pub fn received(value: &Tensor, precision: TransferPrecision) -> Tensor {
    match value.as_f32().and_then(|floats| narrowed(floats, precision)) {
        Some((sent_as, bytes)) => Tensor::from_f32(value.shape().clone(), sent_as.widened(&bytes)),
        None => value.clone(),
    }
}
