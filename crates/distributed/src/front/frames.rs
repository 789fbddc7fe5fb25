//! Frames without an answer.

use std::collections::VecDeque;

use crate::error::FrameFailure;
use crate::message::FrameValue;

/// What became of a frame.
pub(super) type Outcome = Result<Vec<FrameValue>, FrameFailure>;

/// Frames from being submitted until their turn to be answered has come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    waiting: VecDeque<Waiting>,
    /// The sequence number of the first of them.
    first: u64,
    /// How many of them, from the first on, were dealt with in this epoch: sent, or answered before.
    dealt_with: usize,
    /// How many frames were sent in this epoch.
    position: u64,
}

#[derive(Debug)]
struct Waiting {
    values: Vec<FrameValue>,
    outcome: Option<Outcome>,
}

/// A frame that is to be sent.
#[derive(Debug)]
pub(super) struct Sendable {
    pub(super) position: u64,
    pub(super) sequence: u64,
    pub(super) values: Vec<FrameValue>,
}

impl Frames {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many were sent in this epoch and have no answer.
    pub(super) fn under_way(&self) -> usize {
        self.waiting.iter().take(self.dealt_with).filter(|frame| frame.outcome.is_none()).count()
    }

    pub(super) fn submit(&mut self, values: Vec<FrameValue>) -> u64 {
        let sequence = self.first.saturating_add(self.waiting.len() as u64);
        self.waiting.push_back(Waiting { values, outcome: None });
        sequence
    }

    /// Another epoch: nothing of it was sent yet.
    pub(super) fn begin_again(&mut self) {
        self.dealt_with = 0;
        self.position = 0;
    }

    /// The next frame to send among the first `window`; it counts as sent.
    pub(super) fn next_to_send(&mut self, window: usize) -> Option<Sendable> {
        while self.dealt_with < window {
            let frame = self.waiting.get(self.dealt_with)?;
            let sequence = self.first.saturating_add(self.dealt_with as u64);
            self.dealt_with = self.dealt_with.saturating_add(1);
            if frame.outcome.is_none() {
                let position = self.position;
                self.position = position.saturating_add(1);
                return Some(Sendable { position, sequence, values: frame.values.clone() });
            }
        }
        None
    }

    /// Takes the first answer to a frame, of whichever epoch, and returns whose turn has come. Later answers count for
    /// nothing.
    pub(super) fn answer(&mut self, sequence: u64, outcome: Outcome) -> Vec<(u64, Outcome)> {
        let place = sequence.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(frame) = place.and_then(|place| self.waiting.get_mut(place))
            && frame.outcome.is_none()
        {
            frame.outcome = Some(outcome);
        }
        let mut ready = Vec::new();
        while let Some(outcome) = self.waiting.front_mut().and_then(|frame| frame.outcome.take()) {
            self.waiting.pop_front();
            ready.push((self.first, outcome));
            self.first = self.first.saturating_add(1);
            self.dealt_with = self.dealt_with.saturating_sub(1);
        }
        ready
    }

    /// Answers the oldest frame.
    pub(super) fn answer_oldest(&mut self, outcome: Outcome) -> Vec<(u64, Outcome)> {
        self.answer(self.first, outcome)
    }
}
