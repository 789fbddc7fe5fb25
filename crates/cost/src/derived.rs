//! Tables made from other tables.

use millstream_board::ProcessorClass;

use crate::cost_entry::CostEntry;
use crate::hand_over::HandOver;
use crate::nanoseconds::Nanoseconds;
use crate::part_cost::PartCost;
use crate::row_cost::RowCost;
use crate::table::{ClassId, CostTable};

/// A class of a table that is made from another one: like one of that table's, but slower.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedClass {
    /// The class.
    pub class: ProcessorClass,
    /// What it is like in the other table.
    pub like: ClassId,
    /// How many times longer it takes.
    pub slowdown: f64,
}

impl CostTable {
    /// A table for other classes, each of which is like one of this table's but so many times slower: a core that
    /// something else uses too, or a cluster at a lower frequency. Transfers and memory access stay as they are.
    #[must_use]
    pub fn derived(&self, classes: &[DerivedClass]) -> Self {
        // Every field by its name, so that the compiler asks what becomes of a new one. Classes and units are others.
        let Self {
            operators,
            classes: _,
            units: _,
            unit_of: _,
            entries,
            memory_limits,
            parts,
            row_costs,
            hand_overs,
            links,
            transfers,
            power,
            access,
            crossings,
            frame_costs,
        } = self;
        let mut derived = Self::new(*operators, classes.iter().map(|derived| derived.class.clone()));
        derived.crossings.clone_from(crossings);
        derived.frame_costs.clone_from(frame_costs);

        let slower = |time: Nanoseconds, factor: f64| Nanoseconds::rounded(time.0 as f64 * factor);
        for (to, &DerivedClass { like: from, slowdown: factor, .. }) in derived.class_ids().zip(classes) {
            for operator in self.operator_ids() {
                let source = self.operator_cell(from, operator);
                let slower_entry = |CostEntry { time, low, high, origin }: CostEntry| {
                    let [time, low, high] = [time, low, high].map(|time| slower(time, factor));
                    CostEntry { time, low, high, origin }
                };
                // Without a cell of its own, as in an empty list: memory is not counted.
                match (memory_limits.get(source).copied().flatten(), entries[source]) {
                    (Some(limit), _) => derived.set_memory_limit(to, operator, limit.with_times(slower_entry)),
                    (None, Some(entry)) => derived.set_entry(to, operator, slower_entry(entry)),
                    (None, None) => {}
                }
                let part = parts[source];
                derived.set_part(to, operator, PartCost { apart: slower(part.apart, factor), ..part });
                if let Some(rows) = row_costs[source] {
                    let [start, read, write] = [rows.start, rows.read, rows.write].map(|time| slower(time, factor));
                    derived.set_rows(to, operator, RowCost { start, read, write, ..rows });
                }
            }

            let HandOver { seconds, seconds_per_byte } = hand_overs[from.0];
            let hand_over = HandOver { seconds: seconds * factor, seconds_per_byte: seconds_per_byte * factor };
            derived.set_hand_over(to, hand_over);
            derived.power[to.0] = power[from.0];
            derived.access[to.0] = access[from.0];
            for (other, &DerivedClass { like: source, .. }) in derived.class_ids().zip(classes) {
                let link = derived.link_cell(to, other);
                derived.links[link] = links[self.link_cell(from, source)];
                derived.set_transfer(to, other, transfers[self.transfer_cell(from, source)]);
            }
        }
        derived
    }

