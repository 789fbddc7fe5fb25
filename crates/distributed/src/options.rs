//! Time limits after which a front takes hosts for lost, sends frames again, or gives up.

use std::time::Duration;

/// How a [`Front`](crate::Front) deals with time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontOptions {
    /// Most frames that are under way, at least 1.
    pub in_flight: usize,
    /// Time between two questions to a host whether it is there.
    pub ask_every: Duration,
    /// A host that has said nothing for so long is lost.
    pub silence: Duration,
    /// How long a lost host is waited for before another plan takes over.
    pub patience: Duration,
    /// Longest time without an answer while frames are under way, before they are sent again.
    pub answer: Duration,
    /// How long a host must have been back before a plan with it takes over again.
    pub trial: Duration,
    /// How long no plan may be possible, at the start or later, before everything is given up.
    pub give_up: Duration,
    /// How often an epoch may end without progress before the oldest frame is answered with an error.
    pub attempts: u32,
}

impl FrontOptions {
    /// So many frames under way; everything else as it suits hosts on a local network.
    pub fn new(in_flight: usize) -> Self {
        Self {
            in_flight: in_flight.max(1),
            ask_every: Duration::from_millis(100),
            silence: Duration::from_millis(1500),
            patience: Duration::from_millis(1500),
            answer: Duration::from_secs(10),
            trial: Duration::from_secs(3),
            give_up: Duration::from_secs(60),
            attempts: 5,
        }
    }
}
