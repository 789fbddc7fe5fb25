//! Links as they are simulated.

use crate::Unit;
use crate::links::Way;
use crate::simulation::Simulator;
use crate::state::Event;

impl Simulator<'_> {
    /// Sends the next frame to a stage of another host, if the link is free, the receiver has room for it, and no other has waited
    /// longer. Whether it does.
    pub(crate) fn send(&mut self, stream: usize, stage: usize) -> bool {
        let Some(since) = self.ready_since(stream, stage) else { return false };
        let flow = &self.flows[stream];
        let Some(way) = &flow.ways[stage] else { return false };
        let (crossing, generation) = (&way.crossing, flow.generation);
        let free = self.channels.get(&crossing.channel).copied().unwrap_or_default();
        if free > self.now || self.others_on(crossing.channel).any(|other| other < since) {
            return false;
        }
        let factor = self.link_speeds.get(&crossing.link).copied().unwrap_or(1.0);
        let occupied = (crossing.occupied.0 as f64 / factor).round() as u64;
        let (channel, latency) = (crossing.channel, crossing.latency.0);
        let [occupied, latency] = [occupied, latency].map(|time| self.with_noise(time));

        let end = self.now.saturating_add(occupied);
        self.channels.insert(channel, end);
        let Some(way) = &mut self.flows[stream].ways[stage] else { return false };
        let Some((_, frame)) = way.waiting.pop_front() else { return false };
        way.under_way.push_back(frame);
        way.last = way.last.max(end.saturating_add(latency));
        let landed = Event::Landed(stream as u32, stage as u32, frame as u32, generation);
        let at = way.last;
        self.schedule_on_link(end, Event::LinkFree);
        self.schedule_on_link(at, landed);
        true
    }

    /// Since when a frame waits that its receiver has room for.
    fn ready_since(&self, stream: usize, stage: usize) -> Option<u64> {
        let flow = &self.flows[stream];
        let way = flow.ways.get(stage)?.as_ref()?;
        let has_room = way.under_way.len() + flow.queues[stage].len() < way.most;
        let is_lost = self.lost.iter().any(|unit| matches!(unit, Unit::Host(host) if *host == way.crossing.from));
        way.waiting.front().filter(|_| has_room && !is_lost).map(|(since, _)| *since)
    }

    /// Since when frames wait that could go by a channel.
    fn others_on(&self, channel: usize) -> impl Iterator<Item = u64> {
        let ways = self.flows.iter().enumerate().flat_map(move |(stream, flow)| {
            let on_channel = move |way: &Option<Way>| way.as_ref().is_some_and(|way| way.crossing.channel == channel);
            (0..flow.ways.len()).filter(move |&stage| on_channel(&flow.ways[stage])).map(move |stage| (stream, stage))
        });
        ways.filter_map(|(stream, stage)| self.ready_since(stream, stage))
    }

    /// A frame is there, unless its stream has begun anew meanwhile.
    pub(crate) fn land(&mut self, stream: usize, stage: usize, frame: usize, generation: u32) {
        let flow = &mut self.flows[stream];
        if flow.generation != generation {
            return;
        }
        if let Some(way) = &mut flow.ways[stage] {
            way.under_way.pop_front();
            flow.queues[stage].push_back(frame);
        }
        self.feed(stream);
    }
}