    /// Fills the classes from the `first` on with what another table, of which they are the classes, says.
    pub(crate) fn copy_from(&mut self, table: &Self, first: usize) {
        // Every field by its name, so that the compiler asks what becomes of a new one. Classes, units, ways between
        // hosts and what these pay for frames are this table's own.
        let Self {
            operators: _,
            classes: _,
            units: _,
            unit_of: _,
            entries,
            memory_limits,
            parts,
            row_costs,
            hand_overs,
            links,
            transfers,
            power,
            access,
            crossings: _,
            frame_costs: _,
        } = table;

        for (to, from) in (first..).map(ClassId).zip(table.class_ids()) {
            for operator in table.operator_ids() {
                let (cell, source) = (self.operator_cell(to, operator), table.operator_cell(from, operator));
                self.entries[cell] = entries[source];
                self.parts[cell] = parts[source];
                self.row_costs[cell] = row_costs[source];
                // Unlike the others, limits are an empty list where memory is not counted: in either table, both or
                // none. One that was here goes; one that is there makes the list if need be.
                self.memory_limits.get_mut(cell).into_iter().for_each(|limit| *limit = None);
                if let Some(limit) = memory_limits.get(source).copied().flatten() {
                    self.set_memory_limit(to, operator, limit);
                }
            }

            self.hand_overs[to.0] = hand_overs[from.0];
            self.power[to.0] = power[from.0];
            self.access[to.0] = access[from.0];
            for source in table.class_ids() {
                let other = ClassId(first + source.0);
                let (link, transfer) = (self.link_cell(to, other), self.transfer_cell(to, other));
                self.links[link] = links[table.link_cell(from, source)];
                self.transfers[transfer] = transfers[table.transfer_cell(from, source)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{BlockedEnd, TransferPrecision};
    use millstream_graph::OperatorId;

    use super::*;
    use crate::cost_entry::Origin;
    use crate::crossing::{HostCrossing, LaneId};
    use crate::frame_cost::FrameCost;
    use crate::hand_over::{LinkCost, MemoryAccess};
    use crate::memory_limit::MemoryLimit;
    use crate::power::{PowerOrigin, ProcessorPower};
    use crate::transfer::TransferModel;

    /// All that a table says of an operator on a class.
    #[derive(Debug, Clone, PartialEq)]
    struct OperatorTold {
        entry: Option<CostEntry>,
        limit: Option<MemoryLimit>,
        part: PartCost,
        rows: Option<RowCost>,
    }

    /// All that it says of a class, and of the ways from there to some classes.
    #[derive(Debug, Clone, PartialEq)]
    struct Told {
        operators: Vec<OperatorTold>,
        hand_over: HandOver,
        power: Option<ProcessorPower>,
        access: Option<MemoryAccess>,
        ways: Vec<(Option<LinkCost>, TransferModel)>,
    }

    impl Told {
        fn of(table: &CostTable, class: ClassId, others: &[ClassId]) -> Self {
            let operator = |id: OperatorId| OperatorTold {
                entry: table.entry(class, id),
                limit: table.memory_limit(class, id),
                part: table.part(class, id),
                rows: table.rows(class, id),
            };
            let way = |&other: &ClassId| (table.link(class, other), table.transfers[table.transfer_cell(class, other)]);
            Self {
                operators: table.operator_ids().map(operator).collect(),
                hand_over: table.hand_over_model(class),
                power: table.power(class),
                access: table.access(class),
                ways: others.iter().map(way).collect(),
            }
        }

        /// What all the classes of a table tell, of ways to each other.
        fn all(table: &CostTable) -> Vec<Self> {
            let classes: Vec<ClassId> = table.class_ids().collect();
            classes.iter().map(|&class| Self::of(table, class, &classes)).collect()
        }
    }

    fn classes(labels: &[&str]) -> impl Iterator<Item = ProcessorClass> {
        labels.iter().map(|label| ProcessorClass::new(*label, 1))
    }

    fn hand_over(number: usize) -> HandOver {
        HandOver { seconds: number as f64, seconds_per_byte: number as f64 + 0.5 }
    }

    fn entry(number: usize) -> CostEntry {
        let [low, time, high] = [10, 11, 12].map(|part| Nanoseconds(part * (number as u64 + 1)));
        CostEntry { time, low, high, origin: Origin::Model }
    }

    /// A table of three operators that has something else everywhere, except that the first operator has no limit of
    /// memory, and the last one has nothing.
    fn full(labels: &[&str]) -> CostTable {
        let mut table = CostTable::new(3, classes(labels));
        for class in table.class_ids() {
            for operator in table.operator_ids().take(2) {
                let number = table.operator_cell(class, operator);
                let fixed_fraction = number as f64 / 100.0;
                let [first, second, third] = [1, 2, 3].map(|part| Nanoseconds(10 * number as u64 + part));
                table.set_entry(class, operator, entry(number));
                table.set_part(class, operator, PartCost { fixed_fraction, wave: number + 2, apart: first });
                table.set_rows(class, operator, RowCost { fixed_fraction, start: first, read: second, write: third });
                if operator.index() == 1 {
                    let bytes = 1_000 + number as u64;
                    let limit = MemoryLimit { unlimited: entry(number), bytes, bytes_per_second: 1e9 };
                    table.set_memory_limit(class, operator, limit);
                }
            }

            let number = class.index() + 20;
            let [active_watts, idle_watts] = [3.0, 1.0].map(|watts| watts * number as f64);
            table.set_hand_over(class, hand_over(number));
            table.set_power(class, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
            table.set_access(class, MemoryAccess { upload: hand_over(number + 20), download: hand_over(number + 40) });
            for other in table.class_ids() {
                let number = 100 + table.transfer_cell(class, other);
                let HandOver { seconds, seconds_per_byte } = hand_over(number);
                let [occupied, conversion] = [2.0, 3.0].map(|factor| factor * seconds);
                let link = LinkCost { hand_over: hand_over(number), occupied_seconds_per_byte: occupied };
                table.set_link(class, other, link);
                let transfer = TransferModel {
                    latency_seconds: seconds,
                    seconds_per_byte,
                    conversion_seconds_per_byte: conversion,
                    blocks: Some(BlockedEnd::Receiver),
                };
                table.set_transfer(class, other, transfer);
            }
        }
        table
    }

    /// The classes in another order, and one of them for two.
    #[test]
    fn a_derived_class_keeps_all_that_is_known_of_the_one_that_it_is_like() {
        let mut table = full(&["B", "m", "s"]);
        let crossing = HostCrossing {
            from: "a".to_owned(),
            to: "b".to_owned(),
            link: "a-b".to_owned(),
            lane: LaneId::new(1),
            latency_seconds: 1.0,
            seconds_per_byte: 2.0,
            sending: HandOver { seconds: 3.0, seconds_per_byte: 4.0 },
            receiving: HandOver { seconds: 5.0, seconds_per_byte: 6.0 },
            precision: TransferPrecision::F32,
        };
        table.crossings = vec![crossing];
        table.frame_costs =
            vec![FrameCost { host: "b".to_owned(), cost: HandOver { seconds: 7.0, seconds_per_byte: 8.0 } }];
        let like = [2, 0, 1, 0].map(ClassId);
        let derived_classes: Vec<DerivedClass> = classes(&["w", "x", "y", "z"])
            .zip(like)
            .map(|(class, like)| DerivedClass { class, like, slowdown: 1.0 })
            .collect();

        let derived = table.derived(&derived_classes);
        assert_eq!(derived.classes(), classes(&["w", "x", "y", "z"]).collect::<Vec<_>>());
        assert_eq!(Told::all(&derived), like.map(|class| Told::of(&table, class, &like)));
        assert_eq!(derived.crossings(), table.crossings());
        assert_eq!(derived.frame_costs, table.frame_costs);
    }

    /// Three times slower: what operators and hand-overs take. Bytes, shares, power and ways are the same. The limited
    /// operator takes 165 ns where memory is no limit, and moves 1004 bytes at one a nanosecond.
    #[test]
    fn a_slower_class_takes_longer_to_compute_and_to_take_over() {
        let table = full(&["B", "s"]);
        let class = ClassId(1);
        let slower = [DerivedClass { class: ProcessorClass::new("s", 1), like: class, slowdown: 3.0 }];
        let [found] = Told::all(&table.derived(&slower)).try_into().unwrap();

        let before = Told::of(&table, class, &[class]);
        let mut expected = before.clone();
        let thrice = |time: Nanoseconds| Nanoseconds(3 * time.0);
        let thrice_entry = |CostEntry { time, low, high, origin }: CostEntry| {
            let [time, low, high] = [time, low, high].map(thrice);
            CostEntry { time, low, high, origin }
        };
        for OperatorTold { entry, limit, part, rows } in &mut expected.operators {
            *limit = limit.map(|limit| MemoryLimit { unlimited: thrice_entry(limit.unlimited), ..limit });
            *entry = entry.map(|entry| limit.map_or_else(|| thrice_entry(entry), |limit| limit.entry()));
            part.apart = thrice(part.apart);
            if let Some(rows) = rows {
                [rows.start, rows.read, rows.write] = [rows.start, rows.read, rows.write].map(thrice);
            }
        }
        expected.hand_over = HandOver { seconds: 63.0, seconds_per_byte: 64.5 };
        assert_eq!(found, expected);
        assert_eq!(found.operators[0].entry, Some(thrice_entry(entry(3))));
        assert_eq!(found.operators[1].entry.map(|entry| entry.time), Some(Nanoseconds(1_004)));
        assert_eq!((found.power, found.access, &found.ways), (before.power, before.access, &before.ways));
    }

    /// Into a table that knows nothing, and from such a one into one that knows all: nothing of what was there stays.
    /// Classes before the first one that is filled stay as they are.
    #[test]
    fn a_table_is_copied_with_all_that_it_knows_and_does_not_know() {
        let (full, empty) = (full(&["B", "m", "s"]), CostTable::new(3, classes(&["B", "m", "s"])));
        let two = |table: &CostTable| {
            let like = [0, 1].map(ClassId);
            let classes = classes(&["p", "q"]).zip(like);
            table.derived(&classes.map(|(class, like)| DerivedClass { class, like, slowdown: 1.0 }).collect::<Vec<_>>())
        };
        for (mut to, from) in [(full.clone(), two(&empty)), (empty.clone(), two(&full)), (full.clone(), two(&full))] {
            let kept = Told::of(&to, ClassId(0), &[ClassId(0)]);
            to.copy_from(&from, 1);
            let copied = [1, 2].map(ClassId);
            assert_eq!(copied.map(|class| Told::of(&to, class, &copied)).to_vec(), Told::all(&from));
            assert_eq!(Told::of(&to, ClassId(0), &[ClassId(0)]), kept);
        }
    }

    /// Memory that nobody counts has no list of limits, in none of the tables that are made from others.
    #[test]
    fn limits_are_listed_only_where_memory_is_counted() {
        let mut free = CostTable::new(2, classes(&["B"]));
        free.set_time(ClassId(0), OperatorId::new(0), Nanoseconds(5));
        let same = [DerivedClass { class: ProcessorClass::new("B", 1), like: ClassId(0), slowdown: 1.0 }];
        let mut copy = CostTable::new(2, classes(&["B"]));
        copy.copy_from(&free, 0);
        for table in [&copy, &free.derived(&same)] {
            assert!(table.memory_limits.is_empty());
            assert_eq!(table.time(ClassId(0), OperatorId::new(0)), Some(Nanoseconds(5)));
        }
    }
}
