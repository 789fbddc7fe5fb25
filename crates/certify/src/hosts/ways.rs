//! Stages of a host by where their frames come from and go to.

use millstream_board::host_of;
use millstream_cost::{ClassId, CostTable, HostCrossing};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;
use millstream_schedule::crossing_bytes;

use crate::network::NetworkBlocks;
use crate::reached::{Beginning, Ways};
use crate::single::SingleWays;
use crate::stage_rates::{Senders, StageSpan};

/// No stage takes so long.
const NEVER: u64 = u64::MAX;

/// What frames take from one host to another, by the blocks that are done, in nanoseconds.
pub(super) struct CrossingTimes {
    sending: Vec<u64>,
    pub(super) receiving: Vec<u64>,
    /// For how long the link carries nothing else.
    occupied: Vec<u64>,
    /// A class of the host that sends.
    pub(super) sender: ClassId,
}

impl CrossingTimes {
    /// `None` if the table has no processor of the host that sends.
    pub(super) fn of(
        crossing: &HostCrossing,
        NetworkBlocks { graph, chain }: NetworkBlocks<'_>,
        table: &CostTable,
    ) -> Option<Self> {
        let is_sender = |id: &ClassId| host_of(&table.classes()[id.index()].cluster) == Some(&crossing.from);
        let bytes = bytes_after(graph, chain, crossing);
        let times = |time: &dyn Fn(u64) -> u64| bytes.iter().map(|&bytes| time(bytes)).collect();
        Some(Self {
            sending: times(&|bytes| crossing.sending(bytes).0),
            receiving: times(&|bytes| crossing.receiving(bytes).0),
            occupied: times(&|bytes| crossing.occupied(bytes).0),
            sender: table.class_ids().find(is_sender)?,
        })
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

/// Ways to run stages that are all entered and left alike.
pub(super) struct HostWays<'a> {
    pub(super) within: SingleWays<'a>,
    /// A class of the host that sends, where that is another one.
    pub(super) sender: Option<ClassId>,
    /// What receiving costs, by the blocks that are done before the stage.
    pub(super) receiving: Vec<u64>,
    /// What sending costs, by the blocks that are done after it.
    pub(super) sending: Vec<u64>,
}

impl Ways for HostWays<'_> {
    fn periods(&mut self, beginning: Beginning<'_>, end: usize, periods: &mut [f64]) {
        let stage = beginning.until(end);
        let stage = StageSpan {
            senders: self.sender.map_or(stage.senders, Senders::OtherHost),
            crossing_nanoseconds: self.receiving[stage.start].saturating_add(self.sending[end]),
            ..stage
        };
        self.within.periods_of(stage, beginning.sizes, periods);
    }
}
