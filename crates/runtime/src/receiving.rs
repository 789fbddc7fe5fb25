//! Waiting for a result for a while.

use std::time::Duration;

use crate::engine::Engine;
use crate::packet::FrameResult;
use crate::sync::lock;

/// What came of waiting for a result for a while.
#[derive(Debug)]
pub enum Received {
    /// The next result in the order of submission.
    Result(Box<FrameResult>),
    /// It is not there yet. The time is over, or a later frame came out before its turn, which makes room for another
    /// one.
    NotYet,
    /// No frame is outstanding.
    Nothing,
}

impl Engine {
    /// As [`Engine::recv`], but waits no longer than `limit`, and returns early when a frame comes out before its turn:
    /// whoever submits from the same thread may then find room. Waits for others that are receiving right now, however
    /// long they take.
    pub fn recv_timeout(&self, limit: Duration) -> Received {
        let mut buffer = lock(&self.reorder_buffer);
        if let Some(result) = self.take_ready(&mut buffer) {
            return Received::Result(Box::new(result));
        }
        if self.is_drained(&buffer) {
            return Received::Nothing;
        }
        if self.await_any_within(&mut buffer, limit).is_none() {
            return Received::NotYet;
        }
        self.take_ready(&mut buffer).map_or(Received::NotYet, |result| Received::Result(Box::new(result)))
    }
}
