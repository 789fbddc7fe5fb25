//! Shapes of operators that slide a window over any number of spatial dimensions.

use crate::proto::NodeProto;

/// A window's attributes, one entry per spatial dimension.
struct Window {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Begin and end of each dimension.
    pads: Vec<(i64, i64)>,
    /// Padding that makes the output's size depend on the stride alone.
    is_same: bool,
    rounds_up: bool,
}

impl Window {
    fn of(node: &NodeProto, kernel: &[usize]) -> Option<Self> {
        let dimensions = kernel.len();
        let list = |name: &str| match node.sizes(name) {
            None => Some(vec![1; dimensions]),
            Some(sizes) => (sizes.len() == dimensions && !sizes.contains(&0)).then_some(sizes),
        };
        let pads = match node.ints("pads") {
            None => vec![(0, 0); dimensions],
            Some(pads) if pads.len() == 2 * dimensions => {
                (0..dimensions).map(|axis| (pads[axis], pads[dimensions + axis])).collect()
            }
            Some(_) => return None,
        };
        Some(Self {
            kernel: kernel.to_vec(),
            strides: list("strides")?,
            dilations: list("dilations")?,
            pads: if node.text("auto_pad") == Some("VALID") { vec![(0, 0); dimensions] } else { pads },
            is_same: matches!(node.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER")),
            rounds_up: node.int("ceil_mode").unwrap_or(0) != 0,
        })
    }

    /// How many elements the window spans from its first to its last tap.
    fn span(&self, axis: usize) -> Option<i64> {
        let taps = self.kernel[axis].checked_sub(1)?;
        i64::try_from(taps.checked_mul(self.dilations[axis])?.checked_add(1)?).ok()
    }

    /// How many places the window takes along a dimension.
    fn places(&self, axis: usize, size: usize) -> Option<usize> {
        let stride = i64::try_from(self.strides[axis]).ok()?;
        let size = i64::try_from(size).ok()?;
        if self.is_same {
            return usize::try_from(size.checked_add(stride - 1)? / stride).ok();
        }
        let (begin, end) = self.pads[axis];
        let room = size.checked_add(begin)?.checked_add(end)?.checked_sub(self.span(axis)?)?;
        if room < 0 {
            return None;
        }
        let mut places = room / stride + 1;
        // The last place of a rounded-up output must still begin inside the input or the padding before it.
        if self.rounds_up && room % stride != 0 && places.checked_mul(stride)? < size + begin {
            places += 1;
        }
        usize::try_from(places).ok()
    }
}

/// How a window slides along a dimension.
pub(crate) struct Sliding {
    pub(crate) window: millstream_graph::Window,
    /// Places of padding behind the last one of the input; a rounded-up output may need more.
    pub(crate) padding_after: usize,
}

/// How a node's window slides along each spatial dimension of an input, to make an output of these dimensions. `None`
/// if the two do not go together.
pub(crate) fn sliding(node: &NodeProto, kernel: &[usize], before: &[usize], after: &[usize]) -> Option<Vec<Sliding>> {
    let declared = Window::of(node, kernel)?;
    let (before, after) = (before.get(2..)?, after.get(2..)?);
    if before.len() != kernel.len() || after.len() != kernel.len() || node.text("auto_pad").is_some_and(is_unknown) {
        return None;
    }
    let along = |axis: usize| {
        let (span, stride) = (declared.span(axis)?, i64::try_from(declared.strides[axis]).ok()?);
        let (size, made) = (i64::try_from(before[axis]).ok()?, i64::try_from(after[axis]).ok()?);
        let (begin, end) = if declared.is_same {
            let missing = made.checked_sub(1)?.checked_mul(stride)?.checked_add(span)?.checked_sub(size)?.max(0);
            let less = missing / 2;
            if node.text("auto_pad") == Some("SAME_LOWER") { (missing - less, less) } else { (less, missing - less) }
        } else {
            declared.pads[axis]
        };
        let size = |places: i64| usize::try_from(places).ok();
        let window = millstream_graph::Window { span: size(span)?, stride: size(stride)?, padding: size(begin)? };
        Some(Sliding { window, padding_after: size(end)? })
    };
    (0..kernel.len()).map(along).collect()
}

fn is_unknown(auto_pad: &str) -> bool {
    !matches!(auto_pad, "" | "NOTSET" | "VALID" | "SAME_UPPER" | "SAME_LOWER")
}

/// `[batch, channels, ...]` with the spatial dimensions of `data` after the window has slid over them.
fn slid(node: &NodeProto, data: &[usize], channels: usize, kernel: &[usize]) -> Option<Vec<usize>> {
    let (batch, spatial) = (*data.first()?, data.get(2..)?);
    if spatial.len() != kernel.len() || spatial.is_empty() {
        return None;
    }
    let window = Window::of(node, kernel)?;
    let places = spatial.iter().enumerate().map(|(axis, &size)| window.places(axis, size));
    [Some(batch), Some(channels)].into_iter().chain(places).collect()
}

/// The output of a convolution of `data` with `filters`, `[filters, channels per group, ...]`.
pub(crate) fn convolution(node: &NodeProto, data: &[usize], filters: &[usize]) -> Option<Vec<usize>> {
    slid(node, data, *filters.first()?, filters.get(2..)?)
}

/// The output of pooling.
pub(crate) fn pooling(node: &NodeProto, data: &[usize]) -> Option<Vec<usize>> {
    slid(node, data, *data.get(1)?, &node.sizes("kernel_shape")?)
}

/// The output of a transposed convolution with `filters`, `[channels, filters per group, ...]`.
pub(crate) fn transposed_convolution(node: &NodeProto, data: &[usize], filters: &[usize]) -> Option<Vec<usize>> {
    let groups = usize::try_from(node.int("group").unwrap_or(1)).ok()?;
    let (batch, spatial, kernel) = (*data.first()?, data.get(2..)?, filters.get(2..)?);
    if spatial.len() != kernel.len() || node.attribute("output_shape").is_some() {
        return None;
    }
    let window = Window::of(node, kernel)?;
    let further = node.sizes("output_padding").unwrap_or_else(|| vec![0; spatial.len()]);
    let sizes = spatial.iter().enumerate().map(|(axis, &size)| {
        let steps = size.checked_mul(window.strides[axis])?;
        if window.is_same {
            // Padding can't be negative: a window shorter than its stride leaves places out.
            return (window.span(axis)? >= window.strides[axis] as i64).then_some(steps);
        }
        let (begin, end) = window.pads[axis];
        let apart = i64::try_from(steps.checked_sub(window.strides[axis])?).ok()?;
        let more = i64::try_from(*further.get(axis)?).ok()?;
        usize::try_from(apart.checked_add(window.span(axis)?)?.checked_add(more)?.checked_sub(begin + end)?).ok()
    });
    let channels = filters.get(1)?.checked_mul(groups)?;
    [Some(batch), Some(channels)].into_iter().chain(sizes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::AttributeProto;

    fn node(lists: &[(&str, &[i64])], numbers: &[(&str, i64)]) -> NodeProto {
        let lists = lists.iter().map(|(name, values)| AttributeProto::from_ints(name, values));
        let numbers = numbers.iter().map(|(name, value)| AttributeProto::from_int(name, *value));
        NodeProto { attribute: lists.chain(numbers).collect(), ..NodeProto::default() }
    }

    #[test]
    fn any_number_of_dimensions() {
        let cube = node(&[("kernel_shape", &[2, 2, 2])], &[]);
        assert_eq!(pooling(&cube, &[1, 3, 32, 32, 32]), Some(vec![1, 3, 31, 31, 31]));
        let line = node(&[("kernel_shape", &[2])], &[]);
        assert_eq!(pooling(&line, &[1, 3, 32]), Some(vec![1, 3, 31]));
        assert_eq!(pooling(&line, &[1, 3, 32, 32]), None, "a kernel of another rank");
        let filters = [8, 4, 3, 3, 3];
        assert_eq!(convolution(&node(&[], &[]), &[2, 4, 9, 8, 7], &filters), Some(vec![2, 8, 7, 6, 5]));
        let twice = node(&[("strides", &[2, 2])], &[("group", 2)]);
        assert_eq!(transposed_convolution(&twice, &[1, 4, 5, 5], &[4, 3, 3, 3]), Some(vec![1, 6, 11, 11]));
    }

    #[test]
    fn a_place_of_a_rounded_up_output_begins_inside_the_input() {
        let pool = |strides: i64, pads: &[i64]| {
            node(&[("kernel_shape", &[2]), ("strides", &[strides]), ("pads", pads)], &[("ceil_mode", 1)])
        };
        assert_eq!(pooling(&pool(2, &[0, 0]), &[1, 1, 5]), Some(vec![1, 1, 3]));
        assert_eq!(
            pooling(&pool(3, &[0, 1]), &[1, 1, 3]),
            Some(vec![1, 1, 1]),
            "it would begin in the padding at the end"
        );
    }

    #[test]
    fn impossible_sizes_are_unknown() {
        let large = node(&[("kernel_shape", &[i64::MAX, 2])], &[]);
        assert_eq!(pooling(&large, &[1, 3, 32, 32]), None);
        let still = node(&[("kernel_shape", &[2, 2]), ("strides", &[0, 1])], &[]);
        assert_eq!(pooling(&still, &[1, 3, 32, 32]), None);
        assert_eq!(pooling(&node(&[("kernel_shape", &[9, 9])], &[]), &[1, 3, 4, 4]), None, "the window does not fit");
    }
}
