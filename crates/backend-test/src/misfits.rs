//! Tensors that do not fit are refused, and the segment stays usable.

use millstream_backend::{BackendError, PreparedSegment, Segment, Tensor};
use millstream_graph::DataType;

use crate::models;
use crate::rig::{Rig, failed};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of};

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let segment = Segment::whole(rig.graph());
    let inputs = inputs_of(rig.graph(), &segment, 1)?;
    let expected = rig.run(&segment, &inputs)?;
    let mut prepared = rig.prepare(&segment)?;
    let bytes = expected.first().and_then(Tensor::bytes).map_or(0, <[u8]>::len);
    let works = |prepared: &mut dyn PreparedSegment| {
        let made = prepared.run(&inputs).map_err(failed("the frame after one that was refused"))?;
        agree(&made, &expected, 1e-6).map_err(failed("the frame after one that was refused"))
    };

    let image = &inputs[0];
    for (what, wrong) in [("no input", vec![]), ("two inputs", vec![image.clone(), image.clone()])] {
        for error in refused(&mut *prepared, &wrong, bytes).map_err(failed(what))? {
            if !matches!(error, BackendError::Input { .. } | BackendError::Failed { .. }) {
                return Err(format!("{what}: refused for another reason: {error}"));
            }
        }
        works(&mut *prepared)?;
    }

    let floats = |shape: [usize; 4]| Tensor::from_f32(shape, vec![0.5; shape.iter().product()]);
    let integers = Tensor::from_bytes(DataType::I32, [1, 3, 8, 8], vec![0; 3 * 8 * 8 * 4]);
    let misfits = [
        ("a smaller image", floats([1, 3, 2, 2])),
        ("a larger image", floats([1, 3, 9, 9])),
        ("an image turned around", floats([1, 8, 8, 3])),
        ("elements in one row", Tensor::from_f32([192], vec![0.5; 192])),
        ("integers", integers),
    ];
    for (what, wrong) in misfits {
        for error in refused(&mut *prepared, &[wrong], bytes).map_err(failed(what))? {
            if !matches!(&error, BackendError::Input { value, .. } if value == "image") {
                return Err(format!("{what}: the error is not about the input 'image': {error}"));
            }
        }
        works(&mut *prepared)?;
    }
    Ok(())
}

/// The errors of running and of writing the result.
fn refused(prepared: &mut dyn PreparedSegment, inputs: &[Tensor], bytes: usize) -> Result<[BackendError; 2], String> {
    let run = prepared.run(inputs).err().ok_or("not refused")?;
    let written = prepared.run_into(inputs, &mut vec![0; bytes]).err().ok_or("not refused when writing the result")?;
    Ok([run, written])
}
