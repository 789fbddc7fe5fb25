//! Cut where the backend runs nothing as one across, a network gives the same bits as the whole.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::{OperatorTimes, Segment, Tensor};
use millstream_graph::{Graph, OperatorId};
use millstream_onnx::Model;

use crate::rig::failed;
use crate::subject::Subject;
use crate::tensors::frame_of;

/// The place in the network's order that is nearest to its middle and lies between two groups of operators that the
/// backend runs as one; `None` if everything is one.
pub(crate) fn seam(subject: &Subject, model: &Arc<Model>) -> Result<Option<usize>, String> {
    let graph = model.graph();
    let backend = (subject.open)(model).map_err(failed("opening the backend"))?;
    let frame = frame_of(graph, 1)?;
    let whole = Segment::whole(graph);
    let groups = backend.trace(&whole, &subject.processor, &frame, &mut |_| false).map_err(failed("a trace"))?;
    let order = graph.order();
    let middle = order.len() / 2;
    let seams = (1..order.len()).filter(|&place| is_seam(order, &groups, place));
    Ok(seams.min_by_key(|place| place.abs_diff(middle)))
}

/// Whether no group has operators on both sides of a place in the order.
fn is_seam(order: &[OperatorId], groups: &[OperatorTimes], place: usize) -> bool {
    let places: HashMap<OperatorId, usize> = order.iter().copied().zip(0..).collect();
    groups.iter().all(|group| {
        let before = group.operators.iter().filter(|id| places.get(id).is_some_and(|&own| own < place)).count();
        before == 0 || before == group.operators.len()
    })
}

/// Whether no operator adds up two values that are computed: engines begin the sums of either side's convolution with
/// the other side, and which they take may depend on what else is in the segment. That changes last bits. Quantised
/// transformers compute scales of such sums, and matrices may be products of two computed values with the same choice.
pub(crate) fn has_fixed_sums(graph: &Graph) -> bool {
    let is_computed = |value: &&millstream_graph::ValueId| graph.producer(**value).is_some();
    let adds = |id: OperatorId| {
        let operator = graph.operator(id);
        let computed = operator.inputs.iter().filter(is_computed).count();
        ["Add", "Sum", "MatMul", "Gemm"].contains(&operator.op_type.as_str()) && computed > 1
    };
    graph.operator_ids().all(|id| !adds(id))
}

/// Whether results have the same bits.
pub(crate) fn are_same(one: &[Tensor], other: &[Tensor]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.bytes() == other.bytes())
}

/// The operators before and after a place in the order.
pub(crate) fn halves(graph: &Graph, place: usize) -> Vec<Vec<OperatorId>> {
    let (first, second) = graph.order().split_at(place);
    vec![first.to_vec(), second.to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_divides_no_group() {
        let order = [3, 0, 2, 1].map(OperatorId::new);
        let group = |ids: &[usize]| OperatorTimes {
            operators: ids.iter().map(|&id| OperatorId::new(id)).collect(),
            seconds: Vec::new(),
        };
        let groups = [group(&[3]), group(&[2, 0]), group(&[1])];
        let seams: Vec<usize> = (1..4).filter(|&place| is_seam(&order, &groups, place)).collect();
        assert_eq!(seams, [1, 3]);
    }
}
