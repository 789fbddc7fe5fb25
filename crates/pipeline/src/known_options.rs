//! Options of stages that were found.

use std::sync::Arc;

use millstream_cost::Nanoseconds;

use crate::cores::Cores;
use crate::multisets::Multisets;
use crate::range_table::RangeTable;
use crate::senders::Senders;
use crate::stage_option::StageOption;
use crate::timed_way::TimedWay;

/// Options that were found, by senders and range, for searches that ask again and again.
#[derive(Debug)]
pub(crate) struct KnownOptions {
    pub(crate) of_stages: Vec<RangeTable<KnownStage>>,
    pub(crate) multisets: Arc<Multisets>,
}

#[derive(Debug)]
pub(crate) struct KnownStage {
    /// What they were found from, by rising times.
    pub(crate) ways: Vec<TimedWay>,
    /// Which shorter periods were left out.
    pub(crate) floor: Nanoseconds,
    pub(crate) options: Vec<(Cores, StageOption)>,
}

impl KnownOptions {
    pub(crate) fn new(senders: impl Iterator<Item = Senders>, blocks: usize) -> Self {
        let of_senders = |_| RangeTable::of(blocks, |_| KnownStage::new());
        Self { of_stages: senders.map(of_senders).collect(), multisets: Arc::default() }
    }
}

impl KnownStage {
    /// Of a stage that nobody has asked for.
    const fn new() -> Self {
        Self { ways: Vec::new(), floor: Nanoseconds(u64::MAX), options: Vec::new() }
    }
}
