//! Running segments, each when what it needs is there, by any idle processor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use millstream_backend::{BackendError, PreparedSegment, Segment, Tensor};

use super::{Health, Prepared, Team, message};
use crate::program::StepOutput;
use crate::sync::{Ordering, lock, now};
use crate::{FrameError, StepSpan};

impl Team {
    /// Runs a processor's segments for a frame, each as soon as those that it needs are done. After a failure, the rest is only
    /// counted.
    pub(super) fn run_track(&self, position: usize, frame: u64, segments: &mut Prepared) {
        let steps = &self.program.tracks[position];
        for (index, step) in steps.iter().enumerate() {
            for &(other, count) in &step.waits {
                self.await_steps(position, other, count, frame, segments);
            }
            if self.begin(position, index, frame) {
                self.run_begun(position, position, index, frame, segments);
            } else {
                // Somebody took it over.
                let all = self.count(position, frame, index + 1);
                let member = &self.members[position];
                member.sleeper.wait_until(|| member.done.load(Ordering::SeqCst) >= all);
            }
        }
        self.members[position].frames.store(frame + 1, Ordering::SeqCst);
        if position > 0 {
            self.members[0].sleeper.wake();
        }
    }

    /// The count of a processor's segments when so many are done in a frame.
    fn count(&self, processor: usize, frame: u64, steps: usize) -> u64 {
        frame * self.program.tracks[processor].len() as u64 + steps as u64
    }

    /// Makes a segment the caller's to run; false if it is somebody else's already.
    fn begin(&self, owner: usize, index: usize, frame: u64) -> bool {
        let before = self.count(owner, frame, index);
        let begun = &self.members[owner].begun;
        begun.compare_exchange(before, before + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Waits until another processor has done so many segments of a frame, and does them itself where that one has not begun.
    pub(super) fn await_steps(&self, position: usize, other: usize, count: usize, frame: u64, segments: &mut Prepared) {
        let all = self.count(other, frame, count);
        let is_done = || self.members[other].done.load(Ordering::SeqCst) >= all;
        let sleeper = &self.members[position].sleeper;
        let has_spares = segments.0[other].iter().any(Option::is_some);
        if position == other || !has_spares {
            return sleeper.wait_until(is_done);
        }
        while !sleeper.wait_a_moment(is_done) {
            let done = self.members[other].done.load(Ordering::SeqCst);
            let Some(index) = done.checked_sub(self.count(other, frame, 0)).map(|index| index as usize) else {
                continue;
            };
            let Some(step) = self.program.tracks[other].get(index) else { continue };
            let is_ready = step.waits.iter().all(|&(needed, count)| {
                self.members[needed].done.load(Ordering::SeqCst) >= self.count(needed, frame, count)
            });
            if is_ready && segments.0[other][index].is_some() && self.begin(other, index, frame) {
                self.run_begun(position, other, index, frame, segments);
            }
        }
    }

    /// Runs a segment that was begun, and says so.
    fn run_begun(&self, position: usize, owner: usize, index: usize, frame: u64, segments: &mut Prepared) {
        let step = &self.program.tracks[owner][index];
        if let Some(segment) = &mut segments.0[owner][index]
            && !self.has_failed.load(Ordering::SeqCst)
        {
            let start = now();
            let run = || self.run_step(&step.inputs, &step.output, &mut **segment);
            let failure = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(())) => None,
                Ok(Err(source)) => Some(self.failed(source)),
                Err(panic) => {
                    let error = FrameError::Panicked { stage: self.stage + 1, message: message(&*panic) };
                    Some((error, Health::Lost))
                }
            };
            if let Some(failure) = failure {
                self.fail(failure);
            }
            let end = now();
            let busy = end.duration_since(start).as_nanos() as u64;
            self.busy[position].fetch_add(busy, Ordering::Relaxed);
            self.keep(position, &step.segment, start, end);
        }
        self.members[owner].done.store(self.count(owner, frame, index + 1), Ordering::SeqCst);
        step.wakes.iter().for_each(|&other| self.members[other].sleeper.wake());
        if owner != position {
            self.members[owner].sleeper.wake();
        }
    }

    fn keep(&self, processor: usize, segment: &Segment, start: Instant, end: Instant) {
        if let (Some(steps), Some(&first)) = (&self.steps, segment.operators.first()) {
            lock(steps).push(StepSpan {
                stage: self.stage,
                replica: self.replica,
                processor,
                first,
                operators: segment.operators.len(),
                portion: segment.portion.clone(),
                start,
                end,
            });
        }
    }

    fn run_step(
        &self,
        inputs: &[usize],
        output: &StepOutput,
        segment: &mut dyn PreparedSegment,
    ) -> Result<(), BackendError> {
        let tensors: Vec<Tensor> = inputs.iter().filter_map(|&place| self.value(place).clone()).collect();
        match output {
            StepOutput::Part(join, part) => {
                let joining = &self.joinings[*join];
                if let Some(whole) = joining.run(*part, segment, &tensors)? {
                    *self.value(self.program.joins[*join].value) = Some(whole);
                }
            }
            StepOutput::Values(places) => {
                let made = segment.run(&tensors)?;
                if made.len() != places.len() {
                    let detail = format!("the backend returned {} of {} values", made.len(), places.len());
                    return Err(BackendError::Failed { detail });
                }
                for (&place, tensor) in places.iter().zip(made) {
                    *self.value(place) = Some(tensor);
                }
            }
        }
        Ok(())
    }
}
