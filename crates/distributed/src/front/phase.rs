//! How far a deployment is.

use std::time::Duration;

use crate::error::DistributedError;
use crate::route::PlanId;

/// What the front is about.
#[derive(Debug)]
pub(super) enum Phase {
    /// Hosts get the plan ready.
    Preparing { plan: PlanId, since: Duration },
    /// A probe goes the way of the plan.
    Probing { plan: PlanId, since: Duration, asked: Duration },
    /// Frames go by the plan.
    Streaming { plan: PlanId },
    /// Frames that are under way are waited for, because a better plan can take over.
    Draining { plan: PlanId, to: PlanId },
    /// Everything was given up.
    Ended(DistributedError),
}

impl Phase {
    pub(super) fn plan(&self) -> Option<PlanId> {
        match self {
            Self::Preparing { plan, .. }
            | Self::Probing { plan, .. }
            | Self::Streaming { plan }
            | Self::Draining { plan, .. } => Some(*plan),
            Self::Ended(_) => None,
        }
    }

    /// Whether something of this epoch is on its way.
    pub(super) fn sends(&self) -> bool {
        matches!(self, Self::Probing { .. } | Self::Streaming { .. } | Self::Draining { .. })
    }
}
