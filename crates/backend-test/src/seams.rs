//! Cut where the backend runs nothing as one across, a network gives the same bits as the whole.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::{OperatorTimes, Segment, Tensor};
use millstream_graph::{Graph, OperatorId};
use millstream_onnx::Model;

use crate::rig::failed;
use crate::subject::Subject;
use crate::tensors::frame_of;

/// How many places a network is cut at, one at a time.
const CUTS: usize = 3;

/// Places in the network's order, spread over it, that lie between two groups of operators which the backend runs as
/// one; none if everything is one.
pub(crate) fn seams(subject: &Subject, model: &Arc<Model>) -> Result<Vec<usize>, String> {
    let graph = model.graph();
    let backend = (subject.open)(model).map_err(failed("opening the backend"))?;
    let frame = frame_of(graph, 1)?;
    let whole = Segment::whole(graph);
    let groups = backend.trace(&whole, &subject.processor, &frame, &mut |_| false).map_err(failed("a trace"))?;
    let order = graph.order();
    let all = between_groups(order, &groups);
    let mut chosen: Vec<usize> =
        (1..=CUTS).filter_map(|part| all.get(part * all.len() / (CUTS + 1)).copied()).collect();
    chosen.dedup();
    Ok(chosen)
}

/// The places in the order that have no group on both sides.
fn between_groups(order: &[OperatorId], groups: &[OperatorTimes]) -> Vec<usize> {
    let places: HashMap<OperatorId, usize> = order.iter().copied().zip(0..).collect();
    let is_across = |group: &OperatorTimes, place: usize| {
        let before = group.operators.iter().filter(|id| places.get(id).is_some_and(|&own| own < place)).count();
        before != 0 && before != group.operators.len()
    };
    (1..order.len()).filter(|&place| !groups.iter().any(|group| is_across(group, place))).collect()
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
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn networks_that_add_up_what_they_compute_are_told_from_others() {
        let fixed = ["squeezenet", "googlenet", "vgg16", "mobilenet-v2", "resnet50", "minilm-like-int8"]
            .map(|name| has_fixed_sums(millstream_zoo::build(name).unwrap().graph()));
        assert_eq!(fixed, [true, true, true, false, false, false]);
    }

    #[test]
    fn bits_are_compared_of_all_results() {
        let tensor = |value: f32| Tensor::from_f32([1], vec![value]);
        let next = f32::from_bits(1.0_f32.to_bits() + 1);
        assert!(are_same(&[tensor(1.0), tensor(2.0)], &[tensor(1.0), tensor(2.0)]));
        assert!(!are_same(&[tensor(2.0), tensor(1.0)], &[tensor(2.0), tensor(next)]));
        assert!(!are_same(&[tensor(1.0)], &[tensor(1.0), tensor(1.0)]));
    }

    #[test]
    fn a_seam_divides_no_group() {
        let order = [3, 0, 2, 1].map(OperatorId::new);
        let group = |ids: &[usize]| OperatorTimes {
            operators: ids.iter().map(|&id| OperatorId::new(id)).collect(),
            seconds: Vec::new(),
        };
        let groups = [group(&[3]), group(&[2, 0]), group(&[1])];
        assert_eq!(between_groups(&order, &groups), [1, 3]);
    }
}
