//! What an operator makes of constants, for those that models compute weights with. The results are bit by bit those
//! that a runtime computes; what is not certain to be is left to the runtime.

use half::{bf16, f16};
use millstream_graph::{DataType, Shape};

use crate::external::ExternalFiles;
use crate::moves::{concatenate, expand, gather, slice, transpose};
use crate::proto::NodeProto;
use crate::types::from_onnx;
use crate::weight::Weight;

/// The only output of `node`, whose inputs are all constant; `shape` is the output's, as inferred. `None` if the
/// operator is not one of these, or the result would have more than `most_bytes`.
pub(crate) fn evaluate(
    node: &NodeProto,
    inputs: &[Option<&Weight>],
    shape: Option<&Shape>,
    most_bytes: u64,
) -> Option<Weight> {
    let input = |index: usize| inputs.get(index).copied().flatten();
    let fits = |data_type: DataType| {
        let element = data_type.bytes()? as u64;
        let bytes = shape?.elements().checked_mul(element)?;
        (bytes <= most_bytes).then_some(())
    };

    // What is only moved is as large as what it is made of, in all.
    let given: u64 = inputs.iter().flatten().fold(0, |sum, weight| sum.saturating_add(weight.data.len() as u64));
    let is_move = matches!(node.op(), "Transpose" | "Concat" | "Slice");
    if is_move && given > most_bytes {
        return None;
    }

    match node.op() {
        "Identity" => input(0).cloned(),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => relabel(input(0)?, shape?),
        "ConstantOfShape" => {
            let value = fill_value(node)?;
            fits(value.data_type)?;
            Some(filled(&value, shape?))
        }
        "Cast" => {
            let to = from_onnx(i32::try_from(node.int("to")?).ok()?)?;
            fits(to)?;
            cast(input(0)?, to)
        }
        "Add" | "Sub" | "Mul" | "Div" => {
            let (left, right) = (input(0)?, input(1)?);
            fits(left.data_type)?;
            combine(node.op(), left, right, shape?)
        }
        "Floor" | "Ceil" => {
            fits(input(0)?.data_type)?;
            let round = if node.op() == "Floor" { f32::floor } else { f32::ceil };
            let rounded = input(0)?.floats()?.into_iter().map(round).collect();
            Some(Weight::from_f32(input(0)?.shape.clone(), rounded))
        }
        "Transpose" => transpose(input(0)?, node.sizes("perm").as_deref()),
        "Expand" => {
            fits(input(0)?.data_type)?;
            expand(input(0)?, shape?)
        }
        "Concat" => concatenate(&inputs.iter().copied().collect::<Option<Vec<_>>>()?, node.int("axis")?),
        "Gather" => {
            fits(input(0)?.data_type)?;
            gather(input(0)?, input(1)?, node.int("axis").unwrap_or(0))
        }
        "Slice" => sliced(node, inputs),
        _ => None,
    }
}

