//! Tensors to put in, and whether those that come out are right.

use millstream_backend::{Segment, Tensor};
use millstream_graph::{DataType, Graph, Shape, ValueId};

/// Floats between -1 and 1 that differ from each other, by a seed.
pub(crate) fn floats(count: u64, seed: u64) -> Vec<f32> {
    // The step is no multiple of the prime, whatever the seed.
    let step = 2 + 7 * seed % 97;
    (0..count).map(|index| ((index * step + seed * 11) % 101) as f32 / 50.0 - 1.0).collect()
}

/// A made-up tensor for a value. Integers may stand for positions in tables of any size, so that 64-bit ones are 0
/// and 1.
pub(crate) fn made_up(graph: &Graph, id: ValueId, seed: u64) -> Result<Tensor, String> {
    let value = graph.value(id);
    let (Some(data_type), Some(shape)) = (value.data_type, value.shape.clone()) else {
        return Err(format!("the type and shape of '{}' are not known", value.name));
    };
    Ok(of_type(data_type, shape, seed))
}

fn of_type(data_type: DataType, shape: Shape, seed: u64) -> Tensor {
    let count = shape.elements();
    match data_type {
        DataType::F32 => Tensor::from_f32(shape, floats(count, seed)),
        DataType::I64 => Tensor::from_i64(shape, (0..count).map(|index| ((index + seed) % 2) as i64).collect()),
        DataType::I32 => {
            let bytes = (0..count).flat_map(|index| (((index * 37 + seed) % 201) as i32 - 100).to_ne_bytes()).collect();
            Tensor::from_bytes(data_type, shape, bytes)
        }
        other => {
            // One byte after the other; elements of several bytes are small numbers.
            let size = other.bytes().unwrap_or(1) as u64;
            let byte = |index: u64| if index.is_multiple_of(size) { ((index * 37 + seed * 11) % 251) as u8 } else { 0 };
            let byte = |index| if other == DataType::Bool { byte(index) % 2 } else { byte(index) };
            Tensor::from_bytes(other, shape, (0..count * size).map(byte).collect())
        }
    }
}

/// Made-up tensors for what a segment reads.
pub(crate) fn inputs_of(graph: &Graph, segment: &Segment, seed: u64) -> Result<Vec<Tensor>, String> {
    segment.boundary.inputs.iter().zip(seed..).map(|(&id, seed)| made_up(graph, id, seed)).collect()
}

/// Made-up tensors for a frame.
pub(crate) fn frame_of(graph: &Graph, seed: u64) -> Result<Vec<Tensor>, String> {
    graph.inputs().iter().zip(seed..).map(|(&id, seed)| made_up(graph, id, seed)).collect()
}

/// Elements of a tensor of floats, wherever they lie in memory.
fn elements(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}

/// Whether two lists of tensors are alike. Floats may differ by `tolerance` of the largest expected one, everything
/// else must be equal.
pub(crate) fn agree(found: &[Tensor], expected: &[Tensor], tolerance: f32) -> Result<(), String> {
    agree_in_steps(found, expected, tolerance, 0)
}

/// The same; integers of 8 bits may differ by so many.
pub(crate) fn agree_in_steps(found: &[Tensor], expected: &[Tensor], tolerance: f32, steps: u8) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} tensors were made, not {}", found.len(), expected.len()));
    }
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        agree_one(found, expected, tolerance, steps).map_err(|detail| format!("result {index}: {detail}"))?;
    }
    Ok(())
}

fn agree_one(found: &Tensor, expected: &Tensor, tolerance: f32, steps: u8) -> Result<(), String> {
    if found.description() != expected.description() {
        return Err(format!("it is {}, not {}", found.description(), expected.description()));
    }
    let (Some(found_bytes), Some(expected_bytes)) = (found.bytes(), expected.bytes()) else {
        return Err("its elements are not in host memory".to_owned());
    };
    if found_bytes.len() != expected_bytes.len() {
        return Err(format!("it has {} bytes, not {}", found_bytes.len(), expected_bytes.len()));
    }

    match found.data_type() {
        DataType::F32 => floats_agree(&elements(found_bytes), &elements(expected_bytes), tolerance),
        data_type => bytes_agree(found_bytes, expected_bytes, data_type, steps),
    }
}

