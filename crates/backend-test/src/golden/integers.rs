//! Quantised operators: their results are the same on every machine, to the bit.

use millstream_backend::Tensor;
use millstream_graph::DataType;
use millstream_onnx::Attributes;

use crate::golden::draft::{Draft, Golden, f32s};

pub(super) fn cases() -> Vec<Golden> {
    let mut cases = conversions();
    cases.extend(sums());
    cases.extend([quantised("Conv"), quantised("MatMul"), quantised("Gemm")]);
    cases
}

fn u8s<const N: usize>(shape: [usize; N], elements: &[u8]) -> Tensor {
    Tensor::from_bytes(DataType::U8, shape, elements.to_vec())
}

fn i32s<const N: usize>(shape: [usize; N], elements: &[i32]) -> Tensor {
    Tensor::from_bytes(DataType::I32, shape, elements.iter().flat_map(|element| element.to_ne_bytes()).collect())
}

/// A scale and a zero point of unsigned integers.
fn scale(draft: &mut Draft, scale: f32, zero: u8) -> [String; 2] {
    [draft.weight([], &[scale]), draft.bytes_weight(DataType::U8, [], &[zero])]
}

fn conversions() -> Vec<Golden> {
    let mut draft = Draft::new("floats to integers");
    let value = draft.floats([1, 4], &[-1.0, 0.0, 1.2, 300.0]);
    let [step, zero] = scale(&mut draft, 0.5, 128);
    // The last one is beyond what 8 bits hold.
    let expected = u8s([1, 4], &[126, 128, 130, 255]);
    let quantise = draft.operator("QuantizeLinear", &[&value, &step, &zero], Attributes::new(), expected);

    let mut draft = Draft::new("integers to floats by a scale");
    let value = draft.input(u8s([1, 3], &[126, 128, 255]));
    let [step, zero] = scale(&mut draft, 0.5, 128);
    let expected = f32s([1, 3], &[-1.0, 0.0, 63.5]);
    let dequantise = draft.operator("DequantizeLinear", &[&value, &step, &zero], Attributes::new(), expected);

    let mut draft = Draft::new("floats to integers by their own range");
    let value = draft.floats([1, 3], &[-55.0, 0.0, 200.0]);
    let [integers, step, zero] = draft.builder.node_with_outputs("DynamicQuantizeLinear", &[&value]);
    let draft = draft.makes(&integers, u8s([1, 3], &[0, 55, 255]));
    let none: [usize; 0] = [];
    let dynamic = draft.makes(&step, f32s(none, &[1.0])).makes(&zero, u8s(none, &[55])).done();
    vec![quantise, dequantise, dynamic]
}

fn sums() -> Vec<Golden> {
    let mut draft = Draft::new("product of integers");
    let value = draft.input(u8s([1, 2], &[3, 5]));
    let matrix = draft.bytes_weight(DataType::I8, [2, 2], &[1, 254, 3, 4]);
    let (zero, zeros) = (draft.bytes_weight(DataType::U8, [], &[1]), draft.bytes_weight(DataType::I8, [], &[0]));
    let reads = [value.as_str(), &matrix, &zero, &zeros];
    let product = draft.operator("MatMulInteger", &reads, Attributes::new(), i32s([1, 2], &[14, 12]));

    let mut draft = Draft::new("convolution of integers");
    let value = draft.input(u8s([1, 1, 2, 2], &[1, 2, 3, 4]));
    let filter = draft.bytes_weight(DataType::U8, [1, 1, 2, 2], &[2, 0, 0, 1]);
    let (zero, zeros) = (draft.bytes_weight(DataType::U8, [], &[1]), draft.bytes_weight(DataType::U8, [], &[0]));
    let reads = [value.as_str(), &filter, &zero, &zeros];
    let convolution = draft.operator("ConvInteger", &reads, Attributes::new(), i32s([1, 1, 1, 1], &[3]));
    vec![product, convolution]
}

/// 4 * 1 + 7 * 2 and a zero point of 10, as networks write it: floats between a dequantisation and a quantisation.
fn quantised(op_type: &'static str) -> Golden {
    let is_map = op_type == "Conv";
    let mut draft = Draft::new(match op_type {
        "Conv" => "quantised convolution",
        "MatMul" => "quantised product",
        _ => "quantised product in its general form",
    });
    let value = draft.input(if is_map { u8s([1, 1, 1, 2], &[4, 7]) } else { u8s([1, 2], &[4, 7]) });
    let [step, zero] = scale(&mut draft, 1.0, 0);
    let floats = draft.builder.node("DequantizeLinear", &[&value, &step, &zero]);
    let integers = if is_map {
        draft.bytes_weight(DataType::I8, [1, 1, 1, 2], &[2, 4])
    } else {
        draft.bytes_weight(DataType::I8, [2, 1], &[2, 4])
    };
    let (half, none) = (draft.weight([], &[0.5]), draft.bytes_weight(DataType::I8, [], &[0]));
    let weights = draft.builder.node("DequantizeLinear", &[&integers, &half, &none]);
    let product = draft.builder.node(op_type, &[&floats, &weights]);
    let [step, zero] = scale(&mut draft, 1.0, 10);
    let made = draft.builder.node("QuantizeLinear", &[&product, &step, &zero]);
    let expected = if is_map { u8s([1, 1, 1, 1], &[28]) } else { u8s([1, 1], &[28]) };
    draft.makes(&made, expected).done()
}
