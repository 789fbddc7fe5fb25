//! Operators start when their processor and their inputs are there.

use std::rc::Rc;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Next, ProcessorId, Span, TaskId};
use rand_distr::{Distribution, StandardNormal};

use crate::plan::TaskPlan;
use crate::simulation::Simulator;
use crate::state::{Event, Running, span};

impl Simulator<'_> {
    pub(crate) fn taken_over(&mut self, slot: usize) {
        self.slots[slot].is_open = true;
        (0..self.slots[slot].plan.tracks.len()).for_each(|track| self.start_next(slot, track));
        self.finish_if_done(slot);
    }

    /// Counts time in which a processor works at full speed.
    pub(crate) fn has_worked(&mut self, track: usize, nanoseconds: u64) {
        let power = self.speeds[self.tracks[track].label].power();
        let track = &mut self.tracks[track];
        track.busy += nanoseconds;
        track.joules += nanoseconds as f64 * 1e-9 * track.more_watts * power;
    }

    /// Lets a processor do what is next, if it can.
    pub(crate) fn start_next(&mut self, slot: usize, number: usize) {
        let own = &self.slots[slot];
        let track = own.first + number;
        if own.frame.is_none() || !own.is_open || own.is_lost || self.tracks[track].is_busy {
            return;
        }
        let Some(&task) = own.plan.tracks[number].get(own.next[number]) else { return };
        let next = own.execution.next(&*own.plan, task, ProcessorId::new(number));
        match next {
            Next::Wait => {}
            Next::Run(Nanoseconds(at)) if at > self.now => {
                self.schedule(at - self.now, slot, Event::Arrived(number as u32));
            }
            Next::Fetch(_) | Next::Run(_) if !self.gets_cores(track) => {}
            Next::Fetch(fetch) => {
                self.tracks[track].is_busy = true;
                self.tracks[track].fetch = Some(fetch);
                self.has_worked(track, fetch.time.0);
                self.schedule(fetch.time.0, slot, Event::Fetched(number as u32));
            }
            Next::Run(_) => self.start(slot, number, task),
        }
    }

    /// Whether a processor with something to do has its cores now. If not, it waits from now on, and is before all who come later: one that needs
    /// several cores would wait for ever where others always take one of them.
    fn gets_cores(&mut self, track: usize) -> bool {
        let since = self.tracks[track].waits_since.unwrap_or(self.now);
        let comes_before = |rival: usize| {
            let other = &self.tracks[rival];
            other.is_busy || other.waits_since.is_some_and(|other| (other, rival) < (since, track))
        };
        let has_to_wait = self.tracks[track].rivals.iter().any(|&rival| comes_before(rival));
        self.tracks[track].waits_since = has_to_wait.then_some(since);
        !has_to_wait
    }

    fn start(&mut self, slot: usize, number: usize, task: TaskId) {
        let own = &mut self.slots[slot];
        let (track, TaskPlan { time, bytes, .. }) = (own.first + number, &own.plan.tasks[task.index()]);
        let (time, bytes) = (time.0, *bytes);
        own.next[number] += 1;
        let time = self.with_noise(time);
        self.tracks[track].is_busy = true;
        self.tracks[track].task = (task, self.now);

        if self.is_dynamic {
            let wanted = bytes as f64 / (time as f64).max(1.0);
            self.tracks[track].running = Some(Running { since: self.now, left: time as f64, rate: 0.0, wanted });
            self.running.push(track);
            self.is_changed = true;
            return;
        }
        self.has_worked(track, time);
        self.schedule(time, slot, Event::Done(number as u32, self.tracks[track].version));
    }

    /// A time with lognormal noise whose mean is 1.
    pub(crate) fn with_noise(&mut self, nanoseconds: u64) -> u64 {
        let sigma = self.conditions.noise;
        if sigma <= 0.0 {
            return nanoseconds;
        }
        let normal: f64 = StandardNormal.sample(&mut self.random);
        (nanoseconds as f64 * (sigma * normal - sigma * sigma / 2.0).exp()).round() as u64
    }

    /// A processor has a value that it fetched.
    pub(crate) fn fetched(&mut self, slot: usize, number: usize) {
        let own = &mut self.slots[slot];
        if let Some(fetch) = self.tracks[own.first + number].fetch.take() {
            own.execution.fetched(fetch, ProcessorId::new(number), Nanoseconds(self.now));
        }
        self.release(slot, number);
    }

    /// A processor is done with its task, if its speed has not changed since that was expected.
    pub(crate) fn done(&mut self, slot: usize, number: usize, version: u32) {
        let track = self.slots[slot].first + number;
        if self.tracks[track].version != version {
            return;
        }
        if self.is_dynamic {
            self.settle(track);
            self.running.retain(|&other| other != track);
            self.tracks[track].running = None;
            self.is_changed = true;
        }

        let (task, begun) = self.tracks[track].task;
        let own = &mut self.slots[slot];
        let (plan, processor) = (Rc::clone(&own.plan), ProcessorId::new(number));
        let TaskPlan { recipients, read_on, .. } = &plan.tasks[task.index()];
        own.left -= 1;
        let ran = Span { start: Nanoseconds(begun), end: Nanoseconds(self.now) };
        own.execution.ended(task, processor, ran, recipients);
        let until = own.execution.free()[number].0;
        if let Some(frame) = own.frame.filter(|_| self.conditions.keeps_spans) {
            self.flows[own.stream].spans.push(span(own, number, task, frame, begun, self.now));
        }

        for reader in read_on {
            self.start_next(slot, reader.index());
        }
        match until - self.now {
            0 => self.release(slot, number),
            sending => {
                self.has_worked(track, sending);
                self.schedule(sending, slot, Event::Sent(number as u32));
            }
        }
        self.finish_if_done(slot);
    }

    /// A processor is free again: first for other replicas that need its cores.
    pub(crate) fn release(&mut self, slot: usize, number: usize) {
        let track = self.slots[slot].first + number;
        self.tracks[track].is_busy = false;
        self.wake_rivals(track);
        self.start_next(slot, number);
    }

    /// Lets others that need a processor's cores start.
    pub(crate) fn wake_rivals(&mut self, track: usize) {
        for index in 0..self.tracks[track].rivals.len() {
            let rival = &self.tracks[self.tracks[track].rivals[index]];
            let (slot, number) = (rival.slot, rival.number);
            self.start_next(slot, number);
        }
    }

    fn finish_if_done(&mut self, slot: usize) {
        let own = &mut self.slots[slot];
        let Some(frame) = own.frame.filter(|_| own.left == 0 && own.is_open) else { return };
        own.frame = None;
        let (stream, served) = (own.stream, self.now - own.begun);
        own.served = (own.served.0 + served, own.served.1 + 1);
        self.flows[stream].served[frame] += served;
        let stage = own.stage;
        if stage + 1 < self.flows[stream].stages.len() {
            self.pass_on(stream, stage, frame);
        } else {
            self.is_through(stream, frame);
        }
        self.feed(stream);
    }
}
