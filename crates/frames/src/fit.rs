//! Whether an array fits an input or output, as one frame or as several.

use millstream_backend::Tensor;
use millstream_graph::{Shape, Value};

/// Type and shape of a value, such as `f32 [1, 3, 224, 224]`, with `?` for what is not known.
pub(crate) fn expected(value: &Value) -> String {
    let data_type = value.data_type.map_or_else(|| "?".to_owned(), |data_type| data_type.to_string());
    let shape = value.shape.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    format!("{data_type} {shape}")
}

/// Names in quotes, for messages.
pub(crate) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// The frames that an array holds for a value: one if it has the value's shape, several one after the other if it has
/// one more dimension in front, or a larger batch than one.
///
/// # Errors
/// What the array would have to be.
pub(crate) fn frames(array: &Tensor, value: &Value) -> Result<Vec<Tensor>, String> {
    let misfit = || format!("it is {}, but '{}' is {}", array.description(), value.name, expected(value));
    if value.data_type.is_some_and(|data_type| data_type != array.data_type()) {
        return Err(misfit());
    }
    let Some(shape) = &value.shape else { return Ok(vec![array.clone()]) };
    if array.shape() == shape {
        return Ok(vec![array.clone()]);
    }
    let (sizes, wanted) = (array.shape().dimensions(), shape.dimensions());
    let is_stack = sizes.split_first().is_some_and(|(_, rest)| rest == wanted);
    let is_batch = sizes.len() == wanted.len() && wanted.first() == Some(&1) && sizes.get(1..) == wanted.get(1..);
    let count = sizes.first().copied().filter(|&count| count > 0 && (is_stack || is_batch)).ok_or_else(misfit)?;
    let bytes = array.bytes().ok_or_else(misfit)?;
    let piece = bytes.len() / count;
    let frame = |index: usize| bytes[index * piece..(index + 1) * piece].to_vec();
    Ok((0..count).map(|index| Tensor::from_bytes(array.data_type(), Shape::clone(shape), frame(index))).collect())
}
