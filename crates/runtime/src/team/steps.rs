//! Running a frame's steps, each when what it needs is there, by the processor that they belong to or an idle one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use millstream_backend::{BackendError, PreparedSegment, Segment, Tensor};
use millstream_schedule::execution::ProcessorId;

use super::{Failure, Health, LEADER, Prepared, Team, message};
use crate::error::FrameError;
use crate::packet::StepSpan;
use crate::program::{StepId, StepOutput};
use crate::sync::{Ordering, lock, now};

impl Team {
    /// Runs a processor's steps for a frame, each as soon as those that it waits for are done. After a failure, the
    /// rest is only counted. `frame` is how many frames the team has started before this one.
    pub(super) fn run_track(&self, processor: ProcessorId, frame: u64, prepared: &mut Prepared) {
        FrameRun { team: self, processor, frame, prepared }.run_own_steps();
        self.member(processor).frames.store(frame + 1, Ordering::SeqCst);
        if processor != LEADER {
            self.member(LEADER).sleeper.wake();
        }
    }

    /// Has the leader wait until another processor's steps for a frame are done, and take over those that nobody has
    /// begun.
    pub(super) fn await_track(&self, owner: ProcessorId, frame: u64, prepared: &mut Prepared) {
        if let Some(last) = self.program.steps_of(owner).next_back() {
            FrameRun { team: self, processor: LEADER, frame, prepared }.await_step(last);
        }
    }

    /// Makes a step the caller's to run; false if it is somebody else's already.
    fn begin(&self, step: StepId, frame: u64) -> bool {
        let before = self.steps_before(step, frame);
        let begun = &self.member(step.processor).begun;
        begun.compare_exchange(before, before + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn is_done(&self, step: StepId, frame: u64) -> bool {
        self.member(step.processor).done.load(Ordering::SeqCst) > self.steps_before(step, frame)
    }

    /// How many steps of the same processor come before this one, those for earlier frames included.
    fn steps_before(&self, step: StepId, frame: u64) -> u64 {
        frame * self.program.track_length(step.processor) as u64 + step.index as u64
    }

    /// Keeps when a segment ran, if anybody wants to know.
    fn keep(&self, processor: ProcessorId, segment: &Segment, start: Instant, end: Instant) {
        if let (Some(steps), Some(&first)) = (&self.steps, segment.operators.first()) {
            lock(steps).push(StepSpan {
                stage: self.id.stage,
                replica: self.id.replica,
                processor: processor.index(),
                first,
                operators: segment.operators.len(),
                portion: segment.portion.clone(),
                start,
                end,
            });
        }
    }

    /// Runs a segment on the values that are there, and keeps what it makes.
    fn run_segment(&self, step: StepId, segment: &mut dyn PreparedSegment) -> Result<(), BackendError> {
        let step = self.program.step(step);
        let tensors: Vec<Tensor> = step.inputs.iter().filter_map(|&slot| self.value(slot).clone()).collect();
        match &step.output {
            StepOutput::Part { join, part } => {
                let joining = &self.joinings[join.index()];
                if let Some(whole) = joining.run(*part, segment, &tensors)? {
                    *self.value(self.program.joins[join.index()].slot) = Some(whole);
                }
            }
            StepOutput::Values(slots) => {
                let made = segment.run(&tensors)?;
                if made.len() != slots.len() {
                    let detail = format!("the backend returned {} of {} values", made.len(), slots.len());
                    return Err(BackendError::Failed { detail });
                }
                for (&slot, tensor) in slots.iter().zip(made) {
                    *self.value(slot) = Some(tensor);
                }
            }
        }
        Ok(())
    }
}

/// One processor's thread at work on a frame.
struct FrameRun<'t> {
    team: &'t Team,
    /// The processor whose thread this is.
    processor: ProcessorId,
    /// How many frames the team has started before this one.
    frame: u64,
    prepared: &'t mut Prepared,
}

impl FrameRun<'_> {
    fn run_own_steps(&mut self) {
        let (team, frame) = (self.team, self.frame);
        for step in team.program.steps_of(self.processor) {
            for &awaited in &team.program.step(step).waits {
                self.await_step(awaited);
            }
            if team.begin(step, frame) {
                self.run_begun(step);
            } else {
                // Somebody took it over.
                team.member(self.processor).sleeper.wait_until(|| team.is_done(step, frame));
            }
        }
    }

    /// Waits until a step of another processor is done. Meanwhile, does those steps of that processor that it can do
    /// itself and that nobody has begun.
    fn await_step(&mut self, step: StepId) {
        let (team, frame) = (self.team, self.frame);
        let is_done = || team.is_done(step, frame);
        let sleeper = &team.member(self.processor).sleeper;
        if !self.prepared.has_any_of(step.processor) {
            return sleeper.wait_until(is_done);
        }
        while !sleeper.wait_a_moment(is_done) {
            if let Some(taken) = self.take_over(step.processor) {
                self.run_begun(taken);
            }
        }
    }

    /// Makes the next step of another processor this one's to run, if it can run here and now and nobody has begun it.
    fn take_over(&self, owner: ProcessorId) -> Option<StepId> {
        let (team, frame) = (self.team, self.frame);
        let done = team.member(owner).done.load(Ordering::SeqCst);
        // Those of earlier frames may not be done yet.
        let done = done.checked_sub(team.steps_before(StepId { processor: owner, index: 0 }, frame))?;
        let next = team.program.steps_of(owner).nth(usize::try_from(done).ok()?)?;

        let is_ready = team.program.step(next).waits.iter().all(|&awaited| team.is_done(awaited, frame));
        (is_ready && self.prepared.has(next) && team.begin(next, frame)).then_some(next)
    }

    /// Runs a step that this thread has begun, and tells those who wait for it.
    fn run_begun(&mut self, step: StepId) {
        let team = self.team;
        if let Some(segment) = self.prepared.segment(step)
            && !team.has_failed.load(Ordering::SeqCst)
        {
            let start = now();
            let failure = match catch_unwind(AssertUnwindSafe(|| team.run_segment(step, segment))) {
                Ok(Ok(())) => None,
                Ok(Err(source)) => Some(team.failed(source)),
                Err(panic) => {
                    let error = FrameError::Panicked { stage: team.id.stage, message: message(&*panic) };
                    Some(Failure { error, health: Health::Lost })
                }
            };
            if let Some(failure) = failure {
                team.fail(failure);
            }

            let end = now();
            let busy = end.duration_since(start).as_nanos() as u64;
            team.busy[self.processor.index()].fetch_add(busy, Ordering::Relaxed);
            team.keep(self.processor, &team.program.step(step).segment, start, end);
        }

        let owner = team.member(step.processor);
        owner.done.store(team.steps_before(step, self.frame) + 1, Ordering::SeqCst);
        team.program.step(step).wakes.iter().for_each(|&waiting| team.member(waiting).sleeper.wake());
        if step.processor != self.processor {
            owner.sleeper.wake();
        }
    }
}
