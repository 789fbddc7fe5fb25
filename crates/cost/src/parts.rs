//! What parts of operators take: some of their output channels.

use millstream_graph::OperatorId;

use crate::nanoseconds::Nanoseconds;
use crate::part_cost::PartCost;
use crate::table::{ClassId, CostTable};

impl CostTable {
    /// Time of a part of an operator: of `channels` of its `of` output channels; of the head of what is divided
    /// together with what comes on top for running apart from its neighbours ([`PartCost::apart`]). `None` if the
    /// processor does not support it.
    pub fn part_time(
        &self,
        class: ClassId,
        operator: OperatorId,
        channels: usize,
        of: usize,
        is_head: bool,
    ) -> Option<Nanoseconds> {
        let whole = self.unlimited_time(class, operator)?;
        let part = self.part(class, operator);
        let fraction = match channels {
            0 => 0.0,
            all if all >= of => 1.0,
            _ => part.fraction(channels, of),
        };
        let apart = if is_head { part.apart } else { Nanoseconds::ZERO };
        let unlimited = Nanoseconds((whole.0 as f64 * fraction).round() as u64) + apart;
        Some(self.memory_limit(class, operator).map_or(unlimited, |limit| unlimited.max(limit.of_part(channels, of))))
    }

    /// How an operator's time depends on its channels.
    pub fn part(&self, class: ClassId, operator: OperatorId) -> PartCost {
        self.parts.get(self.operator_cell(class, operator)).copied().unwrap_or_default()
    }

    /// Sets how an operator's time depends on its channels.
    pub fn set_part(&mut self, class: ClassId, operator: OperatorId, part: PartCost) {
        let cell = self.operator_cell(class, operator);
        self.parts[cell] = part;
    }
}
