//! Times of operators cover the segment and add up; times of transfers are there where there is something to transfer.

use std::collections::BTreeSet;

use millstream_backend::{Observed, Segment};
use millstream_onnx::Model;

use crate::models;
use crate::rig::{failed, zoo};
use crate::subject::Subject;
use crate::tensors::inputs_of;

/// Frames of a trace.
const FRAMES: usize = 4;
/// Clocks of devices and of the host may differ by so much.
const CLOCKS: f64 = 1.02;

pub(crate) fn check_traces(subject: &Subject) -> Result<(), String> {
    let small = models::small()?;
    let mut cases = vec![(small.clone(), FRAMES), (small, 1)];
    if subject.networks.contains(&"squeezenet") {
        cases.push((zoo("squeezenet")?, FRAMES));
    }
    for (model, frames) in cases {
        let graph = model.graph();
        let backend = (subject.open)(&model).map_err(failed("opening the backend"))?;
        trace(subject, &*backend, &model, &Segment::whole(graph), frames)?;
        // A stretch in the middle, after an activation.
        let inner = graph.order()[2..7].to_vec();
        trace(subject, &*backend, &model, &Segment::new(graph, inner), frames)?;
    }
    Ok(())
}

fn trace(
    subject: &Subject,
    backend: &dyn Observed,
    model: &Model,
    segment: &Segment,
    frames: usize,
) -> Result<(), String> {
    let graph = model.graph();
    let inputs = inputs_of(graph, segment, 1)?;
    let mut seconds = Vec::new();
    let times = backend.trace(segment, &subject.processor, &inputs, &mut |time| {
        seconds.push(time.as_secs_f64());
        seconds.len() < frames
    });
    let times = times.map_err(failed("a trace"))?;

    let traced: Vec<_> = times.iter().flat_map(|times| times.operators.iter().copied()).collect();
    let distinct: BTreeSet<_> = traced.iter().copied().collect();
    if traced.len() != distinct.len() || distinct != segment.operators.iter().copied().collect() {
        let (covered, all) = (traced.len(), segment.operators.len());
        return Err(format!("{}: the trace has {covered} operators, the segment {all}", graph.name()));
    }
    if seconds.len() != frames {
        return Err(format!("the trace ran {} frames, not {frames}", seconds.len()));
    }
    let is_odd = |&time: &f64| !time.is_finite() || time < 0.0;
    if times.iter().any(|times| times.seconds.len() != frames || times.seconds.iter().any(is_odd)) {
        return Err("there is not one time for each frame".to_owned());
    }

    for (frame, &whole) in seconds.iter().enumerate() {
        let sum: f64 = times.iter().map(|times| times.seconds[frame]).sum();
        if sum <= 0.0 || sum > whole * CLOCKS {
            return Err(format!("{}: the operators took {sum} s of a frame of {whole} s", graph.name()));
        }
    }
    Ok(())
}

pub(crate) fn check_transfers(subject: &Subject) -> Result<(), String> {
    let backend = (subject.open)(&models::small()?).map_err(failed("opening the backend"))?;
    let of = |processor, bytes| backend.transfer_times(processor, bytes).map_err(failed("timing a transfer"));
    if of(&subject.foreign, 1 << 10)?.is_some() {
        return Err(format!("there are transfers to {}, which is not the backend's", subject.foreign));
    }
    let sizes = [1, 1 << 10, 4 << 20].map(|bytes| of(&subject.processor, bytes));
    let sizes: Result<Vec<_>, String> = sizes.into_iter().collect();
    match sizes?.as_slice() {
        // Whoever works in the host's memory transfers nothing, whatever its size.
        [None, None, None] => Ok(()),
        [Some(tiny), Some(small), Some(large)] => {
            let both = |times: &millstream_backend::TransferTimes| !times.upload.is_zero() && !times.download.is_zero();
            if [tiny, small, large].into_iter().all(both) { Ok(()) } else { Err("a transfer took no time".to_owned()) }
        }
        _ => Err("whether there are transfers depends on their size".to_owned()),
    }
}
