//! What a task takes.

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex, TilePlace};
use millstream_graph::Along;

use crate::{Share, Task};

/// What a task takes on a processor of this class; `None` if it is not supported there.
pub fn task_time(task: &Task, processor: ProcessorIndex, table: &CostTable) -> Option<Nanoseconds> {
    let operator = task.operator.index();
    match task.share {
        None => table.time(processor, operator),
        Some(Share { along: Along::Channels, part, of, is_head, .. }) => {
            table.part_time(processor, operator, part, of, is_head)
        }
        Some(Share { along: Along::Rows, part, of, is_head, is_last }) => {
            Some(table.tile_cost(processor, operator)?.time(part, of, TilePlace { is_head, is_last }))
        }
    }
}
