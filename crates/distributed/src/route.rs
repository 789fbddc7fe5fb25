//! Who is there, and the ways that frames go.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A host, by its place in the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub usize);

/// A schedule that was prepared, by its place in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub usize);

/// Where a message comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// Beside whoever has frames.
    Front,
    /// A host.
    Host(HostId),
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Front => formatter.write_str("the front"),
            Self::Host(HostId(place)) => write!(formatter, "host {}", place + 1),
        }
    }
}

/// The hosts that a frame visits by a schedule, in order. A host may come several times, with other stages each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    visits: Vec<HostId>,
}

impl Route {
    /// A way by these hosts.
    pub fn new(visits: impl IntoIterator<Item = HostId>) -> Self {
        Self { visits: visits.into_iter().collect() }
    }

    /// The hosts, visit by visit.
    pub fn visits(&self) -> &[HostId] {
        &self.visits
    }

    /// Whether frames come to a host.
    pub fn contains(&self, host: HostId) -> bool {
        self.visits.contains(&host)
    }

    /// Who gets what a visit made, and as which visit; the front after the last one.
    pub fn after(&self, visit: usize) -> (Peer, usize) {
        let next = visit.saturating_add(1);
        (self.visits.get(next).map_or(Peer::Front, |&host| Peer::Host(host)), next)
    }
}
