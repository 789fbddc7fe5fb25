//! Fixing the dimensions that a file leaves open.

use std::collections::{BTreeSet, HashSet};

use millstream_graph::Shape;

use crate::error::OnnxError;
use crate::options::{ReadOptions, USUAL_BATCH};
use crate::proto::{DimensionProto, ValueInfoProto};

/// Shapes of all graph inputs; `None` for an input whose rank is not declared.
///
/// The first dimension of an input, if open, is the batch. Every other open dimension needs a size from the caller, by
/// its name or by its place, such as `input.2`, which wins; all that lack one are reported together. A name that the
/// batch of some input has means the batch everywhere. A size for a dimension that no input has is refused: it would be
/// a misspelt one that stays as it is.
pub(crate) fn fix(inputs: &[&ValueInfoProto], options: &ReadOptions) -> Result<Vec<Option<Shape>>, OnnxError> {
    check_names(inputs, options)?;
    let batches: HashSet<&str> = inputs.iter().filter_map(|input| batch_name(input)).collect();
    let mut has_first = inputs.iter().filter_map(|input| dimensions_of(input).next());
    if options.batch != USUAL_BATCH && !has_first.any(|(_, _, first)| !is_fixed(first)) {
        return Err(OnnxError::NoBatch { batch: options.batch });
    }

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
    if let Some(size) = dimension.dim_value.and_then(|size| usize::try_from(size).ok()) {
        return Ok(size);
    }
    let place = format!("{input}.{position}");
    let name = own_name(dimension).unwrap_or(&place);
    match options.dimensions.get(&place).or_else(|| options.dimensions.get(name)) {
        Some(&size) => Ok(size),
        None if position == 0 || batches.contains(name) => Ok(options.batch),
        None => Err(format!("{name} (dimension {position} of input '{input}')")),
    }
}

/// Refuses sizes of dimensions that the file does not leave open.
fn check_names(inputs: &[&ValueInfoProto], options: &ReadOptions) -> Result<(), OnnxError> {
    let mut names = BTreeSet::new();
    let mut places = HashSet::new();
    for (input, position, dimension) in inputs.iter().flat_map(|input| dimensions_of(input)) {
        let place = format!("{}.{position}", input.name.as_deref().unwrap_or_default());
        if is_fixed(dimension) {
            // To ask for the size that it has is no mistake.
            let asked = options.dimensions.get(&place).and_then(|&size| i64::try_from(size).ok());
            places.extend(asked.filter(|&size| dimension.dim_value == Some(size)).map(|_| place));
            continue;
        }
        names.insert(own_name(dimension).map_or_else(|| place.clone(), str::to_owned));
        places.insert(place);
    }

    let is_unknown = |name: &&String| !names.contains(*name) && !places.contains(*name);
    let unknown: Vec<String> = options.dimensions.keys().filter(is_unknown).cloned().collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(OnnxError::UnknownDimensions { unknown, open: names.into_iter().collect() })
    }
}

/// An input's dimensions by position; none where its rank is not declared.
fn dimensions_of(input: &ValueInfoProto) -> impl Iterator<Item = (&ValueInfoProto, usize, &DimensionProto)> {
    let tensor = input.r#type.as_ref().and_then(|value_type| value_type.tensor_type.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    let dimensions = shape.into_iter().flat_map(|shape| &shape.dim);
    dimensions.enumerate().map(move |(position, dimension)| (input, position, dimension))
}

/// Whether the file says its size. A negative size is how some exporters write an open one; zero is a size.
fn is_fixed(dimension: &DimensionProto) -> bool {
    dimension.dim_value.is_some_and(|size| size >= 0)
}

fn own_name(dimension: &DimensionProto) -> Option<&str> {
    dimension.dim_param.as_deref().filter(|name| is_name(name))
}

/// What the file calls an input's first dimension, if that is open and has a name.
fn batch_name(input: &ValueInfoProto) -> Option<&str> {
    let (_, _, first) = dimensions_of(input).next()?;
    own_name(first).filter(|_| !is_fixed(first))
}

/// Whether a dimension's text is a name of its own. Exporters that have none write a question mark, which would make
/// all such dimensions one.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "?"
}
