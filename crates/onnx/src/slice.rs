//! Parts of values and of weights along a dimension.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::model::Model;
use crate::proto::{AttributeProto, NodeProto};
use crate::weight::Weight;

/// The version of the default operator set from which on `Slice` takes its bounds as inputs.
const SLICE_WITH_INPUTS: i64 = 10;

impl Model {
    /// A node that takes the part `range` of a value along a dimension. The weights that it reads are added to
    /// `weights`.
    pub(crate) fn slice_along(
        &self,
        weights: &mut Vec<(String, Cow<'_, Weight>)>,
        value: &str,
        sliced: &str,
        axis: usize,
        range: Range<usize>,
    ) -> NodeProto {
        let mut slice = NodeProto {
            input: vec![value.to_owned()],
            output: vec![sliced.to_owned()],
            name: Some(format!("slice for {sliced}")),
            op_type: Some("Slice".to_owned()),
            ..NodeProto::default()
        };
        let is_default = |domain: &Option<String>| domain.as_deref().is_none_or(str::is_empty);
        let version = self.header.opset_import.iter().find(|import| is_default(&import.domain));
        let version = version.and_then(|import| import.version).unwrap_or(SLICE_WITH_INPUTS);
        for (what, value) in [("starts", range.start), ("ends", range.end), ("axes", axis)] {
            if version < SLICE_WITH_INPUTS {
                slice.attribute.push(AttributeProto::from_ints(what, &[value as i64]));
            } else {
                let name = format!("{what} of {sliced}");
                weights.push((name.clone(), Cow::Owned(Weight::from_i64([1], &[value as i64]))));
                slice.input.push(name);
            }
        }
        slice
    }
}

impl Weight {
    /// The part `range` along a dimension. Parts of the outermost dimension share the elements.
    ///
    /// # Panics
    /// If the weight has no such dimension or the range is outside it.
    pub fn slice(&self, axis: usize, range: &Range<usize>) -> Self {
        let dimensions = self.shape.dimensions();
        let element = self.data.len() / (self.shape.elements() as usize).max(1);
        let inner: usize = dimensions[axis + 1..].iter().product::<usize>() * element;
        let outer: usize = dimensions[..axis].iter().product();
        let row = dimensions[axis] * inner;
        let bounds = |index: usize| index * row + range.start * inner..index * row + range.end * inner;
        let data = if outer == 1 {
            self.data.slice(bounds(0))
        } else {
            let mut data = Vec::with_capacity(outer * range.len() * inner);
            (0..outer).for_each(|index| data.extend_from_slice(&self.data[bounds(index)]));
            Bytes::from(data)
        };
        let mut shape = dimensions.to_vec();
        shape[axis] = range.len();
        Self { data_type: self.data_type, shape: shape.into(), data }
    }
}
