//! A segment of the tiny backend, with the faults of running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use millstream_backend::{BackendError, PreparedSegment, Segment, Tensor, copy_output};
use millstream_onnx::Model;

use super::memory::{overwrite, reused};
use super::{Fault, Plain, kernels};

/// A segment that is ready.
pub(super) struct Prepared {
    pub(super) model: Arc<Model>,
    pub(super) segment: Segment,
    pub(super) fault: Fault,
    pub(super) is_lost: Arc<AtomicBool>,
    pub(super) scratch: Arc<Mutex<Vec<Tensor>>>,
    /// How many segments were prepared before.
    pub(super) place: usize,
    pub(super) before: Vec<Tensor>,
    pub(super) is_broken: bool,
}

impl Prepared {
    fn check(&mut self, inputs: &[Tensor]) -> Result<(), BackendError> {
        if self.is_lost.load(Ordering::SeqCst) {
            match self.fault {
                Fault::OkAfterLoss => return Ok(()),
                Fault::OtherErrorAfterLoss => return Err(BackendError::failed("something is odd")),
                Fault::HangsAfterLoss => thread::sleep(Duration::from_secs(5)),
                Fault::PanicsAfterLoss => panic!("the device is lost"),
                _ => {}
            }
            return Err(Plain::lost());
        }
        if self.is_broken {
            return Err(BackendError::failed("there was an error before"));
        }
        let expected = &self.segment.boundary.inputs;
        if inputs.len() != expected.len() && self.fault != Fault::AcceptsAnyCount {
            return Err(BackendError::failed("another number of inputs"));
        }

        for (&id, tensor) in expected.iter().zip(inputs) {
            let value = self.model.graph().value(id);
            let Err(expected) = tensor.check_fits(value) else { continue };
            self.is_broken = self.fault == Fault::BreaksAfterMisfit;
            let is_wrong_size = tensor.shape().elements() != value.shape.as_ref().map_or(0, |shape| shape.elements());
            match self.fault {
                Fault::AcceptsAnyShape if !is_wrong_size => {}
                Fault::BlamesTheOperator => return Err(BackendError::failed("an operator failed")),
                _ => {
                    let (value, found) = (value.name.clone(), tensor.description());
                    return Err(BackendError::Input { value, expected, found });
                }
            }
        }
        Ok(())
    }

    /// The results, as they should be or with faults in them.
    fn computed(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let mut inputs = inputs.to_vec();
        match self.fault {
            Fault::SwapsInputs => inputs.reverse(),
            Fault::SharesScratchInOrder if self.place > 0 && !self.before.is_empty() => {
                inputs = self.scratch.lock().unwrap().clone();
            }
            Fault::SharesScratchBetweenThreads => {
                *self.scratch.lock().unwrap() = inputs.clone();
                thread::sleep(Duration::from_millis(1));
                inputs = self.scratch.lock().unwrap().clone();
            }
            _ => {}
        }
        let has_padding = self.fault != Fault::IgnoresPadding;
        let mut made = kernels::compute(&self.model, &self.segment, &inputs, has_padding)
            .ok_or_else(|| BackendError::failed("that can't be computed"))?;
        *self.scratch.lock().unwrap() = inputs;
        if let Some(channels) = self.segment.channels() {
            let units = self.model.graph().channel_units(self.segment.operators[0]);
            let axis = units.map_or(1, |units| units.axis);
            let range = match self.fault {
                Fault::IgnoresTheRange => 0..channels.len(),
                _ => channels.clone(),
            };
            made = made.iter().map(|tensor| kernels::part(tensor, axis, &range)).collect();
        }
        Ok(made)
    }

    fn spoilt(&mut self, mut made: Vec<Tensor>) -> Vec<Tensor> {
        let is_inner = self.segment.boundary.inputs.iter().any(|id| !self.model.graph().inputs().contains(id));
        let is_part = self.segment.channels().is_some();
        match self.fault {
            Fault::SwapsOutputs => made.reverse(),
            Fault::WrongShape => {
                made = made.iter().map(|one| kernels::relabelled(one, [one.shape().elements() as usize])).collect();
            }
            Fault::SpoilsTheEndOfParts if is_part => {
                made = made.iter().map(kernels::with_wrong_end).collect();
            }
            Fault::WrongWhereSegmentsMeet if is_inner && self.segment.operators.len() > 2 => {
                made = made.iter().map(kernels::with_wrong_end).collect();
            }
            Fault::AddsUpFrames if !self.before.is_empty() => made = kernels::sums(&made, &self.before),
            Fault::FirstFrameForever if !self.before.is_empty() => return self.before.clone(),
            _ => {}
        }
        made
    }
}

impl PreparedSegment for Prepared {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.check(inputs)?;
        let made = self.computed(inputs)?;
        let made = self.spoilt(made);
        if self.fault == Fault::ReusesMemory {
            self.before.iter().for_each(overwrite);
            let made: Vec<Tensor> = made.iter().map(reused).collect();
            self.before.clone_from(&made);
            return Ok(made);
        }
        self.before.clone_from(&made);
        Ok(made)
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        let before = self.before.clone();
        let mut made = self.run(inputs)?;
        match self.fault {
            Fault::WritesOldResults if !before.is_empty() => made = before,
            Fault::AcceptsAnyRoom => {
                let bytes = made[0].bytes().unwrap_or_default();
                let count = bytes.len().min(output.len());
                output[..count].copy_from_slice(&bytes[..count]);
                return Ok(());
            }
            Fault::WritesTooLittle => {
                let mut all = output.to_vec();
                copy_output(&made, &mut all)?;
                let most = output.len() - 4;
                output[..most].copy_from_slice(&all[..most]);
                return Ok(());
            }
            _ => {}
        }
        copy_output(&made, output)
    }
}
