//! What operators take on the processors of a team.

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_mapping::ProcessorId;

use crate::teams::windows::WindowOperator;
use crate::times::operator_parts::least_per_share;

/// The costs of a network, as the processors of a team have them.
pub(super) struct TeamCosts<'a> {
    pub(super) table: &'a CostTable,
    /// The class of each processor of the team.
    pub(super) class_ids: &'a [ClassId],
}

impl TeamCosts<'_> {
    /// The team's processors.
    pub(super) fn processors(&self) -> impl DoubleEndedIterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.class_ids.len())
    }

    /// What a whole operator takes; `None` where it can't run.
    pub(super) fn time(&self, class: ClassId, operator: &WindowOperator) -> Option<Nanoseconds> {
        self.table.time(class, operator.id)
    }

    /// The least time of an operator's share on each processor, whole or divided; `None` where it can't run.
    pub(super) fn costs(&self, operator: &WindowOperator) -> Vec<Option<Nanoseconds>> {
        let cost = |&processor: &ClassId| {
            let time = self.table.time(processor, operator.id)?;
            let part = self.table.part(processor, operator.id);
            let least = least_per_share(&part, &operator.divisions);
            Some(if least < 1.0 { Nanoseconds((time.0 as f64 * least) as u64) } else { time })
        };
        self.class_ids.iter().map(cost).collect()
    }

    /// Whether several of the processors make tiles of rows.
    pub(super) fn have_tiles(&self) -> bool {
        let makes_tiles = |processor: &&ClassId| {
            self.table.operator_ids().any(|operator| self.table.rows(**processor, operator).is_some())
        };
        self.class_ids.iter().filter(makes_tiles).count() > 1
    }
}