/// Whether all differ by at most `tolerance` of the largest finite one that was expected.
fn floats_agree(found: &[f32], expected: &[f32], tolerance: f32) -> Result<(), String> {
    let finite = expected.iter().filter(|value| value.is_finite());
    let scale = finite.fold(1e-6_f32, |largest, value| largest.max(value.abs()));
    let is_close = |a: f32, b: f32| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * scale;
    let place = found.iter().zip(expected).position(|(&a, &b)| !is_close(a, b));
    place.map_or(Ok(()), |place| Err(format!("element {place} is {}, not {}", found[place], expected[place])))
}

/// Whether integers of 8 bits differ by at most `steps`; elements of other types have to be the same.
fn bytes_agree(found: &[u8], expected: &[u8], data_type: DataType, steps: u8) -> Result<(), String> {
    let is_close = |a: u8, b: u8| match data_type {
        DataType::U8 => a.abs_diff(b) <= steps,
        DataType::I8 => a.cast_signed().abs_diff(b.cast_signed()) <= steps,
        _ => a == b,
    };
    let place = found.iter().zip(expected).position(|(&a, &b)| !is_close(a, b));
    place.map_or(Ok(()), |place| Err(format!("byte {place} is {}, not {}", found[place], expected[place])))
}

/// Parts joined along a dimension.
pub(crate) fn joined(parts: &[Tensor], axis: usize) -> Result<Tensor, String> {
    let first = parts.first().ok_or("there are no parts")?;
    let mut dimensions = first.shape().dimensions().to_vec();
    let rows: usize = dimensions.iter().take(axis).product();
    let size = |part: &Tensor| part.shape().dimensions().get(axis).copied().unwrap_or(0);
    let total = parts.iter().map(size).sum();
    *dimensions.get_mut(axis).ok_or("a part has too few dimensions")? = total;
    let bytes: Option<Vec<&[u8]>> = parts.iter().map(Tensor::bytes).collect();
    let bytes = bytes.ok_or("a part is not in host memory")?;
    let mut all = Vec::with_capacity(bytes.iter().map(|part| part.len()).sum());
    for row in 0..rows {
        for part in &bytes {
            let length = part.len() / rows;
            all.extend_from_slice(&part[row * length..(row + 1) * length]);
        }
    }
    Ok(Tensor::from_bytes(first.data_type(), dimensions, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_to_the_largest_element() {
        let tensor = |elements: [f32; 2]| [Tensor::from_f32([2], elements.to_vec())];
        assert_eq!(agree(&tensor([100.0, 0.001]), &tensor([100.0, 0.0]), 1e-4), Ok(()));
        assert!(agree(&tensor([100.0, 0.02]), &tensor([100.0, 0.0]), 1e-4).unwrap_err().contains("element 1"));
        assert!(agree(&tensor([f32::NAN, 1.0]), &tensor([1.0, 1.0]), 1e-4).is_err());
        assert_eq!(agree(&tensor([f32::NAN, 1.0]), &tensor([f32::NAN, 1.0]), 1e-4), Ok(()));
        assert!(agree(&[], &tensor([1.0, 1.0]), 1e-4).is_err());
        assert!(agree(&[Tensor::from_f32([1, 2], vec![1.0; 2])], &tensor([1.0; 2]), 1e-4).is_err());
        let byte = |data_type, byte| [Tensor::from_bytes(data_type, [1], vec![byte])];
        let steps =
            |one, other, data_type| agree_in_steps(&byte(data_type, one), &byte(data_type, other), 1.0, 1).is_ok();
        assert!(steps(127, 128, DataType::U8) && !steps(126, 128, DataType::U8) && !steps(127, 128, DataType::I8));
        assert!(steps(255, 0, DataType::I8) && !steps(255, 0, DataType::U8) && !steps(1, 0, DataType::Bool));
        assert!(agree(&byte(DataType::U8, 1), &byte(DataType::U8, 2), 1.0).is_err());
        assert!(agree(&[Tensor::from_i64([1], vec![3])], &[Tensor::from_i64([1], vec![2])], 1.0).is_err());
    }

    #[test]
    fn columns_are_joined_row_by_row() {
        let left = Tensor::from_f32([2, 1], vec![1.0, 4.0]);
        let right = Tensor::from_f32([2, 2], vec![2.0, 3.0, 5.0, 6.0]);
        let whole = Tensor::from_f32([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(agree(&[joined(&[left, right], 1).unwrap()], &[whole], 0.0), Ok(()));
    }
}
