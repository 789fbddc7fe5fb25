//! What happens to the board while frames flow.

use millstream_board::host_of;
use millstream_cost::Nanoseconds;

use crate::links::Way;
use crate::simulation::Simulator;
use crate::{DisturbanceKind, Unit};

impl Simulator<'_> {
    pub(crate) fn disturb(&mut self, index: usize) {
        let conditions = self.conditions;
        let Some(disturbance) = conditions.disturbances.get(index) else { return };
        match &disturbance.kind {
            DisturbanceKind::Speed { label, factor } => self.set_speed(label, *factor),
            DisturbanceKind::Link { link, factor } => {
                self.link_speeds.insert(link.clone(), *factor);
            }
            DisturbanceKind::Lost(unit) => self.lose(unit),
            DisturbanceKind::Restored(unit) => self.restore(unit),
        }
    }

    fn set_speed(&mut self, label: &str, factor: f64) {
        let Some(own) = self.labels.iter().position(|known| known == label) else { return };
        (0..self.running.len()).for_each(|index| self.settle(self.running[index]));
        self.speeds[own].given = factor;
        self.is_changed = true;
        self.history.push((Nanoseconds(self.now), label.to_owned(), self.speeds[own].factor()));
    }

    fn lose(&mut self, unit: &Unit) {
        self.lost.push(unit.clone());
        for slot in self.slots_with(unit) {
            self.stop(slot);
        }
        for stream in 0..self.flows.len() {
            let is_stalled = self.flows[stream].stages.iter().any(|range| {
                let mut replicas = self.slots[range.clone()].iter();
                replicas.all(|slot| slot.is_lost)
            });
            if is_stalled {
                self.fall_back(stream);
            }
            self.feed(stream);
        }
    }

    /// Stops a replica for good, and gives its frame to the others.
    fn stop(&mut self, slot: usize) {
        let (first, processors) = (self.slots[slot].first, self.slots[slot].plan.tracks.len());
        for track in first..first + processors {
            self.settle(track);
            self.running.retain(|&other| other != track);
            let own = &mut self.tracks[track];
            (own.running, own.fetch, own.is_busy, own.waits_since) = (None, None, false, None);
        }
        self.slots[slot].epoch += 1;
        self.is_changed = true;
        let own = &mut self.slots[slot];
        own.is_lost = true;
        if let Some(frame) = own.frame.take() {
            let flow = &mut self.flows[own.stream];
            match own.stage {
                0 => {
                    flow.in_flight -= 1;
                    flow.returned.push_front(frame);
                }
                stage => flow.queues[stage].push_front(frame),
            }
        }
        (first..first + processors).for_each(|track| self.wake_rivals(track));
    }

    /// Lets the frames that are on their way start again with the other schedule, if there is one.
    fn fall_back(&mut self, stream: usize) {
        let flow = &self.flows[stream];
        let Some(fallback) = flow.stream.fallback.filter(|_| flow.fell_back.is_none()) else { return };
        let slots: Vec<usize> = flow.stages.iter().flat_map(Clone::clone).collect();
        let mut frames: Vec<usize> = flow.queues.iter().flatten().chain(&flow.returned).copied().collect();
        for slot in slots {
            if !self.slots[slot].is_lost {
                frames.extend(self.slots[slot].frame.take());
                self.stop(slot);
            }
        }
        let flow = &mut self.flows[stream];
        frames.extend(flow.ways.iter().flatten().flat_map(Way::frames));
        frames.sort_unstable();
        flow.generation += 1;
        flow.returned = frames.into();
        flow.in_flight = 0;
        flow.fell_back = Some(self.now);
        // It was evaluated at the start.
        let _ = self.install(stream, fallback);
    }

    fn restore(&mut self, unit: &Unit) {
        self.lost.retain(|lost| lost != unit);
        for slot in self.slots_with(unit) {
            let (first, processors) = (self.slots[slot].first, self.slots[slot].plan.tracks.len());
            let tracks = first..first + processors;
            self.slots[slot].is_lost = self.lost.iter().any(|unit| tracks.clone().any(|track| self.needs(track, unit)));
        }
        (0..self.flows.len()).for_each(|stream| self.feed(stream));
    }

    /// Replicas that need a unit.
    pub(crate) fn slots_with(&self, unit: &Unit) -> Vec<usize> {
        let tracks = (0..self.tracks.len()).filter(|&track| self.needs(track, unit));
        let mut slots: Vec<usize> = tracks.map(|track| self.tracks[track].slot).collect();
        slots.dedup();
        slots
    }

    /// Whether a processor can't work without a unit.
    fn needs(&self, track: usize, unit: &Unit) -> bool {
        let own = &self.tracks[track];
        match unit {
            Unit::Host(host) => host_of(&self.labels[own.label]) == Some(host.as_str()),
            Unit::Core(_) | Unit::Accelerator(_) => own.units.contains(unit),
        }
    }
}
