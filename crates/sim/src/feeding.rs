//! Which frames start when.

use crate::simulation::Simulator;
use crate::state::{Event, Flow};

/// Rounds that a stream may be ahead of the others that take turns with it, as in a run.
const MOST_AHEAD: f64 = 1.0;
/// A stream that goes on for others' sake passes at most so many times the frames of the longest stream.
const MOST_TIMES: usize = 100;

impl Simulator<'_> {
    /// Whether a stream goes on for the sake of one that is not through, and can be. One that gets nowhere beside it is given up.
    pub(crate) fn goes_on(&self, index: usize) -> bool {
        let most = self.flows.iter().map(|flow| flow.stream.frames).max().unwrap_or(0).saturating_mul(MOST_TIMES);
        self.conditions.keeps_all_busy
            && self.flows[index].next_frame < most
            && self.flows.iter().any(|flow| flow.left > 0 && self.can_go_on(flow))
    }

    /// Whether every stage has a replica.
    fn can_go_on(&self, flow: &Flow<'_>) -> bool {
        flow.stages.iter().all(|stage| self.slots[stage.clone()].iter().any(|slot| !slot.is_lost))
    }

    /// Whether a stream waits for others that take turns with it.
    fn is_ahead(&self, index: usize) -> bool {
        let others = self.flows.iter().filter(|flow| flow.stream.takes_turns && flow.left > 0 && self.can_go_on(flow));
        let least = others.map(Flow::rounds).fold(f64::INFINITY, f64::min);
        self.flows[index].stream.takes_turns && self.flows[index].rounds() > least + MOST_AHEAD
    }

    /// A stream's frame is through.
    pub(crate) fn is_through(&mut self, stream: usize, frame: usize) {
        let flow = &mut self.flows[stream];
        flow.ends[frame] = Some(self.now);
        flow.in_flight -= 1;
        if frame < flow.stream.frames {
            flow.left -= 1;
        }
        if self.through == u64::MAX && self.flows.iter().all(|flow| flow.left == 0) {
            self.through = self.now;
        }
    }

    /// Gives a stream's frames to whoever is free, and those of streams that waited for it.
    pub(crate) fn feed(&mut self, index: usize) {
        // Nobody waits for a stream that is through, or for one that has taken another frame.
        let mut hungry = if self.flows[index].left == 0 { self.turn_takers_but(index) } else { Vec::new() };
        hungry.push(index);
        while let Some(index) = hungry.pop() {
            let before = self.flows[index].next_frame;
            self.feed_stages(index);
            if self.flows[index].next_frame > before {
                hungry.extend(self.turn_takers_but(index));
            }
        }
    }

    /// The other streams that take turns with a stream, if it does.
    fn turn_takers_but(&self, index: usize) -> Vec<usize> {
        if !self.flows[index].stream.takes_turns {
            return Vec::new();
        }
        (0..self.flows.len()).filter(|&other| other != index && self.flows[other].stream.takes_turns).collect()
    }

    /// Gives frames to whoever is free, the last stage first, until nobody can take another one.
    fn feed_stages(&mut self, index: usize) {
        loop {
            let mut has_moved = false;
            for stage in (0..self.flows[index].stages.len()).rev() {
                for slot in self.flows[index].stages[stage].clone() {
                    let own = &self.slots[slot];
                    if own.frame.is_some() || own.is_lost {
                        continue;
                    }
                    let frame = match stage {
                        0 if self.is_ahead(index) => None,
                        0 => {
                            let goes_on = self.goes_on(index);
                            self.flows[index].take(self.now, goes_on)
                        }
                        _ => self.flows[index].queues[stage].pop_front(),
                    };
                    if let Some(frame) = frame {
                        self.begin(slot, frame);
                        has_moved = true;
                    }
                }
                has_moved |= self.send(index, stage);
            }
            if !has_moved {
                return;
            }
        }
    }

    /// Brings a frame that a stage is done with to the queue of the next one, or to the way there.
    pub(crate) fn pass_on(&mut self, index: usize, stage: usize, frame: usize) {
        let flow = &mut self.flows[index];
        match &mut flow.ways[stage + 1] {
            Some(way) => way.wait(frame, self.now),
            None => flow.queues[stage + 1].push_back(frame),
        }
    }

    fn begin(&mut self, slot: usize, frame: usize) {
        let own = &mut self.slots[slot];
        own.begin(frame, self.now);
        let (first, processors, hand_over) = (own.first, own.plan.tracks.len(), own.plan.hand_over);
        (first..first + processors).for_each(|track| self.has_worked(track, hand_over));
        let wait = self.wait_for_links(slot);
        self.schedule(wait + hand_over, slot, Event::TakenOver);
    }

    /// How long a replica waits until the links to its clusters are free, which it then occupies.
    fn wait_for_links(&mut self, slot: usize) -> u64 {
        let links = self.slots[slot].plan.links.iter();
        let keys = || links.clone().map(|link| (link.sender.clone(), link.receiver.clone()));
        let free = keys().filter_map(|key| self.links.get(&key).copied()).max().unwrap_or_default();
        let begin = self.now.max(free);
        let occupied: Vec<_> = keys().zip(links.map(|link| begin.saturating_add(link.time.0))).collect();
        self.links.extend(occupied);
        begin - self.now
    }
}
