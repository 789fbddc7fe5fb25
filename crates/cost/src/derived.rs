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
        } = self;
        let mut derived = Self::new(*operators, classes.iter().map(|derived| derived.class.clone()));
        derived.crossings.clone_from(crossings);

        let slower = |time: Nanoseconds, factor: f64| Nanoseconds((time.0 as f64 * factor).round() as u64);
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
        // Every field by its name, so that the compiler asks what becomes of a new one. Classes, units and ways between
        // hosts are this table's own.
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
