//! Which links are occupied until when, and how fast they are.

use std::collections::HashMap;

use millstream_cost::{LaneId, Nanoseconds};
use millstream_schedule::LinkUse;

/// The links of the board, and those between hosts. A link carries one frame at a time.
#[derive(Debug, Default)]
pub(crate) struct LinkOccupancy {
    /// Until when links between clusters or accelerators are occupied, by the labels of senders and receivers.
    board: HashMap<(String, String), Nanoseconds>,
    /// Until when lanes between hosts are occupied.
    lanes: HashMap<LaneId, Nanoseconds>,
    /// The part of their speed that links between hosts have, by their names, where it is not all.
    speeds: HashMap<String, f64>,
}

impl LinkOccupancy {
    /// Occupies links of the board as soon as all of them are free. The result is how long from now that is.
    pub(crate) fn occupy_together(&mut self, uses: &[LinkUse], now: Nanoseconds) -> Nanoseconds {
        let keys = || uses.iter().map(|link| (link.sender.clone(), link.receiver.clone()));
        let free = keys().filter_map(|key| self.board.get(&key).copied()).max().unwrap_or_default();
        let begin = now.max(free);
        let ends = uses.iter().map(|link| begin + link.time);
        self.board.extend(keys().zip(ends));
        begin - now
    }

    /// Whether a lane between hosts is free.
    pub(crate) fn is_free(&self, lane: LaneId, now: Nanoseconds) -> bool {
        self.lanes.get(&lane).is_none_or(|&until| until <= now)
    }

    /// Occupies a lane between hosts until some time.
    pub(crate) fn occupy_lane(&mut self, lane: LaneId, until: Nanoseconds) {
        self.lanes.insert(lane, until);
    }

    /// Changes what part of its speed a link between hosts has.
    pub(crate) fn set_speed(&mut self, link: &str, factor: f64) {
        self.speeds.insert(link.to_owned(), factor);
    }

    /// What a time on a link between hosts at its full speed becomes at the speed that it has now.
    pub(crate) fn at_speed(&self, link: &str, time: Nanoseconds) -> Nanoseconds {
        let factor = self.speeds.get(link).copied().unwrap_or(1.0);
        Nanoseconds((time.0 as f64 / factor).round() as u64)
    }
}
