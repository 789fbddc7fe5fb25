//! What meter and echo send each other: messages as frames have them, so that making and reading them counts.

use std::collections::HashMap;

use anyhow::Result;
use millstream_api::Tensor;
use millstream_distributed::{FrameTag, FrameValue, Message, MessageKind, PlanId};

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is answered.
    Echo,
    /// It is answered with the processor time so far.
    Time,
    /// The other end is to keep its cores busy from now on.
    BeBusy,
    /// And no longer.
    BeIdle,
    /// There will be no more.
    End,
}

impl Purpose {
    const ALL: [Self; 5] = [Self::Echo, Self::Time, Self::BeBusy, Self::BeIdle, Self::End];
}

/// What stands beside the value that a message brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) purpose: Purpose,
    /// Of the message, which its answer has as well.
    pub(super) number: u64,
    /// How many bytes the answer is to have, or in answers to [`Purpose::Time`] the processor time so far in
    /// microseconds.
    pub(super) said: u64,
}

/// Makes messages with values of floats, each of which is made once.
#[derive(Default)]
pub(super) struct Messages(HashMap<usize, Tensor>);

impl Messages {
    /// A message with a value of so many bytes, or without one.
    pub(super) fn encode(&mut self, header: Header, bytes: usize) -> Result<Vec<u8>> {
        let Header { purpose, number: position, said: sequence } = header;
        let epoch = purpose as u64;
        let tag = FrameTag { epoch, plan: PlanId(0), visit: 0, position, sequence };
        let floats = bytes / size_of::<f32>();
        let mut value =
            || self.0.entry(floats).or_insert_with(|| Tensor::from_f32([floats], vec![0.5; floats])).clone();
        let values = (floats > 0).then(|| FrameValue { id: 0, tensor: value() });
        let kind = MessageKind::Frame { tag, failure: None };
        Ok(Message { kind, values: values.into_iter().collect() }.encode()?)
    }

    /// What stands beside the value of a message; `None` if it is none of these.
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let MessageKind::Frame { tag, .. } = Message::decode(bytes).ok()?.kind else { return None };
        let purpose = Purpose::ALL.into_iter().find(|purpose| *purpose as u64 == tag.epoch)?;
        Some(Header { purpose, number: tag.position, said: tag.sequence })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn what_is_said_beside_values_of_any_size_comes_back() {
        let mut messages = Messages::default();
        for (purpose, bytes) in Purpose::ALL.into_iter().zip([0, 4, 1 << 12, 1 << 14, 8]) {
            let header = Header { purpose, number: 7, said: 9 };
            let encoded = messages.encode(header, bytes).unwrap();
            assert!((bytes..bytes + 400).contains(&encoded.len()), "{}", encoded.len());
            assert_eq!(Messages::decode(&encoded), Some(header));
        }
        assert_eq!(Messages::decode(b"something else"), None);
    }
}
