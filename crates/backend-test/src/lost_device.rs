//! Once its device is lost, everything is an error of that kind, and nothing waits for it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use millstream_backend::{BackendError, Observed, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;

use crate::models;
use crate::rig::failed;
use crate::subject::{Losable, Subject};
use crate::tensors::inputs_of;

/// A backend of cores can't lose them and has nothing to show; one of a device must say how it gets lost.
pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let Some(open) = &subject.losable else {
        return if subject.processor.is_accelerator() {
            Err("a backend of an accelerator must say how it loses it (Subject::losing)".to_owned())
        } else {
            Ok(())
        };
    };
    let model = models::small()?;
    let segment = Segment::whole(model.graph());
    let inputs = inputs_of(model.graph(), &segment, 1)?;
    let Losable { backend, lose } = open(&model).map_err(failed("opening the backend"))?;
    let mut prepared = backend.prepare(&segment, &subject.processor).map_err(failed("preparing"))?;
    let made = prepared.run(&inputs).map_err(failed("a frame before the device is lost"))?;
    let bytes = made.first().and_then(Tensor::bytes).map_or(0, <[u8]>::len);
    lose();
    let processor = subject.processor.clone();
    in_time(subject.patience, move || after(&*backend, &mut *prepared, &segment, &processor, &inputs, bytes))
}

fn after(
    backend: &dyn Observed,
    prepared: &mut dyn PreparedSegment,
    segment: &Segment,
    processor: &Processor,
    inputs: &[Tensor],
    bytes: usize,
) -> Result<(), String> {
    for _ in 0..2 {
        is_lost("a frame", prepared.run(inputs))?;
        is_lost("a frame that is written", prepared.run_into(inputs, &mut vec![0; bytes]))?;
    }
    is_lost("preparing", backend.prepare(segment, processor))?;
    is_lost("a trace", backend.trace(segment, processor, inputs, &mut |_| false))
}

fn is_lost<T>(what: &str, outcome: Result<T, BackendError>) -> Result<(), String> {
    match outcome {
        Err(BackendError::DeviceLost { .. }) => Ok(()),
        Err(error) => Err(format!("{what} after the device was lost: another error: {error}")),
        Ok(_) => Err(format!("{what} after the device was lost: no error")),
    }
}

/// Runs `work`, which counts as hanging if it takes longer. The thread of work that hangs is left behind.
fn in_time(patience: Duration, work: impl FnOnce() -> Result<(), String> + Send + 'static) -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || drop(sender.send(work())));
    match receiver.recv_timeout(patience) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("no answer {patience:?} after the device was lost")),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("a panic after the device was lost".to_owned()),
    }
}
