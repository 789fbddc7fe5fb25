//! Which operators of a schedule several processors share, and what that gains.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{OperatorSplit, Replica, Schedule, Task, task_time};

use crate::align::Align;
use crate::duration::milliseconds;
use crate::table::Table;

/// One row per operator that is divided; `None` if there is none.
pub fn split_table(schedule: &Schedule, graph: &Graph, costs: &CostTable) -> Option<Table> {
    let mut table = Table::new([
        ("stage", Align::Right),
        ("shared operator", Align::Left),
        ("with it", Align::Right),
        ("parts", Align::Left),
        ("undivided ms", Align::Right),
        ("parts ms", Align::Left),
    ]);
    let mut is_empty = true;
    for (index, stage) in schedule.stages.iter().enumerate() {
        for (replica, split) in
            stage.replicas.iter().flat_map(|replica| replica.splits.iter().map(move |split| (replica, split)))
        {
            is_empty = false;
            let tasks = replica.tasks(graph);
            let along = split.along.name();

            let positions = 0..replica.assignments.len();
            let named = positions.filter(|&position| split.shares[position] > 0).map(|position| {
                let processor = &replica.assignments[position].processor;
                let seconds = part_time(replica, split, position, &tasks, costs).seconds();
                (format!("{processor} {} {along}", split.shares[position]), milliseconds(seconds))
            });
            let (parts, times): (Vec<String>, Vec<String>) = named.unzip();

            let head = split.operators.first().map_or("", |&id| graph.operator(id).name.as_str());
            table.row([
                (index + 1).to_string(),
                head.to_owned(),
                (split.operators.len() - 1).to_string(),
                parts.join(", "),
                milliseconds(undivided(replica, split, costs).seconds()),
                times.join(", "),
            ]);
        }
    }
    (!is_empty).then_some(table)
}

/// What the part of one processor takes.
fn part_time(
    replica: &Replica,
    split: &OperatorSplit,
    position: usize,
    tasks: &[Task],
    costs: &CostTable,
) -> Nanoseconds {
    let Some(class) = costs.find(&replica.assignments[position].processor.class()) else { return Nanoseconds::ZERO };
    let is_own = |task: &&Task| task.processor.index() == position && split.operators.contains(&task.operator);
    tasks.iter().filter(is_own).filter_map(|task| task_time(task, class, costs)).sum()
}

/// What all of it takes on the fastest of the processors.
fn undivided(replica: &Replica, split: &OperatorSplit, costs: &CostTable) -> Nanoseconds {
    let classes = replica.assignments.iter().filter_map(|assignment| costs.find(&assignment.processor.class()));
    let whole = classes
        .filter_map(|class| split.operators.iter().map(|&id| costs.time(class, id)).sum::<Option<Nanoseconds>>());
    whole.min().unwrap_or_default()
}
