//! What frames take from one host to another.

use millstream_cost::{ClassId, HostCrossing};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;
use millstream_schedule::crossing_bytes;

use crate::network::NetworkBlocks;

/// No stage takes so long.
pub(super) const NEVER: u64 = u64::MAX;

/// What frames take from one host to another, by the blocks that are done, in nanoseconds.
pub(super) struct LinkTimes {
    sending: Vec<u64>,
    receiving: Vec<u64>,
    /// For how long the link carries nothing else.
    occupied: Vec<u64>,
    /// A class of the host that sends.
    sender: ClassId,
}

impl LinkTimes {
    pub(super) fn of(
        crossing: &HostCrossing,
        sender: ClassId,
        NetworkBlocks { graph, chain }: NetworkBlocks<'_>,
    ) -> Self {
        let bytes = bytes_after(graph, chain, crossing);
        let times = |time: &dyn Fn(u64) -> u64| bytes.iter().map(|&bytes| time(bytes)).collect();
        Self {
            sending: times(&|bytes| crossing.sending(bytes).0),
            receiving: times(&|bytes| crossing.receiving(bytes).0),
            occupied: times(&|bytes| crossing.occupied(bytes).0),
            sender,
        }
    }

    /// What receiving costs.
    pub(super) fn receiving(&self) -> &[u64] {
        &self.receiving
    }

    /// A class of the host that sends.
    pub(super) fn sender(&self) -> ClassId {
        self.sender
    }

    /// What sending costs where the link is occupied for less than a period; the network's last block is never sent.
    pub(super) fn sending_below(&self, period: u64) -> Vec<u64> {
        let times = self.sending.iter().zip(&self.occupied);
        let mut sending: Vec<u64> =
            times.map(|(&sending, &occupied)| if occupied < period { sending } else { NEVER }).collect();
        if let Some(last) = sending.last_mut() {
            *last = NEVER;
        }
        sending
    }
}

/// Bytes of what is still needed after each number of blocks, as they are sent.
fn bytes_after(graph: &Graph, chain: &Chain, crossing: &HostCrossing) -> Vec<u64> {
    let mut is_done = vec![false; graph.operators().len()];
    let bytes = |is_done: &[bool]| crossing_bytes(graph, crossing.precision, |id: OperatorId| is_done[id.index()]);
    let mut after = vec![bytes(&is_done)];
    for block in chain.blocks() {
        block.operators.iter().for_each(|id| is_done[id.index()] = true);
        after.push(bytes(&is_done));
    }
    after
}
