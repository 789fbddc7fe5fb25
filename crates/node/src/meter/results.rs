//! What was measured of the way between two hosts.

use serde::{Deserialize, Serialize};

use super::TransferLine;

/// What was measured in one direction while both ends were idle or busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Whether the meter sent; else it received.
    pub sends: bool,
    /// Whether all cores of both ends had something else to do.
    pub is_busy: bool,
    /// Messages that were sent again, because no answer came.
    pub lost: usize,
    /// All messages, each with its answer.
    pub messages: usize,
    /// Per size, the time of a message alone and of one among others, in seconds.
    pub samples: Vec<Sample>,
    /// The line through times of messages alone: its value at no bytes is the latency.
    pub alone: TransferLine,
    /// The line through times among others: its slope is what a byte occupies the way for.
    pub among_others: TransferLine,
    /// Processor time of a byte at the meter's end: the slope of a line through that of messages among others.
    pub meter_cpu_seconds_per_byte: f64,
    /// Processor time of a byte at the echo's end.
    pub echo_cpu_seconds_per_byte: f64,
    /// Processor time of a message at the meter's end, however small it is: half of what the line has at no bytes, as
    /// each message has an answer.
    pub meter_cpu_seconds_per_message: f64,
    /// At the echo's end.
    pub echo_cpu_seconds_per_message: f64,
}

/// Times of messages of one size, medians.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Their size.
    pub bytes: usize,
    /// From when one is sent until it is there.
    pub alone_seconds: f64,
    /// From one to the next.
    pub among_others_seconds: f64,
    /// Processor time of one among others at the meter's end.
    pub meter_cpu_seconds: f64,
    /// At the echo's end.
    pub echo_cpu_seconds: f64,
}
