//! What parts of operators take: some of their output channels.

use millstream_graph::OperatorId;

use crate::memory_limit::MemoryLimit;
use crate::nanoseconds::Nanoseconds;
use crate::part_cost::PartCost;
use crate::table::{ClassId, CostTable};

/// What parts of one operator take on one processor, by their channels.
#[derive(Debug, Clone, Copy)]
pub struct PartTimes {
    /// Of all channels, where memory is no limit.
    whole: Nanoseconds,
    part: PartCost,
    /// What comes on top of it whatever the channels.
    on_top: Nanoseconds,
    limit: Option<MemoryLimit>,
    /// All channels.
    of: usize,
}

impl PartTimes {
    /// Whether it is certain that more channels never take less time: a part that does not depend on them takes no more
    /// than the whole.
    pub fn never_fall(&self) -> bool {
        self.part.fixed_fraction <= 1.0
    }

    /// Time of a part with so many channels.
    #[inline]
    pub fn time(&self, channels: usize) -> Nanoseconds {
        let fraction = match channels {
            0 => 0.0,
            all if all >= self.of => 1.0,
            _ => self.part.fraction(channels, self.of),
        };
        let unlimited = Nanoseconds::rounded(self.whole.0 as f64 * fraction) + self.on_top;
        self.limit.map_or(unlimited, |limit| unlimited.max(limit.of_part(channels, self.of)))
    }
}

impl CostTable {
    /// Times of parts of an operator: of some of its `of` output channels; of the head of what is divided together with
    /// what comes on top for running apart from its neighbours ([`PartCost::apart`]). `None` if the processor does not
    /// support it.
    pub fn part_times(&self, class: ClassId, operator: OperatorId, of: usize, is_head: bool) -> Option<PartTimes> {
        let whole = self.unlimited_time(class, operator)?;
        let part = self.part(class, operator);
        let on_top = if is_head { part.apart } else { Nanoseconds::ZERO };
        Some(PartTimes { whole, part, on_top, limit: self.memory_limit(class, operator), of })
    }

    /// One of its [`Self::part_times`]: that of `channels` of its `of` output channels.
    pub fn part_time(
        &self,
        class: ClassId,
        operator: OperatorId,
        channels: usize,
        of: usize,
        is_head: bool,
    ) -> Option<Nanoseconds> {
        self.part_times(class, operator, of, is_head).map(|times| times.time(channels))
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

#[cfg(test)]
mod tests {
    use millstream_board::ProcessorClass;

    use super::*;
    use crate::cost_entry::CostEntry;

    /// Of 1000 ns for 10 channels, a fifth is there whatever the channels. Waves of 4 are three, the last incomplete.
    #[test]
    fn parts_take_whole_waves_of_channels() {
        let only = OperatorId::new(0);
        let mut table = CostTable::new(1, [ProcessorClass::new("B", 1)]);
        let class = ClassId(0);
        let time = |table: &CostTable, channels, is_head| table.part_time(class, only, channels, 10, is_head);
        assert_eq!(time(&table, 5, true), None, "not supported");

        table.set_time(class, only, Nanoseconds(1000));
        assert_eq!(time(&table, 3, true), Some(Nanoseconds(300)), "in proportion where nothing is known");
        table.set_part(class, only, PartCost { fixed_fraction: 0.2, wave: 4, apart: Nanoseconds(50) });
        // 200, and 800 / 3 for each wave.
        let times = [0, 1, 4, 5, 8, 9, 10, 11].map(|channels| time(&table, channels, false).map(|time| time.0));
        assert_eq!(times, [0, 467, 467, 733, 733, 1000, 1000, 1000].map(Some));
        assert_eq!(
            [0, 4, 10].map(|channels| time(&table, channels, true).map(|time| time.0)),
            [50, 517, 1050].map(Some)
        );
        // A wave of none is one of one.
        let part = PartCost { wave: 0, ..PartCost::default() };
        assert_eq!([part.fraction(3, 10), part.fraction(3, 0)], [0.3, 3.0]);
    }

    #[test]
    fn more_channels_take_no_less_time_where_that_is_said() {
        let only = OperatorId::new(0);
        let times = |fixed_fraction: f64, wave: usize, limit: Option<MemoryLimit>| {
            let mut table = CostTable::new(1, [ProcessorClass::new("B", 1)]);
            table.set_time(ClassId(0), only, Nanoseconds(997));
            table.set_part(ClassId(0), only, PartCost { fixed_fraction, wave, apart: Nanoseconds(5) });
            if let Some(limit) = limit {
                table.set_memory_limit(ClassId(0), only, limit);
            }
            table.part_times(ClassId(0), only, 23, true)
        };
        let unlimited = CostEntry::given(Nanoseconds(997));
        let limits = [None, Some(MemoryLimit { unlimited, bytes: 10_001, bytes_per_second: 1e10 })];
        let falls = |times: &PartTimes| (1..23).any(|channels| times.time(channels) > times.time(channels + 1));
        for (fixed_fraction, wave) in [-0.5, 0.0, 0.3, 1.0].into_iter().flat_map(|fixed| [(fixed, 1), (fixed, 7)]) {
            for limit in limits {
                let times = times(fixed_fraction, wave, limit);
                assert!(times.is_some_and(|times| times.never_fall() && !falls(&times)), "{fixed_fraction} {wave}");
            }
        }
        for fixed_fraction in [1.5, f64::NAN] {
            assert!(times(fixed_fraction, 1, None).is_some_and(|times| !times.never_fall()), "{fixed_fraction}");
        }
        assert!(times(1.5, 1, None).is_some_and(|times| falls(&times)));
    }
}
