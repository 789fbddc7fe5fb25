use millstream_board::Board;
use millstream_graph::Graph;

use crate::{CostEntry, CostTable, Nanoseconds};

impl CostTable {
    /// The same costs within what a board's memory moves; a copy if the board does not say what that is.
    #[must_use]
    pub fn within_memory_of(&self, board: &Board, graph: &Graph) -> Self {
        board.memory_bytes_per_second().map_or_else(|| self.clone(), |rate| self.within_memory(graph, rate))
    }

    /// The same costs where nobody moves more than so many bytes a second to and from memory: an operator that takes any time takes at
    /// least what moving its values and weights takes. Those without a time of their own run as a part of another.
    #[must_use]
    pub fn within_memory(&self, graph: &Graph, bytes_per_second: f64) -> Self {
        let mut slower = self.clone();
        for id in graph.operator_ids().filter(|id| id.index() < self.operators()) {
            let least = Nanoseconds::from_seconds(graph.operator(id).work.bytes() as f64 / bytes_per_second);
            for processor in self.processors() {
                let known = self.entry(processor, id.index());
                if let Some(CostEntry { time, low, high, origin }) = known.filter(|own| own.time > Nanoseconds::ZERO) {
                    let [time, low, high] = [time, low, high].map(|time| time.max(least));
                    slower.set_entry(processor, id.index(), CostEntry { time, low, high, origin });
                }
            }
        }
        slower
    }
}
