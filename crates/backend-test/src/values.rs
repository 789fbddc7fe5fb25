//! Operators of every family give values known beforehand.

use std::sync::Arc;

use millstream_backend::Segment;
use millstream_graph::OperatorId;

use crate::golden;
use crate::rig::{Rig, failed, of_suite};
use crate::subject::Subject;
use crate::tensors::agree;

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let mut count = 0;
    for case in golden::all() {
        let failed = failed::<String>(case.name);
        let model = of_suite(case.model)?;
        let rig = Rig::of(subject, &model)?;
        let refused: Vec<OperatorId> = rig.graph().operator_ids().filter(|&id| !rig.supports(id)).collect();
        if let Some(&id) = refused.iter().find(|&&id| !(subject.may_refuse)(&model, id)) {
            return Err(failed(format!("the operator {} is not supported", rig.graph().operator(id).op_type)));
        }
        if refused.is_empty() {
            let compared =
                rig.run_network(&case.frame).and_then(|made| agree(&made, &case.expected, subject.tolerance));
            compared.map_err(failed)?;
            count += 1;
        }
    }
    match count {
        0 => Err("the backend refuses every case".to_owned()),
        _ => operator_by_operator(subject),
    }
}

/// A network operator by operator gives what it gives as a whole: results of one are the inputs of the next.
fn operator_by_operator(subject: &Subject) -> Result<(), String> {
    let model = crate::models::small()?;
    let rig = Rig::of(subject, &Arc::clone(&model))?;
    let graph = rig.graph();
    let frame = crate::tensors::frame_of(graph, 1)?;
    let expected = rig.run_network(&frame)?;
    let mut values = graph.inputs().iter().copied().zip(frame).collect();
    for &id in graph.order() {
        let segment = Segment::new(graph, vec![id]);
        let made = rig.run(&segment, &segment.inputs_from(&values))?;
        values.extend(segment.boundary.outputs.iter().copied().zip(made));
    }
    let made: Vec<_> = graph.outputs().iter().filter_map(|id| values.get(id).cloned()).collect();
    agree(&made, &expected, subject.tolerance).map_err(failed("operator by operator"))
}
