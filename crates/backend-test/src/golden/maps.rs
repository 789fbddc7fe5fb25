//! Operators on maps of an image: convolution, pooling, normalisation.

use millstream_onnx::Attributes;

use crate::golden::draft::{Draft, Golden, f32s};

pub(super) fn cases() -> Vec<Golden> {
    let mut cases = convolutions();
    cases.extend(grouped_convolutions());
    cases.extend(pools());
    cases.extend(normalisations());
    cases
}

/// 1, 2, 3 and so on.
fn counted<const N: usize>(draft: &mut Draft, shape: [usize; N]) -> String {
    let count: usize = shape.iter().product();
    draft.floats(shape, &(1..=count).map(|value| value as f32).collect::<Vec<_>>())
}

fn convolutions() -> Vec<Golden> {
    let mut draft = Draft::new("convolution with a bias");
    let image = counted(&mut draft, [1, 1, 4, 4]);
    let (filter, bias) = (draft.weight([1, 1, 3, 3], &[1.0; 9]), draft.weight([1], &[1.0]));
    let reads = [image.as_str(), &filter, &bias];
    // Nine times the middle of each window, and one.
    let plain = draft.operator("Conv", &reads, Attributes::new(), f32s([1, 1, 2, 2], &[55.0, 64.0, 91.0, 100.0]));

    let mut draft = Draft::new("convolution with padding and strides");
    let image = counted(&mut draft, [1, 1, 3, 3]);
    let filter = draft.weight([1, 1, 3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let attributes = Attributes::new().ints("pads", &[1; 4]).ints("strides", &[2; 2]);
    let expected = f32s([1, 1, 2, 2], &[94.0, 106.0, 106.0, 94.0]);
    let padded = draft.operator("Conv", &[&image, &filter], attributes, expected);

    let mut draft = Draft::new("convolution with dilation and uneven padding");
    let image = counted(&mut draft, [1, 1, 1, 5]);
    let filter = draft.weight([1, 1, 1, 2], &[1.0, 10.0]);
    let attributes = Attributes::new().ints("pads", &[0, 1, 0, 2]).ints("dilations", &[1, 2]);
    let expected = f32s([1, 1, 1, 6], &[20.0, 31.0, 42.0, 53.0, 4.0, 5.0]);
    let dilated = draft.operator("Conv", &[&image, &filter], attributes, expected);

    let mut draft = Draft::new("convolution of two images to two channels");
    let images = counted(&mut draft, [2, 2, 1, 1]);
    let filter = draft.weight([2, 2, 1, 1], &[1.0, 10.0, -1.0, 1.0]);
    let expected = f32s([2, 2, 1, 1], &[21.0, 1.0, 43.0, 1.0]);
    let batch = draft.operator("Conv", &[&images, &filter], Attributes::new(), expected);
    vec![plain, padded, dilated, batch]
}

fn grouped_convolutions() -> Vec<Golden> {
    let mut draft = Draft::new("convolution in two groups");
    // More than two input channels each, or it would be a depthwise one to the cost models.
    let image = counted(&mut draft, [1, 6, 1, 1]);
    let filter = draft.weight([4, 3, 1, 1], &[1.0, 1.0, 1.0, 1.0, -1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
    let expected = f32s([1, 4, 1, 1], &[6.0, -1.0, 13.0, 18.0]);
    let grouped = draft.operator("Conv", &[&image, &filter], Attributes::new().int("group", 2), expected);

    let mut draft = Draft::new("depthwise convolution");
    let image = counted(&mut draft, [1, 2, 1, 2]);
    let filter = draft.weight([2, 1, 1, 1], &[10.0, 100.0]);
    let expected = f32s([1, 2, 1, 2], &[10.0, 20.0, 300.0, 400.0]);
    let depthwise = draft.operator("Conv", &[&image, &filter], Attributes::new().int("group", 2), expected);
    vec![grouped, depthwise]
}

fn pools() -> Vec<Golden> {
    let mut draft = Draft::new("maximum over windows that reach over the edge");
    let image = counted(&mut draft, [1, 1, 3, 3]);
    let attributes = Attributes::new().ints("kernel_shape", &[2; 2]).ints("strides", &[2; 2]).int("ceil_mode", 1);
    let largest = draft.operator("MaxPool", &[&image], attributes, f32s([1, 1, 2, 2], &[5.0, 6.0, 8.0, 9.0]));

    let mut draft = Draft::new("maximum of negative values beside padding");
    let image = draft.floats([1, 1, 2, 2], &[-1.0, -2.0, -3.0, -4.0]);
    let attributes = Attributes::new().ints("kernel_shape", &[3; 2]).ints("pads", &[1; 4]);
    let negative = draft.operator("MaxPool", &[&image], attributes, f32s([1, 1, 2, 2], &[-1.0; 4]));

    let mean = |name, counts_padding, expected: [f32; 4]| {
        let mut draft = Draft::new(name);
        let image = counted(&mut draft, [1, 1, 2, 2]);
        let attributes = Attributes::new().ints("kernel_shape", &[2; 2]).ints("pads", &[1, 1, 0, 0]);
        let attributes = attributes.int("count_include_pad", counts_padding);
        draft.operator("AveragePool", &[&image], attributes, f32s([1, 1, 2, 2], &expected))
    };

    let mut draft = Draft::new("mean of a whole channel");
    let image = counted(&mut draft, [1, 2, 2, 2]);
    let global = draft.operator("GlobalAveragePool", &[&image], Attributes::new(), f32s([1, 2, 1, 1], &[2.5, 6.5]));
    vec![
        largest,
        negative,
        mean("mean without padding", 0, [1.0, 1.5, 2.0, 2.5]),
        mean("mean with padding", 1, [0.25, 0.75, 1.0, 2.5]),
        global,
    ]
}

fn normalisations() -> Vec<Golden> {
    let mut draft = Draft::new("batch normalisation");
    let image = counted(&mut draft, [1, 2, 1, 2]);
    let (scale, shift) = (draft.weight([2], &[2.0, 10.0]), draft.weight([2], &[1.0, 0.0]));
    let (mean, variance) = (draft.weight([2], &[1.0, 3.0]), draft.weight([2], &[4.0, 0.25]));
    let reads = [image.as_str(), &scale, &shift, &mean, &variance];
    let attributes = Attributes::new().float("epsilon", 0.0);
    let expected = f32s([1, 2, 1, 2], &[1.0, 2.0, 0.0, 20.0]);
    let batch = draft.operator("BatchNormalization", &reads, attributes, expected);

    let mut draft = Draft::new("local response normalisation");
    let image = counted(&mut draft, [1, 3, 1, 1]);
    let attributes = Attributes::new().int("size", 3).float("alpha", 3.0).float("beta", 1.0).float("bias", 1.0);
    // Each over one and the squares of itself and its neighbours.
    let expected = f32s([1, 3, 1, 1], &[1.0 / 6.0, 2.0 / 15.0, 3.0 / 14.0]);
    let local = draft.operator("LRN", &[&image], attributes, expected);

    let mut draft = Draft::new("layer normalisation");
    let rows = draft.floats([2, 2], &[1.0, 3.0, 7.0, 3.0]);
    let (scale, shift) = (draft.weight([2], &[1.0, 2.0]), draft.weight([2], &[0.0, 1.0]));
    let attributes = Attributes::new().int("axis", -1).float("epsilon", 0.0);
    let expected = f32s([2, 2], &[-1.0, 3.0, 1.0, -1.0]);
    let layer = draft.operator("LayerNormalization", &[&rows, &scale, &shift], attributes, expected);
    vec![batch, local, layer]
}
