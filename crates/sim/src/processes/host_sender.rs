//! The process that sends frames from host to host, from outside and to there.

use millstream_cost::{LaneId, Nanoseconds};
use millstream_schedule::StageId;

use crate::input::conditions::Unit;
use crate::state::crossing::{CrossingState, SentFrame};
use crate::state::events::{CrossedFrame, Event, EventQueue};
use crate::state::ids::StreamId;
use crate::state::link_occupancy::LinkOccupancy;
use crate::state::noise::Noise;
use crate::state::streams::Streams;

/// What the process reads and changes.
pub(crate) struct HostSender<'s, 'a> {
    pub(crate) queue: &'s mut EventQueue,
    pub(crate) links: &'s mut LinkOccupancy,
    pub(crate) streams: &'s mut Streams<'a>,
    pub(crate) noise: &'s mut Noise,
    /// What has been taken away from the board.
    pub(crate) lost: &'s [Unit],
}

impl HostSender<'_, '_> {
    /// Sends the next frame to a stage from another host or from outside, or results to outside, if the link is free,
    /// the receiver has room for it, and no other frame has waited longer. Whether it does.
    pub(crate) fn send(&mut self, stream: StreamId, stage: StageId) -> bool {
        let Some(since) = self.ready_since(stream, stage) else { return false };
        let Some(state) = &self.streams.flows[stream].crossings[stage] else { return false };
        let (now, crossing) = (self.queue.now(), &state.crossing);
        let lane = crossing.lane;
        if !self.links.is_free(lane, now) || self.waiting_for(lane).any(|rival| rival < since) {
            return false;
        }

        let occupied = self.noise.on(self.links.at_speed(&crossing.link, crossing.occupied));
        let latency = self.noise.on(crossing.latency);
        let end = now + occupied;
        self.links.occupy_lane(lane, end);

        let flow = &mut self.streams.flows[stream];
        let sent = flow.crossings[stage].as_mut().and_then(|state| state.send(end + latency));
        let Some(SentFrame { frame, arrival }) = sent else { return false };
        let crossed = CrossedFrame { stream, stage, frame, generation: flow.generation };
        self.queue.at(end, Event::LinkFree);
        self.queue.at(arrival, Event::Crossed(crossed));
        true
    }

    /// Since when a frame waits to be sent to a stage whose host has room for it.
    fn ready_since(&self, stream: StreamId, stage: StageId) -> Option<Nanoseconds> {
        let flow = &self.streams.flows[stream];
        let state = flow.crossings[stage].as_ref()?;
        let is_lost = self.lost.iter().any(|unit| matches!(unit, Unit::Host(host) if *host == state.crossing.from));
        state.ready_since(flow.queues[stage].len()).filter(|_| !is_lost)
    }

    /// Since when each frame waits that could be sent over a lane.
    fn waiting_for(&self, lane: LaneId) -> impl Iterator<Item = Nanoseconds> {
        let uses_lane =
            move |state: &Option<CrossingState>| state.as_ref().is_some_and(|state| state.crossing.lane == lane);
        self.streams.flows.enumerate().flat_map(move |(stream, flow)| {
            let stages = flow.crossings.enumerate().filter(move |(_, state)| uses_lane(state));
            stages.filter_map(move |(stage, _)| self.ready_since(stream, stage))
        })
    }
}
