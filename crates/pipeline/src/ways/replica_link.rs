//! The links that replicas occupy.

use millstream_cost::Nanoseconds;
use millstream_schedule::OccupiedLink;

use crate::board::cluster_id::ClusterId;

/// All links to a cluster, as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterLink {
    pub(crate) receiver: ClusterId,
    pub(crate) time: Nanoseconds,
}

/// The link that a replica occupies, if any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicaLink(pub(crate) Option<ClusterLink>);

impl OccupiedLink for ClusterLink {
    fn is_of_same_link(&self, other: &Self) -> bool {
        self.receiver == other.receiver
    }

    fn time(&self) -> Nanoseconds {
        self.time
    }
}

impl AsRef<[ClusterLink]> for ReplicaLink {
    fn as_ref(&self) -> &[ClusterLink] {
        self.0.as_slice()
    }
}
