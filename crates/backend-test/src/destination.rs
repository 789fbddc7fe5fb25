//! Results are written where the caller wants them.

use millstream_backend::{PreparedSegment, Segment, Tensor};

use crate::rig::{Rig, description, failed};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of};
use crate::{golden, models, rig};

/// What is in the memory before: no result has it in every byte.
const UNTOUCHED: u8 = 0xa5;

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let graph = rig.graph();
    let order = graph.order();
    let segments = [
        Segment::whole(graph),
        Segment::new(graph, order[..2].to_vec()),
        Segment::part(graph, order[..2].to_vec(), 3..7),
    ];
    for segment in segments {
        written(&rig, &segment).map_err(failed(&description(graph, &segment)))?;
    }
    several_results(subject)
}

fn written(rig: &Rig, segment: &Segment) -> Result<(), String> {
    let mut prepared = rig.prepare(segment)?;
    for seed in [1, 2] {
        let inputs = inputs_of(rig.graph(), segment, seed)?;
        let expected = rig.run(segment, &inputs)?;
        let [made] = expected.as_slice() else { return Err(format!("{} values were made", expected.len())) };
        let bytes = made.bytes().ok_or("the result is not in host memory")?.len();
        // Memory that begins anywhere, also where no float may lie.
        for offset in [0, 1] {
            let mut memory = vec![UNTOUCHED; bytes + 2];
            let room = &mut memory[offset..offset + bytes];
            prepared.run_into(&inputs, room).map_err(failed("writing the result"))?;
            let written = Tensor::from_bytes(made.data_type(), made.shape().clone(), room.to_vec());
            agree(&[written], &expected, 1e-6).map_err(failed("the result that was written"))?;
            let is_outside = |place: &usize| !(offset..offset + bytes).contains(place);
            if (0..memory.len()).filter(is_outside).any(|place| memory[place] != UNTOUCHED) {
                return Err("something was written beyond the room".to_owned());
            }
        }
        for room in [0, bytes - 4, bytes + 4] {
            refuses(&mut *prepared, &inputs, room).map_err(failed(&format!("{room} bytes of room for {bytes}")))?;
        }
    }
    Ok(())
}

fn refuses(prepared: &mut dyn PreparedSegment, inputs: &[Tensor], room: usize) -> Result<(), String> {
    match prepared.run_into(inputs, &mut vec![0; room]) {
        Err(_) => Ok(()),
        Ok(()) => Err("not refused".to_owned()),
    }
}

/// There is no telling which of several results is meant.
fn several_results(subject: &Subject) -> Result<(), String> {
    let case = golden::all().into_iter().find(|case| case.expected.len() == 2).ok_or("there is no such case")?;
    let rig = Rig::of(subject, &rig::of_suite(case.model)?)?;
    let segment = Segment::whole(rig.graph());
    refuses(&mut *rig.prepare(&segment)?, &case.frame, 8).map_err(failed("two results written as one"))
}
