//! Operators that move elements, join values, or change their type.

use millstream_backend::Tensor;
use millstream_graph::DataType;
use millstream_onnx::{Attributes, Weight};

use crate::golden::draft::{Draft, Golden, f32s};

const SIX: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

pub(super) fn cases() -> Vec<Golden> {
    let mut cases = vec![channels_joined(), columns_joined()];
    cases.extend(relabelled());
    cases.extend(moved());
    cases.extend(reduced());
    cases
}

fn channels_joined() -> Golden {
    let mut draft = Draft::new("channels joined");
    let one = draft.floats([1, 1, 1, 2], &SIX[..2]);
    let two = draft.floats([1, 2, 1, 2], &SIX[2..]);
    draft.operator("Concat", &[&one, &two], Attributes::new().int("axis", 1), f32s([1, 3, 1, 2], &SIX))
}

fn columns_joined() -> Golden {
    let mut draft = Draft::new("columns joined");
    let one = draft.floats([2, 1], &[1.0, 4.0]);
    let two = draft.floats([2, 2], &[2.0, 3.0, 5.0, 6.0]);
    draft.operator("Concat", &[&one, &two], Attributes::new().int("axis", -1), f32s([2, 3], &SIX))
}

fn relabelled() -> Vec<Golden> {
    let mut draft = Draft::new("another shape");
    let value = draft.floats([2, 3], &SIX);
    let shape = draft.builder.weight("shape", &Weight::from_i64([2], &[3, -1]));
    let reshape = draft.operator("Reshape", &[&value, &shape], Attributes::new(), f32s([3, 2], &SIX));

    let mut draft = Draft::new("flat");
    let value = draft.floats([1, 3, 1, 2], &SIX);
    let flatten = draft.operator("Flatten", &[&value], Attributes::new(), f32s([1, 6], &SIX));

    let mut draft = Draft::new("one dimension more");
    let value = draft.floats([2, 3], &SIX);
    let axes = draft.builder.weight("axes", &Weight::from_i64([1], &[1]));
    let unsqueeze = draft.operator("Unsqueeze", &[&value, &axes], Attributes::new(), f32s([2, 1, 3], &SIX));
    vec![reshape, flatten, unsqueeze]
}

fn moved() -> Vec<Golden> {
    let mut draft = Draft::new("turned");
    let value = draft.floats([1, 2, 3], &SIX);
    let expected = f32s([1, 3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let turned = draft.operator("Transpose", &[&value], Attributes::new().ints("perm", &[0, 2, 1]), expected);

    let mut draft = Draft::new("rows of a table");
    let table = draft.weight([3, 2], &SIX);
    let places = draft.input(Tensor::from_i64([2], vec![2, 0]));
    let expected = f32s([2, 2], &[5.0, 6.0, 1.0, 2.0]);
    let gathered = draft.operator("Gather", &[&table, &places], Attributes::new(), expected);

    let mut draft = Draft::new("twice the size");
    let image = draft.floats([1, 1, 1, 2], &SIX[..2]);
    let scales = draft.weight([4], &[1.0, 1.0, 2.0, 2.0]);
    let attributes = Attributes::new().text("mode", "nearest").text("coordinate_transformation_mode", "asymmetric");
    let expected = f32s([1, 1, 2, 4], &[1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]);
    let attributes = attributes.text("nearest_mode", "floor");
    let resized = draft.operator("Resize", &[&image, "", &scales], attributes, expected);
    vec![turned, gathered, resized]
}

fn reduced() -> Vec<Golden> {
    let mut draft = Draft::new("mean of rows");
    let value = draft.floats([1, 2, 3], &SIX);
    let attributes = Attributes::new().ints("axes", &[2]).int("keepdims", 0);
    let mean = draft.operator("ReduceMean", &[&value], attributes, f32s([1, 2], &[2.0, 5.0]));

    let mut draft = Draft::new("integers to floats");
    let integers = [-3_i32, 7].into_iter().flat_map(i32::to_ne_bytes).collect();
    let value = draft.input(Tensor::from_bytes(DataType::I32, [2], integers));
    // 1 stands for f32 in files.
    let cast = draft.operator("Cast", &[&value], Attributes::new().int("to", 1), f32s([2], &[-3.0, 7.0]));
    vec![mean, cast]
}
