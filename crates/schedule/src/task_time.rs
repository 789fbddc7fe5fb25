//! What a task takes.

use millstream_cost::{ClassId, CostTable, Nanoseconds, TilePlace};
use millstream_graph::Along;

use crate::tasks::{Share, Task};

/// The time of a task on a processor of this class; `None` if it is not supported there.
pub fn task_time(task: &Task, class: ClassId, table: &CostTable) -> Option<Nanoseconds> {
    let operator = task.operator;
    match task.share {
        None => table.time(class, operator),
        Some(Share { along: Along::Channels, part, of, is_head, .. }) => {
            table.part_time(class, operator, part, of, is_head)
        }
        Some(Share { along, part, of, is_head, is_last }) => {
            let place = TilePlace { is_head, is_last, reads_whole: along == Along::Heads };
            Some(table.tile_cost(class, operator)?.time(part, of, place))
        }
    }
}
