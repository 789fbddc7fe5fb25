//! What is wanted of networks that share a board.

use std::time::Duration;

use crate::error::Error;
use crate::network::Network;

/// Weights may differ by so many times.
const MOST_UNEVEN: f64 = 1000.0;

/// The weight and the deadline of one of several networks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkShare {
    /// Frames for each frame of a network with weight 1.
    pub weight: f64,
    /// The longest that a frame may take: where networks take turns, waiting for others included; with processors of
    /// its own, waiting in queues left out.
    pub deadline: Option<Duration>,
    /// By what part predictions must be better than the deadline, for what they do not know: 0.1 for a tenth.
    pub margin: f64,
}

impl NetworkShare {
    /// The deadline that predictions must meet.
    pub(crate) fn planned_deadline(&self) -> Option<Duration> {
        match self.margin {
            0.0 => self.deadline,
            margin => self.deadline.map(|deadline| Duration::from_secs_f64(deadline.as_secs_f64() / (1.0 + margin))),
        }
    }

    pub(crate) fn is_met_by(&self, latency: Duration) -> bool {
        self.planned_deadline().is_none_or(|deadline| latency <= deadline)
    }
}

impl Default for NetworkShare {
    /// As many frames as of the others, each as long as it takes.
    fn default() -> Self {
        Self { weight: 1.0, deadline: None, margin: 0.0 }
    }
}

/// Whether there is a share for each network, with a weight that is a number above 0 and not far from the others', and
/// a margin from 0 on.
pub(crate) fn check(networks: &[Network], shares: &[NetworkShare]) -> Result<(), Error> {
    if networks.len() != shares.len() {
        let (networks, shares) = (networks.len(), shares.len());
        return Err(Error::Unfit(format!("there are {networks} networks and {shares} shares, one is needed for each")));
    }
    if let Some(share) = shares.iter().find(|share| !(share.weight.is_finite() && share.weight > 0.0)) {
        return Err(Error::Unfit(format!("the weight {} is not a number above 0", share.weight)));
    }
    if let Some(share) = shares.iter().find(|share| !(share.margin.is_finite() && share.margin >= 0.0)) {
        return Err(Error::Unfit(format!("the margin {} is not a number from 0 on", share.margin)));
    }
    let weights = || shares.iter().map(|share| share.weight);
    let uneven = weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min);
    if uneven > MOST_UNEVEN {
        return Err(Error::Unfit(format!("the weights differ by {uneven:.0} times, where {MOST_UNEVEN} is the most")));
    }
    Ok(())
}
