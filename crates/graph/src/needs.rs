//! What an operator needs of its inputs to make some positions along a dimension.

use crate::graph::Graph;
use crate::locality::{Along, Locality, Need, Positions};
use crate::operator::{OperatorId, OperatorKind};
use crate::value::{Shape, ValueId};

pub(crate) fn dimensions(graph: &Graph, value: ValueId) -> Option<&[usize]> {
    graph.value(value).shape.as_ref().map(Shape::dimensions)
}

/// What an operator needs of each of its inputs, to make some positions along a dimension of its output; `None` if that
/// can't be told, or is everything. Only heads divide weights.
pub(crate) fn needs(graph: &Graph, id: OperatorId, axis: usize, along: Along) -> Option<Vec<Need>> {
    let operator = graph.operator(id);
    let [output] = operator.outputs.as_slice() else { return None };
    let made = dimensions(graph, *output)?;
    made.get(axis)?;
    if along == Along::Heads && graph.has_weight_columns(id, axis) {
        return Some(vec![Need::Whole; operator.inputs.len()]);
    }

    let of_input = |(place, &value): (usize, &ValueId)| {
        let read = dimensions(graph, value)?;
        match &operator.locality {
            Locality::Global => None,
            Locality::SamePosition { mixed } => same_position(mixed, made, read, axis),
            Locality::Windows(_) | Locality::Stretched(_) if operator.inputs.len() != 1 => None,
            Locality::Windows(windows) => {
                let window = *windows.get(axis.checked_sub(2)?)?;
                let &size = read.get(axis)?;
                // A row that sees nothing but padding needs none at all.
                let last = made[axis].checked_sub(1)?.checked_mul(window.stride)?;
                let sees = window.padding < window.span && last < size.saturating_add(window.padding);
                let fits = made.len() == read.len() && window.stride > 0;
                (fits && sees).then_some(Need::Some { axis, positions: Positions::Window(window) })
            }
            Locality::Stretched(stretches) => {
                let stretch = *stretches.get(axis.checked_sub(2)?)?;
                let need = Need::Some { axis, positions: Positions::Stretched(stretch) };
                fits(need, read, made[axis]).then_some(need)
            }
            Locality::Moved(by_dimension) => {
                let need = by_dimension.get(axis)?.as_ref()?.get(place).copied();
                need.filter(|&need| fits(need, read, made[axis]))
            }
        }
    };
    operator.inputs.iter().enumerate().map(of_input).collect()
}

/// Whether a value of these dimensions has what is needed of it, to make so many positions.
fn fits(need: Need, read: &[usize], made: usize) -> bool {
    let Need::Some { axis, positions } = need else { return true };
    let Some(&size) = read.get(axis) else { return false };
    match positions {
        Positions::Same => size == made,
        Positions::Several(each) => each > 0 && made.checked_mul(each) == Some(size),
        Positions::Stretched(stretch) => stretch.factor > 0 && size.checked_mul(stretch.factor) == Some(made),
        // Windows have padding, which their own locality tells.
        Positions::Window(_) => false,
    }
}

fn same_position(mixed: &[usize], made: &[usize], read: &[usize], axis: usize) -> Option<Need> {
    if mixed.contains(&axis) {
        return None;
    }
    let from_the_end = made.len().checked_sub(axis)?;
    match read.len().checked_sub(from_the_end).map(|axis| (axis, read[axis])) {
        None | Some((_, 1)) => Some(Need::Whole),
        Some((read_axis, size)) => {
            (size == made[axis]).then_some(Need::Some { axis: read_axis, positions: Positions::Same })
        }
    }
}

impl Graph {
    /// Whether positions along this dimension of what an operator makes are columns of its weights, each made from the
    /// whole input. Its parts are parts by channels.
    pub fn has_weight_columns(&self, id: OperatorId, axis: usize) -> bool {
        let is_plain = self.operator(id).kind == OperatorKind::FullyConnected;
        let has_columns = self.channel_units(id).is_some_and(|units| units.axis == axis && units.unit == 1);
        // What follows may be elsewhere.
        is_plain && has_columns && self.can_divide_together(id, &[])
    }
}
