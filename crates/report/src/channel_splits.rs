//! Which operators of a schedule several processors share, and what that gains.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::execution::ProcessorId;
use millstream_schedule::{ChannelSplit, Replica, Schedule, Share, Task, task_time};

use crate::{Align, Table, milliseconds};

/// One row per operator that is divided; `None` if there is none.
pub fn channel_split_table(schedule: &Schedule, graph: &Graph, costs: &CostTable) -> Option<Table> {
    let mut table = Table::new([
        ("stage", Align::Right),
        ("shared operator", Align::Left),
        ("with it", Align::Right),
        ("channels", Align::Left),
        ("undivided ms", Align::Right),
        ("parts ms", Align::Left),
    ]);
    let mut is_empty = true;
    for (index, stage) in schedule.stages.iter().enumerate() {
        for (replica, split) in
            stage.replicas.iter().flat_map(|replica| replica.splits.iter().map(move |split| (replica, split)))
        {
            is_empty = false;
            let parts = 0..replica.assignments.len();
            let named = parts.filter(|&position| split.channels[position] > 0).map(|position| {
                let processor = &replica.assignments[position].processor;
                let seconds = part_time(replica, split, position, costs).seconds();
                (format!("{processor} {}", split.channels[position]), milliseconds(seconds))
            });
            let (channels, times): (Vec<String>, Vec<String>) = named.unzip();
            let head = split.operators.first().map_or("", |&id| graph.operator(id).name.as_str());
            table.row([
                (index + 1).to_string(),
                head.to_owned(),
                (split.operators.len() - 1).to_string(),
                channels.join(", "),
                milliseconds(undivided(replica, split, costs).seconds()),
                times.join(", "),
            ]);
        }
    }
    (!is_empty).then_some(table)
}

/// What the part of one processor takes.
fn part_time(replica: &Replica, split: &ChannelSplit, position: usize, costs: &CostTable) -> Nanoseconds {
    let Some(class) = costs.find(&replica.assignments[position].processor.class()) else { return Nanoseconds::ZERO };
    let times = split.operators.iter().enumerate().filter_map(|(place, &operator)| {
        let share = Share { channels: split.channels[position], of: split.total(), is_head: place == 0 };
        let processor = ProcessorId::new(position);
        task_time(&Task { operator, processor, share: Some(share), inputs: Vec::new() }, class, costs)
    });
    times.sum()
}

/// What all of it takes on the fastest of the processors.
fn undivided(replica: &Replica, split: &ChannelSplit, costs: &CostTable) -> Nanoseconds {
    let classes = replica.assignments.iter().filter_map(|assignment| costs.find(&assignment.processor.class()));
    let whole = classes.filter_map(|class| {
        split.operators.iter().map(|id| costs.time(class, id.index())).sum::<Option<Nanoseconds>>()
    });
    whole.min().unwrap_or_default()
}
