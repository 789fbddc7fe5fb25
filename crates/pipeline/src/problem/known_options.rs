//! Options of stages that searches have found, kept for those that ask again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_cost::Nanoseconds;

use crate::board::senders::Senders;
use crate::teams::team_way::TeamTimeKind;
use crate::times::range_table::RangeTable;
use crate::ways::multisets::Multisets;
use crate::ways::stage_option::SizedOption;
use crate::ways::timed_way::TimedWay;

/// Options that were found, by senders and range, for searches that ask again and again.
#[derive(Debug)]
pub(crate) struct KnownOptions {
    pub(crate) of_stages: Vec<RangeTable<KnownStage>>,
    pub(crate) multisets: Arc<Multisets>,
}

/// The options of one stage.
#[derive(Debug)]
pub(crate) struct KnownStage {
    /// The ways that the options were put together from, by rising times.
    pub(crate) ways: Vec<TimedWay>,
    /// No options were sought below this period.
    pub(crate) floor: Nanoseconds,
    pub(crate) options: Vec<SizedOption>,
}

/// Options that were found, by which times of teams counted. Searches that count others need not wait for each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct OptionCache(Arc<Mutex<HashMap<TeamTimeKind, OptionsOfKind>>>);

/// Options that were found by times of one kind.
type OptionsOfKind = Arc<Mutex<KnownOptions>>;

impl OptionCache {
    /// Hands the options that were found by these times to a function that may add to them; `new` is what is known at
    /// first.
    pub(crate) fn with<T>(
        &self,
        kind: TeamTimeKind,
        new: impl FnOnce() -> KnownOptions,
        with: impl FnOnce(&mut KnownOptions) -> T,
    ) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = Arc::clone(all.entry(kind).or_insert_with(|| Arc::new(Mutex::new(new()))));
        drop(all);
        with(&mut of_kind.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownOptions {
    pub(crate) fn new(senders: impl Iterator<Item = Senders>, blocks: usize) -> Self {
        let of_senders = |_| RangeTable::of(blocks, |_| KnownStage::new());
        Self { of_stages: senders.map(of_senders).collect(), multisets: Arc::default() }
    }
}

impl KnownStage {
    /// Of a stage that was not asked for yet.
    const fn new() -> Self {
        Self { ways: Vec::new(), floor: Nanoseconds(u64::MAX), options: Vec::new() }
    }
}
