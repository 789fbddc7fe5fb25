//! What is not supported is known beforehand, and preparing agrees.

use millstream_backend::{BackendError, Segment};
use millstream_board::Processor;

use crate::rig::{Rig, description, failed, of_suite};
use crate::subject::Subject;
use crate::{golden, models};

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    for case in golden::all() {
        let rig = Rig::of(subject, &of_suite(case.model)?)?;
        for id in rig.graph().operator_ids() {
            let segment = Segment::new(rig.graph(), vec![id]);
            agrees(&rig, &segment, &rig.processor).map_err(failed(case.name))?;
        }
        agrees(&rig, &Segment::whole(rig.graph()), &rig.processor).map_err(failed(case.name))?;
    }
    foreign(subject)?;
    nothing(subject)
}

/// What is supported is prepared, and nothing else.
fn agrees(rig: &Rig, segment: &Segment, processor: &Processor) -> Result<(), String> {
    let is_supported = || segment.operators.iter().all(|&id| rig.backend.supports(id, processor));
    let prepared = rig.backend.prepare(segment, processor).map(drop);
    let what = format!("{} on {processor}", description(rig.graph(), segment));
    match (is_supported(), prepared) {
        (true, Ok(())) | (false, Err(BackendError::Prepare { .. } | BackendError::Unavailable { .. })) => Ok(()),
        (true, Err(error)) => Err(format!("{what}: supported, but not prepared: {error}")),
        (false, Ok(())) => Err(format!("{what}: prepared, although it is not supported")),
        (false, Err(error)) => Err(format!("{what}: refused for another reason: {error}")),
    }
}

/// A processor that is not the backend's runs nothing.
fn foreign(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let graph = rig.graph();
    if let Some(id) = graph.operator_ids().find(|&id| rig.backend.supports(id, &subject.foreign)) {
        let name = &graph.operator(id).name;
        return Err(format!("'{name}' is supported on {}, which is not the backend's", subject.foreign));
    }
    agrees(&rig, &Segment::whole(graph), &subject.foreign)
}

/// A segment without operators is refused, or makes nothing.
fn nothing(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let Ok(mut prepared) = rig.prepare(&Segment::new(rig.graph(), Vec::new())) else { return Ok(()) };
    match prepared.run(&[]) {
        Ok(made) if !made.is_empty() => Err(format!("a segment without operators made {} values", made.len())),
        _ => Ok(()),
    }
}
