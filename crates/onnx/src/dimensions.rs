//! Fixing the dimensions that a file leaves open.

use std::collections::HashSet;

use millstream_graph::Shape;

use crate::proto::{DimensionProto, ValueInfoProto};
use crate::{OnnxError, ReadOptions};

/// Shapes of all graph inputs; `None` for an input whose rank is not declared.
///
/// The first dimension of an input, if open, is the batch. Every other open dimension needs a size from the caller, by its name or
/// by its place, such as `input.2`, which wins; all that lack one are reported together. A name that the batch of some input has means
/// the batch everywhere.
pub(crate) fn fix(inputs: &[&ValueInfoProto], options: &ReadOptions) -> Result<Vec<Option<Shape>>, OnnxError> {
    let batches: HashSet<&str> = inputs.iter().filter_map(|input| batch_name(input)).collect();
    let mut open = Vec::new();
    let mut shapes = Vec::with_capacity(inputs.len());
    for input in inputs {
        let name = input.name.as_deref().unwrap_or_default();
        let tensor = input.r#type.as_ref().and_then(|value_type| value_type.tensor_type.as_ref());
        let Some(declared) = tensor.and_then(|tensor| tensor.shape.as_ref()) else {
            shapes.push(None);
            continue;
        };
        let sizes = declared.dim.iter().enumerate().map(|(position, dimension)| {
            size(dimension, name, position, options, &batches).unwrap_or_else(|label| {
                open.push(label);
                0
            })
        });
        shapes.push(Some(Shape::from(sizes.collect::<Vec<usize>>())));
    }
    if open.is_empty() {
        Ok(shapes)
    } else {
        open.dedup();
        Err(OnnxError::OpenDimensions { dimensions: open })
    }
}

fn size(
    dimension: &DimensionProto,
    input: &str,
    position: usize,
    options: &ReadOptions,
    batches: &HashSet<&str>,
) -> Result<usize, String> {
    // A negative size is how some exporters write an open one; zero is a size.
    if let Some(size) = dimension.dim_value.and_then(|size| usize::try_from(size).ok()) {
        return Ok(size);
    }
    let place = format!("{input}.{position}");
    let name = dimension.dim_param.as_deref().filter(|name| is_name(name)).unwrap_or(&place);
    match options.dimensions.get(&place).or_else(|| options.dimensions.get(name)) {
        Some(&size) => Ok(size),
        None if position == 0 || batches.contains(name) => Ok(options.batch),
        None => Err(format!("{name} (dimension {position} of input '{input}')")),
    }
}

/// What the file calls an input's first dimension, if that is open and has a name.
fn batch_name(input: &ValueInfoProto) -> Option<&str> {
    let first = input.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?.dim.first()?;
    let is_fixed = first.dim_value.is_some_and(|size| size >= 0);
    first.dim_param.as_deref().filter(|name| is_name(name) && !is_fixed)
}

/// Whether a dimension's text is a name of its own. Exporters that have none write a question mark, which would make all such
/// dimensions one.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "?"
}
