//! Matrix products of floats.

use millstream_onnx::Attributes;

use crate::golden::draft::{Draft, Golden, f32s};

const TWO_ROWS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

pub(super) fn cases() -> Vec<Golden> {
    let mut draft = Draft::new("product with a bias");
    let rows = draft.floats([2, 3], &TWO_ROWS);
    let (matrix, bias) = (draft.weight([3, 2], &TWO_ROWS), draft.weight([2], &[10.0, 20.0]));
    let expected = f32s([2, 2], &[32.0, 48.0, 59.0, 84.0]);
    let biased = draft.operator("Gemm", &[&rows, &matrix, &bias], Attributes::new(), expected);

    let mut draft = Draft::new("product with a matrix that is turned");
    let rows = draft.floats([2, 3], &TWO_ROWS);
    let matrix = draft.weight([2, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let expected = f32s([2, 2], &[1.0, 5.0, 4.0, 11.0]);
    let turned = draft.operator("Gemm", &[&rows, &matrix], Attributes::new().int("transB", 1), expected);

    let mut draft = Draft::new("product with a constant");
    let rows = draft.floats([2, 3], &TWO_ROWS);
    let matrix = draft.weight([3, 2], &TWO_ROWS);
    let expected = f32s([2, 2], &[22.0, 28.0, 49.0, 64.0]);
    let constant = draft.operator("MatMul", &[&rows, &matrix], Attributes::new(), expected);

    let mut draft = Draft::new("product of two values");
    let left = draft.floats([2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let right = draft.floats([2, 2], &[0.0, 1.0, 2.0, 3.0]);
    let expected = f32s([2, 2], &[4.0, 7.0, 8.0, 15.0]);
    let values = draft.operator("MatMul", &[&left, &right], Attributes::new(), expected);
    vec![biased, turned, constant, values]
}
