//! Operators start when their processor and their inputs are there.

use std::rc::Rc;

use rand_distr::{Distribution, StandardNormal};

use crate::plan::{Delivery, OperatorPlan};
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

    /// Starts the next operator of a processor if it can.
    pub(crate) fn start_next(&mut self, slot: usize, number: usize) {
        let own = &self.slots[slot];
        let track = own.first + number;
        if own.frame.is_none() || !own.is_open || own.is_lost || self.tracks[track].is_busy {
            return;
        }
        let Some(&operator) = own.plan.tracks[number].get(own.next[number]) else { return };
        let rivals = &self.tracks[track].rivals;
        if rivals.iter().any(|&rival| self.tracks[rival].is_busy) {
            return;
        }
        let plan = &own.plan.operators[operator];

        // Values are fetched in the order in which they were made, while others are still being made.
        let open = plan.fetches.iter().filter(|fetch| !own.is_fetched[fetch.number]);
        let next = open.filter_map(|fetch| Some((own.made[fetch.maker]?, fetch))).min_by_key(|made| made.0);
        if let Some((_, &fetch)) = next {
            self.tracks[track].is_busy = true;
            self.has_worked(track, fetch.nanoseconds);
            self.schedule(fetch.nanoseconds, slot, Event::Fetched(number as u32, fetch.number as u32));
            return;
        }
        if own.missing[operator] > 0 {
            return;
        }

        let (nanoseconds, bytes) = (plan.nanoseconds, plan.bytes);
        self.slots[slot].next[number] += 1;
        self.tracks[track].is_busy = true;
        let time = self.with_noise(nanoseconds);
        if self.is_dynamic {
            let wanted = bytes as f64 / (time as f64).max(1.0);
            let (begun, since) = (self.now, self.now);
            self.tracks[track].running = Some(Running { operator, begun, since, left: time as f64, rate: 0.0, wanted });
            self.running.push(track);
            self.is_changed = true;
            return;
        }

        self.has_worked(track, time);
        if self.conditions.keeps_spans {
            self.keep_span(slot, number, operator, self.now, self.now.saturating_add(time));
        }
        self.schedule(time, slot, Event::Done(operator as u32, 0));
    }

    fn keep_span(&mut self, slot: usize, number: usize, operator: usize, start: u64, end: u64) {
        let own = &self.slots[slot];
        if let Some(frame) = own.frame {
            self.flows[own.stream].spans.push(span(own, number, operator, frame, start, end));
        }
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

    pub(crate) fn done(&mut self, slot: usize, operator: usize, version: u32) {
        let plan = Rc::clone(&self.slots[slot].plan);
        let OperatorPlan { track: number, readers, sends, .. } = &plan.operators[operator];
        let track = self.slots[slot].first + number;
        if self.is_dynamic {
            if self.tracks[track].version != version {
                return;
            }
            self.settle(track);
            self.running.retain(|&other| other != track);
            self.is_changed = true;
            if let Some(running) = self.tracks[track].running.take()
                && self.conditions.keeps_spans
            {
                self.keep_span(slot, *number, operator, running.begun, self.now);
            }
        }

        let own = &mut self.slots[slot];
        own.made[operator] = Some(self.now);
        own.left -= 1;
        for &(reader, delivery) in readers {
            match delivery {
                Delivery::AtOnce => self.arrive(slot, reader),
                Delivery::Beside(delay) => self.schedule(delay, slot, Event::Arrived(reader as u32)),
                Delivery::Sent(last) => {
                    let delay = sends[..=last].iter().sum();
                    self.schedule(delay, slot, Event::Arrived(reader as u32));
                }
            }
        }

        if sends.is_empty() {
            self.release(slot, *number);
        } else {
            let delay: u64 = sends.iter().sum();
            self.has_worked(track, delay);
            self.schedule(delay, slot, Event::Sent(*number as u32));
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

    pub(crate) fn arrive(&mut self, slot: usize, operator: usize) {
        let own = &mut self.slots[slot];
        own.missing[operator] -= 1;
        let track = own.plan.operators[operator].track;
        self.start_next(slot, track);
    }

    fn finish_if_done(&mut self, slot: usize) {
        let own = &mut self.slots[slot];
        let Some(frame) = own.frame.filter(|_| own.left == 0 && own.is_open) else { return };
        own.frame = None;
        let (stream, served) = (own.stream, self.now - own.begun);
        own.served = (own.served.0 + served, own.served.1 + 1);
        self.flows[stream].served[frame] += served;
        if own.stage + 1 < self.flows[stream].stages.len() {
            own.blocked = Some(frame);
        } else {
            self.is_through(stream, frame);
        }
        self.feed(stream);
    }
}
