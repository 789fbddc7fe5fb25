//! Frames do not depend on those before them, and results stay as they were made.

use millstream_backend::{Segment, Tensor};

use crate::models;
use crate::rig::{Rig, description, failed};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of};

/// Seeds of the frames, one of them again.
const SEEDS: [u64; 5] = [1, 2, 1, 3, 2];

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let graph = rig.graph();
    let order = graph.order();
    let part = Segment::part(graph, order[..2].to_vec(), 2..5);
    for segment in [Segment::whole(graph), Segment::new(graph, order[..5].to_vec()), part] {
        in_a_row(&rig, &segment).map_err(failed(&description(graph, &segment)))?;
    }
    Ok(())
}

fn in_a_row(rig: &Rig, segment: &Segment) -> Result<(), String> {
    let frames: Result<Vec<Vec<Tensor>>, String> =
        SEEDS.into_iter().map(|seed| inputs_of(rig.graph(), segment, seed)).collect();
    let frames = frames?;
    let alone: Result<Vec<Vec<Tensor>>, String> = frames.iter().map(|frame| rig.run(segment, frame)).collect();
    let alone = alone?;
    if agree(&alone[0], &alone[1], 1e-6).is_ok() {
        return Err("different frames give the same result".to_owned());
    }
    let mut prepared = rig.prepare(segment)?;
    let mut kept: Vec<Vec<Tensor>> = Vec::new();
    for (frame, expected) in frames.iter().zip(&alone) {
        let made = prepared.run(frame).map_err(failed("a later frame"))?;
        agree(&made, expected, 1e-6).map_err(failed("a frame after others"))?;
        kept.push(made);
    }
    // Whoever reads results later, as the next stage of a pipeline does, finds what was made.
    for (made, expected) in kept.iter().zip(&alone) {
        agree(made, expected, 1e-6).map_err(failed("a result, looked at after later frames"))?;
    }
    Ok(())
}