/// A slice whose bounds are inputs or, in old operator sets, attributes.
fn sliced(node: &NodeProto, inputs: &[Option<&Weight>]) -> Option<Weight> {
    let input = |index: usize| inputs.get(index).copied().flatten();
    let list = |index: usize, name: &str| match input(index) {
        Some(list) => list.integers(),
        None => node.ints(name).map(<[i64]>::to_vec),
    };
    let starts = list(1, "starts")?;
    let axes = list(3, "axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list(4, "steps").unwrap_or_else(|| vec![1; starts.len()]);
    slice(input(0)?, &starts, &list(2, "ends")?, &axes, &steps)
}

/// The same elements in another shape.
fn relabel(data: &Weight, shape: &Shape) -> Option<Weight> {
    (data.shape.elements() == shape.elements()).then(|| Weight { shape: shape.clone(), ..data.clone() })
}

/// The single element that `ConstantOfShape` repeats: a float zero where the node does not say.
fn fill_value(node: &NodeProto) -> Option<Weight> {
    match node.attribute("value") {
        None => Some(Weight::from_f32([1], vec![0.0])),
        Some(value) => {
            let value = crate::weight::load("value", value.t.as_ref()?, &mut ExternalFiles::none()).ok()?;
            (value.shape.elements() == 1).then_some(value)
        }
    }
}

fn filled(value: &Weight, shape: &Shape) -> Weight {
    Weight {
        data_type: value.data_type,
        shape: shape.clone(),
        data: value.data.repeat(shape.elements() as usize).into(),
    }
}

/// Elements in another type. Only where the result is exact or rounds as IEEE 754 says.
fn cast(data: &Weight, to: DataType) -> Option<Weight> {
    let weight = |bytes: Vec<u8>| Weight { data_type: to, shape: data.shape.clone(), data: bytes.into() };
    if data.data_type == to {
        return Some(data.clone());
    }
    if let Some(integers) = integers(data) {
        return from_integers(&integers, to).map(weight);
    }
    let floats: Vec<f32> = match data.data_type {
        DataType::F32 => data.floats()?,
        DataType::F16 => data.data.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
        DataType::Bf16 => data.data.as_chunks().0.iter().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
        _ => return None,
    };
    let bytes = match to {
        DataType::F32 => floats.iter().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::F64 => floats.iter().flat_map(|&element| f64::from(element).to_le_bytes()).collect(),
        DataType::Bool => floats.iter().map(|&element| u8::from(element != 0.0)).collect(),
        // Beyond these whole numbers, processors differ.
        _ if floats.iter().all(|element| element.is_finite() && element.abs() < 1e6) => {
            from_integers(&floats.iter().map(|&element| element as i64).collect::<Vec<_>>(), to)?
        }
        _ => return None,
    };
    Some(weight(bytes))
}

/// The elements of any type of integers or booleans.
fn integers(data: &Weight) -> Option<Vec<i64>> {
    let bytes = &data.data;
    Some(match data.data_type {
        DataType::I64 | DataType::I32 => data.integers()?,
        DataType::I8 => bytes.iter().map(|&byte| i64::from(byte as i8)).collect(),
        DataType::U8 | DataType::Bool => bytes.iter().map(|&byte| i64::from(byte)).collect(),
        DataType::I16 => bytes.as_chunks().0.iter().map(|&bytes| i64::from(i16::from_le_bytes(bytes))).collect(),
        DataType::U16 => bytes.as_chunks().0.iter().map(|&bytes| i64::from(u16::from_le_bytes(bytes))).collect(),
        DataType::U32 => bytes.as_chunks().0.iter().map(|&bytes| i64::from(u32::from_le_bytes(bytes))).collect(),
        _ => return None,
    })
}

/// Integers in another type; `None` if one does not fit.
fn from_integers(values: &[i64], to: DataType) -> Option<Vec<u8>> {
    macro_rules! narrowed {
        ($type:ty) => {
            values
                .iter()
                .map(|&value| Some(<$type>::try_from(value).ok()?.to_le_bytes()))
                .collect::<Option<Vec<_>>>()?
                .concat()
        };
    }
    Some(match to {
        DataType::I64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        DataType::I32 => narrowed!(i32),
        DataType::I16 => narrowed!(i16),
        DataType::I8 => narrowed!(i8),
        DataType::U64 => narrowed!(u64),
        DataType::U32 => narrowed!(u32),
        DataType::U16 => narrowed!(u16),
        DataType::U8 => narrowed!(u8),
        DataType::Bool => values.iter().map(|&value| u8::from(value != 0)).collect(),
        DataType::F32 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
        DataType::F64 => values.iter().flat_map(|&value| (value as f64).to_le_bytes()).collect(),
        _ => return None,
    })
}

/// Element by element, with both sides repeated along the dimensions that they lack.
fn combine(op: &str, left: &Weight, right: &Weight, shape: &Shape) -> Option<Weight> {
    if left.data_type != right.data_type {
        return None;
    }
    let (left, right) = (expand(left, shape)?, expand(right, shape)?);
    let weight = |data: Vec<u8>| Weight { data_type: left.data_type, shape: shape.clone(), data: data.into() };
    if left.data_type == DataType::F32 {
        let pairs = left.floats()?.into_iter().zip(right.floats()?);
        let result = |(left, right): (f32, f32)| match op {
            "Add" => left + right,
            "Sub" => left - right,
            "Mul" => left * right,
            _ => left / right,
        };
        return Some(weight(pairs.map(result).flat_map(f32::to_le_bytes).collect()));
    }
    let result = |(left, right): (i64, i64)| match op {
        "Add" => left.checked_add(right),
        "Sub" => left.checked_sub(right),
        "Mul" => left.checked_mul(right),
        _ => left.checked_div(right),
    };
    let values: Option<Vec<i64>> = left.integers()?.into_iter().zip(right.integers()?).map(result).collect();
    from_integers(&values?, left.data_type).map(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::AttributeProto;

    fn node(op: &str, attributes: Vec<AttributeProto>) -> NodeProto {
        NodeProto { op_type: Some(op.to_owned()), attribute: attributes, ..NodeProto::default() }
    }

    fn run(node: &NodeProto, inputs: &[&Weight], shape: &[usize]) -> Option<Weight> {
        let inputs: Vec<Option<&Weight>> = inputs.iter().map(|input| Some(*input)).collect();
        evaluate(node, &inputs, Some(&Shape::from(shape.to_vec())), 1 << 20)
    }

    #[test]
    fn weights_that_were_packed_as_bytes_come_out_as_floats() {
        let packed = Weight { data_type: DataType::I8, shape: [2, 2].into(), data: vec![1, 255, 127, 128].into() };
        let floats = run(&node("Cast", vec![AttributeProto::from_int("to", 1)]), &[&packed], &[2, 2]).unwrap();
        assert_eq!(floats.floats().unwrap(), [1.0, -1.0, 127.0, -128.0]);
        let scale = Weight::from_f32([1, 2], vec![0.5, 0.1]);
        let scaled = run(&node("Mul", vec![]), &[&floats, &scale], &[2, 2]).unwrap();
        assert_eq!(scaled.floats().unwrap(), [0.5, -0.1, 63.5, -12.8]);
    }

    #[test]
    fn what_is_too_large_or_does_not_fit_is_left_alone() {
        let shape = Weight::from_i64([1], &[1 << 40]);
        let shape_of = Shape::from([1_usize << 40]);
        assert!(evaluate(&node("ConstantOfShape", vec![]), &[Some(&shape)], Some(&shape_of), 1 << 30).is_none());
        let wide = Weight::from_i64([1], &[300]);
        assert!(
            run(&node("Cast", vec![AttributeProto::from_int("to", 2)]), &[&wide], &[1]).is_none(),
            "300 is no byte"
        );
        let zero = Weight::from_i64([1], &[0]);
        assert!(run(&node("Div", vec![]), &[&wide, &zero], &[1]).is_none());
        let large = Weight::from_f32([1], vec![1e30]);
        assert!(run(&node("Cast", vec![AttributeProto::from_int("to", 7)]), &[&large], &[1]).is_none());
    }
}
