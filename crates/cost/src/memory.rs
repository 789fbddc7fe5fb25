//! What moving values and weights to and from memory takes at least.

use millstream_board::Board;
use millstream_graph::{Graph, OperatorId};

use crate::cost_entry::CostEntry;
use crate::memory_limit::MemoryLimit;
use crate::nanoseconds::Nanoseconds;
use crate::table::{ClassId, CostTable};

impl CostTable {
    /// The same costs within what a board's memory moves; a copy if the board does not say what that is.
    #[must_use]
    pub fn within_memory_of(&self, board: &Board, graph: &Graph) -> Self {
        board.memory_bytes_per_second().map_or_else(|| self.clone(), |rate| self.within_memory(graph, rate))
    }

    /// The same costs where no processor moves more than so many bytes a second to and from memory: an operator that
    /// takes any time takes at least what moving its values and weights takes, and a part of it at least its share of
    /// that. Those without a time of their own run as a part of another. Accelerators with memory of their own are limited
    /// as well.
    #[must_use]
    pub fn within_memory(&self, graph: &Graph, bytes_per_second: f64) -> Self {
        let mut slower = self.clone();
        for id in graph.operator_ids().filter(|id| id.index() < self.operators()) {
            let bytes = graph.operator(id).work.bytes();
            for class in self.class_ids() {
                let known = self.unlimited_entry(class, id).filter(|entry| entry.time > Nanoseconds::ZERO);
                if let Some(unlimited) = known {
                    slower.set_memory_limit(class, id, MemoryLimit { unlimited, bytes, bytes_per_second });
                }
            }
        }
        slower
    }

    /// Time of an operator as if memory was no limit; `None` if the processor does not support it.
    pub fn unlimited_time(&self, class: ClassId, operator: OperatorId) -> Option<Nanoseconds> {
        self.unlimited_entry(class, operator).map(|entry| entry.time)
    }

    fn unlimited_entry(&self, class: ClassId, operator: OperatorId) -> Option<CostEntry> {
        let limited = self.memory_limit(class, operator).map(|limit| limit.unlimited);
        limited.or_else(|| self.entry(class, operator))
    }

    /// What moving an operator's values and weights takes at least; nothing where that is no limit.
    pub fn memory_time(&self, class: ClassId, operator: OperatorId) -> Nanoseconds {
        self.memory_limit(class, operator).map_or(Nanoseconds::ZERO, |limit| limit.of_whole())
    }

    pub(crate) fn memory_limit(&self, class: ClassId, operator: OperatorId) -> Option<MemoryLimit> {
        self.memory_limits.get(self.operator_cell(class, operator)).copied().flatten()
    }

    /// Sets an operator's time, with the limit.
    pub(crate) fn set_memory_limit(&mut self, class: ClassId, operator: OperatorId, limit: MemoryLimit) {
        self.set_entry(class, operator, limit.entry());
        let (cell, all) = (self.operator_cell(class, operator), self.operators() * self.classes().len());
        self.memory_limits.resize(all, None);
        self.memory_limits[cell] = Some(limit);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape, Work};

    use super::*;
    use crate::derived::DerivedClass;
    use crate::part_cost::PartCost;
    use crate::row_cost::{RowCost, TilePlace};

    /// The operator of [`graph`].
    const ONLY: OperatorId = OperatorId::new(0);

    /// One operator that moves 1000 bytes.
    fn graph() -> Graph {
        let mut builder = GraphBuilder::new("one");
        let [input, output] =
            ["input", "output"].map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1]))).unwrap());
        builder.input(input);
        let work = Work { input_bytes: 100, output_bytes: 900, ..Work::default() };
        let operator = NewOperator::new("o", "x", OperatorKind::Opaque).work(work);
        builder.operator(operator.reads([input]).makes([output])).unwrap();
        builder.output(output);
        builder.build().unwrap()
    }

    /// It takes 600 ns, of which a part always takes 300 and 50 more if it runs apart; a tile 60, and 40 to begin.
    fn table(classes: &[&str]) -> CostTable {
        let mut table = CostTable::new(1, classes.iter().map(|class| ProcessorClass::new(*class, 1)));
        for class in table.class_ids() {
            table.set_time(class, ONLY, Nanoseconds(600));
            table.set_part(class, ONLY, PartCost { fixed_fraction: 0.5, wave: 1, apart: Nanoseconds(50) });
            let [start, none] = [40, 0].map(Nanoseconds);
            table.set_rows(class, ONLY, RowCost { fixed_fraction: 0.1, start, read: none, write: none });
        }
        table
    }

    fn times(table: &CostTable, class: ClassId) -> [u64; 6] {
        let part = |channels, is_head| table.part_time(class, ONLY, channels, 10, is_head).unwrap().0;
        let tile = |rows| {
            table
                .tile_cost(class, ONLY)
                .unwrap()
                .time(rows, 10, TilePlace { is_head: true, is_last: false, reads_whole: false })
                .0
        };
        [table.time(class, ONLY).unwrap().0, part(2, false), part(2, true), part(9, true), tile(2), tile(9)]
    }

    /// At a byte a nanosecond, all of it takes 1000 ns, and a part its share of that: what a part takes in any case is
    /// in its own time.
    #[test]
    fn parts_take_at_least_their_share_of_what_is_moved() {
        let (graph, free) = (graph(), table(&["B"]));
        let class = free.class_ids().next().unwrap();
        assert_eq!(times(&free, class), [600, 360, 410, 620, 208, 586]);
        let limited = free.within_memory(&graph, 1e9);
        assert_eq!(times(&limited, class), [1000, 360, 410, 900, 208, 900]);
        assert_eq!(limited.unlimited_time(class, ONLY), Some(Nanoseconds(600)));
        assert_eq!([&free, &limited].map(|costs| costs.memory_time(class, ONLY).0), [0, 1000]);

        // Once more, with less or more to move: what counts is how long it takes without.
        assert_eq!(times(&limited.within_memory(&graph, 0.5e9), class)[0], 2000);
        assert_eq!(times(&limited.within_memory(&graph, 4e9), class), times(&free, class));
        // Half of three bytes are two.
        assert_eq!(
            free.within_memory(&graph, 1.0).part_time(class, ONLY, 1, 999, false),
            Some(Nanoseconds(2_000_000_000))
        );
        // A time that somebody sets counts.
        let mut set = limited;
        set.set_time(class, ONLY, Nanoseconds(700));
        assert_eq!(times(&set, class)[0], 700);
    }

    /// A slower processor moves as much as the other one; boards of a system keep their own limits.
    #[test]
    fn limits_stay_where_processors_change() {
        let (graph, free) = (graph(), table(&["B"]));
        let limited = free.within_memory(&graph, 1e9);
        let class = free.class_ids().next().unwrap();
        let twice = |table: &CostTable| {
            table.derived(&[DerivedClass { class: ProcessorClass::new("B", 1), like: class, slowdown: 2.0 }])
        };
        assert_eq!(times(&twice(&limited), class), [1200, 720, 820, 1240, 416, 1172]);
        assert_eq!(twice(&limited).memory_time(class, ONLY), Nanoseconds(1000));

        let mut both = table(&["B", "s"]);
        both.copy_from(
            &{
                let mut other = CostTable::new(1, [ProcessorClass::new("s", 1)]);
                other.copy_from(&limited, 0);
                other
            },
            1,
        );
        let found: Vec<[u64; 6]> = both.class_ids().map(|index| times(&both, index)).collect();
        assert_eq!(found, [times(&free, class), times(&limited, class)]);
    }
}
