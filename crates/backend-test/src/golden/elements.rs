//! Operators element by element.

use millstream_onnx::Attributes;

use crate::golden::draft::{Draft, Golden, f32s};

/// The logarithm of 3: its sigmoid is 3/4.
const LN_3: f32 = 1.098_612_3;

pub(super) fn cases() -> Vec<Golden> {
    let mut cases = of_one_value();
    cases.extend(of_two());
    cases.push(several_results());
    cases
}

fn of_one_value() -> Vec<Golden> {
    let unary = |name, op_type: &str, attributes: Attributes, given: [f32; 3], expected: [f32; 3]| {
        let mut draft = Draft::new(name);
        let value = draft.floats([1, 3], &given);
        draft.operator(op_type, &[&value], attributes, f32s([1, 3], &expected))
    };
    let leak = Attributes::new().float("alpha", 0.5);
    let mut draft = Draft::new("limits");
    let value = draft.floats([1, 3], &[-1.0, 3.0, 9.0]);
    let limits = [draft.weight([], &[0.0]), draft.weight([], &[6.0])];
    let reads = [value.as_str(), &limits[0], &limits[1]];
    let clip = draft.operator("Clip", &reads, Attributes::new(), f32s([1, 3], &[0.0, 3.0, 6.0]));

    let mut draft = Draft::new("softmax of rows");
    let rows = draft.floats([2, 2], &[0.0, LN_3, 101.0 + LN_3, 101.0]);
    let expected = f32s([2, 2], &[0.25, 0.75, 0.75, 0.25]);
    let softmax = draft.operator("Softmax", &[&rows], Attributes::new().int("axis", -1), expected);
    vec![
        unary("rectifier", "Relu", Attributes::new(), [-1.0, 0.0, 2.0], [0.0, 0.0, 2.0]),
        unary("leaky rectifier", "LeakyRelu", leak, [-2.0, 0.0, 2.0], [-1.0, 0.0, 2.0]),
        unary("sigmoid", "Sigmoid", Attributes::new(), [0.0, LN_3, -LN_3], [0.5, 0.75, 0.25]),
        unary("error function", "Erf", Attributes::new(), [0.0, 1.0, -1.0], [0.0, 0.842_700_8, -0.842_700_8]),
        clip,
        softmax,
    ]
}

fn of_two() -> Vec<Golden> {
    let binary = |name, op_type: &str, expected: [f32; 2]| {
        let mut draft = Draft::new(name);
        let (left, right) = (draft.floats([1, 2], &[6.0, 9.0]), draft.floats([1, 2], &[2.0, -3.0]));
        draft.operator(op_type, &[&left, &right], Attributes::new(), f32s([1, 2], &expected))
    };
    // The operator reads the inputs in another order than the network declares them.
    let mut draft = Draft::new("difference the other way round");
    let (right, left) = (draft.floats([1, 2], &[6.0, 9.0]), draft.floats([1, 2], &[2.0, -3.0]));
    let turned = draft.operator("Sub", &[&left, &right], Attributes::new(), f32s([1, 2], &[-4.0, -12.0]));

    let mut draft = Draft::new("sum with a constant by channel");
    let image = draft.floats([1, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let constant = draft.weight([2, 1, 1], &[10.0, 20.0]);
    let expected = f32s([1, 2, 1, 2], &[11.0, 12.0, 23.0, 24.0]);
    let by_channel = draft.operator("Add", &[&image, &constant], Attributes::new(), expected);

    let mut draft = Draft::new("a constant less a value");
    let value = draft.floats([1, 2], &[1.0, 4.0]);
    let constant = draft.weight([], &[10.0]);
    let constant_first = draft.operator("Sub", &[&constant, &value], Attributes::new(), f32s([1, 2], &[9.0, 6.0]));
    vec![
        binary("sum", "Add", [8.0, 6.0]),
        binary("difference", "Sub", [4.0, 12.0]),
        binary("product by element", "Mul", [12.0, -27.0]),
        binary("quotient", "Div", [3.0, -3.0]),
        turned,
        by_channel,
        constant_first,
    ]
}

/// Two results of one shape, and one that an operator in the middle makes.
fn several_results() -> Golden {
    let mut draft = Draft::new("several results");
    let value = draft.floats([1, 2], &[-1.0, 2.0]);
    let factor = draft.weight([], &[3.0]);
    let tripled = draft.builder.node("Mul", &[&value, &factor]);
    let positive = draft.builder.node("Relu", &[&tripled]);
    let sum = draft.builder.node("Add", &[&positive, &tripled]);
    let draft = draft.makes(&sum, f32s([1, 2], &[-3.0, 12.0]));
    draft.makes(&tripled, f32s([1, 2], &[-3.0, 6.0])).done()
}
