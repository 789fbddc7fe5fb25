//! What recurrent networks and Fourier transforms make: shapes by ONNX's definitions.

use crate::proto::NodeProto;

/// The outputs of `LSTM`, `GRU` and `RNN`: all states, the last one, and the last cells of an `LSTM`. `recurrent` is the
/// shape of the weights between states, with a hidden state in its last dimension.
pub(crate) fn states(node: &NodeProto, input: &[usize], recurrent: &[usize]) -> Option<Vec<Vec<usize>>> {
    let (&[first, second, _], &[directions, _, hidden]) = (input, recurrent) else { return None };
    let (all, last) = if node.int("layout").unwrap_or(0) == 0 {
        (vec![first, directions, second, hidden], vec![directions, second, hidden])
    } else {
        (vec![first, second, directions, hidden], vec![first, directions, hidden])
    };
    Some(vec![all, last.clone(), last])
}

/// The output of `DFT` without a length of its own: complex numbers, half of them if it is one-sided.
pub(crate) fn spectrum(node: &NodeProto, input: &[usize], opset: i64) -> Option<Vec<usize>> {
    let has = |index: usize| node.input.get(index).is_some_and(|name| !name.is_empty());
    let is_one_sided = node.int("onesided").unwrap_or(0) != 0;
    let is_inverse = node.int("inverse").unwrap_or(0) != 0;
    if has(1) || has(2) || is_one_sided && is_inverse {
        return None;
    }
    let axis = if opset < 20 { node.int("axis").unwrap_or(1) } else { -2 };
    let dimensions = i64::try_from(input.len()).ok()?;
    let axis = usize::try_from(if axis < 0 { axis.checked_add(dimensions)? } else { axis }).ok()?;

    let mut made = input.to_vec();
    *made.last_mut()? = 2;
    let size = made.get_mut(axis).filter(|_| axis + 1 < input.len())?;
    *size = if is_one_sided { *size / 2 + 1 } else { *size };
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::AttributeProto;

    fn node(inputs: &[&str], attributes: &[(&str, i64)]) -> NodeProto {
        NodeProto {
            input: inputs.iter().map(|name| (*name).to_owned()).collect(),
            attribute: attributes.iter().map(|&(name, value)| AttributeProto::from_int(name, value)).collect(),
            ..NodeProto::default()
        }
    }

    #[test]
    fn states_have_a_direction_of_their_own() {
        let made = |layout| states(&node(&["x", "w", "r"], &[("layout", layout)]), &[7, 3, 5], &[2, 16, 4]);
        assert_eq!(made(0), Some(vec![vec![7, 2, 3, 4], vec![2, 3, 4], vec![2, 3, 4]]));
        assert_eq!(made(1), Some(vec![vec![7, 3, 2, 4], vec![7, 2, 4], vec![7, 2, 4]]));
        assert_eq!(states(&node(&["x", "w", "r"], &[]), &[7, 3], &[2, 16, 4]), None);
    }

    #[test]
    fn a_spectrum_is_complex() {
        let made = |inputs: &[&str], attributes: &[(&str, i64)], opset| {
            spectrum(&node(inputs, attributes), &[3, 10, 12, 1], opset)
        };
        assert_eq!(made(&["x"], &[], 17), Some(vec![3, 10, 12, 2]));
        assert_eq!(made(&["x"], &[("onesided", 1)], 17), Some(vec![3, 6, 12, 2]));
        assert_eq!(made(&["x"], &[("onesided", 1), ("axis", -2)], 17), Some(vec![3, 10, 7, 2]));
        assert_eq!(made(&["x", ""], &[("onesided", 1)], 20), Some(vec![3, 10, 7, 2]));
        for (inputs, attributes) in [
            (&["x", "length"][..], &[][..]),
            (&["x", "", "axis"], &[]),
            (&["x"], &[("onesided", 1), ("inverse", 1)]),
            (&["x"], &[("axis", 3)]),
            (&["x"], &[("axis", -9)]),
        ] {
            assert_eq!(made(inputs, attributes, 17), None, "{inputs:?} {attributes:?}");
        }
    }
}
