//! Spreading the time of a block over its operators.

use millstream_cost::{ClassId, CostEntry, CostTable, Nanoseconds, Origin};
use millstream_graph::OperatorId;
use millstream_partition::Block;

use crate::operator_time::{OperatorTime, total_seconds};

/// What is known of a block's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockTime {
    pub(crate) seconds: f64,
    /// Nine in ten true times are within this, relative to the time.
    pub(crate) interval: f64,
    pub(crate) origin: Origin,
}

impl BlockTime {
    /// The sum of what the block's operators take; intervals add up as if errors were of one kind.
    pub(crate) fn sum_of(times: &[OperatorTime], origin: Origin) -> Self {
        let seconds = total_seconds(times).max(1e-9);
        let interval = times.iter().map(|time| time.seconds * time.interval).sum::<f64>() / seconds;
        Self { seconds, interval, origin }
    }
}

/// Spreads a block's time over its operators in the proportions of what they are expected to take, so that the sum is
/// exact in nanoseconds.
pub(crate) fn fill(table: &mut CostTable, class: ClassId, block: &Block, expected: &[OperatorTime], time: BlockTime) {
    let whole = total_seconds(expected).max(1e-12);
    let total = Nanoseconds::from_seconds(time.seconds).0.max(1);
    let mut given = 0;
    let mut set = |operator: OperatorId, nanoseconds: u64| {
        let bound = |factor: f64| Nanoseconds((nanoseconds as f64 * factor.max(0.0)).round() as u64);
        let entry = CostEntry {
            time: Nanoseconds(nanoseconds),
            low: bound(1.0 - time.interval),
            high: bound(1.0 + time.interval),
            origin: time.origin,
        };
        table.set_entry(class, operator, entry);
    };

    // What rounding leaves is the first operator's.
    for (operator, share) in block.operators.iter().zip(expected).skip(1) {
        let nanoseconds = Nanoseconds::from_seconds(time.seconds * share.seconds / whole).0.min(total - given);
        given += nanoseconds;
        set(*operator, nanoseconds);
    }
    if let Some(first) = block.operators.first() {
        set(*first, total - given);
    }
}
