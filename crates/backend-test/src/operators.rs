//! Every distinct operator of the zoo once, beside the reference.

use millstream_backend::Segment;
use millstream_graph::{Graph, OperatorId};

use crate::rig::{Rig, description, failed};
use crate::subject::Subject;
use crate::tensors::{agree_in_steps, inputs_of};

/// Runs the operators of a network that are new, each by what it is. Without a reference there is nothing to compare
/// them with: then whole networks have to do.
pub(crate) fn check(
    subject: &Subject,
    rig: &Rig,
    reference: Option<&Rig>,
    is_new: impl Fn(String) -> bool,
) -> Result<(), String> {
    let graph = rig.graph();
    for &id in graph.order() {
        let operator = graph.operator(id);
        if !rig.supports(id) {
            if (subject.may_refuse)(&rig.model, id) {
                continue;
            }
            return Err(format!("the operator '{}' ({}) is not supported", operator.name, operator.op_type));
        }
        let Some(reference) = reference else { continue };
        if !is_new(format!("{} {:?} {:?}", operator.op_type, operator.kind, operator.work)) {
            continue;
        }
        let segment = affordable(graph, id, subject.slow.as_ref().map(|slow| slow.most_macs));
        let inputs = inputs_of(graph, &segment, 5)?;
        let (made, expected) = (rig.run(&segment, &inputs)?, reference.run(&segment, &inputs)?);
        let compared = agree_in_steps(&made, &expected, subject.tolerance, subject.steps);
        compared.map_err(failed(&description(graph, &segment)))?;
    }
    Ok(())
}

/// The operator, or the last of its channels if all of them are too much.
fn affordable(graph: &Graph, id: OperatorId, most_macs: Option<u64>) -> Segment {
    let macs = graph.operator(id).work.macs;
    let most = most_macs.unwrap_or(u64::MAX).max(1);
    let Some(units) = graph.channel_units(id).filter(|_| macs > most) else {
        return Segment::new(graph, vec![id]);
    };
    let pieces = units.channels / units.unit;
    let channels = (pieces as u64 * most / macs).max(1) as usize * units.unit;
    Segment::part(graph, vec![id], units.channels - channels..units.channels)
}
