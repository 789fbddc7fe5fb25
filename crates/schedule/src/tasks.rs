//! A replica as the pieces of work that its processors do for a frame.

use std::ops::Range;

use millstream_graph::{Along, Graph, OperatorId, RowRegion, Tile, ValueId};

use crate::execution::{ProcessorId, TaskId};
use crate::{OperatorSplit, Replica};

/// An operator on one processor, or the part of an operator that the processor makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The operator.
    pub operator: OperatorId,
    /// Its processor; they are numbered as the replica's assignments are.
    pub processor: ProcessorId,
    /// The share of the output channels or rows, if several processors make them.
    pub share: Option<Share>,
    /// What it waits for.
    pub inputs: Vec<TaskInput>,
}

/// A part of an operator's output channels or rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// What the operator is divided along.
    pub along: Along,
    /// Channels or rows of the part; those rows among them that other parts make as well.
    pub part: usize,
    /// Channels or rows of the whole.
    pub of: usize,
    /// Whether it is the first of those that are divided together.
    pub is_head: bool,
    /// Whether it is the last of them.
    pub is_last: bool,
}

impl Share {
    /// The part's share of a size.
    pub fn of_bytes(self, bytes: u64) -> u64 {
        part_of(bytes, self.part, self.of)
    }
}

/// The bytes of so many places of a value of `of` places.
fn part_of(bytes: u64, part: usize, of: usize) -> u64 {
    (u128::from(bytes) * part as u128 / (of as u128).max(1)) as u64
}

/// A value, or a part of one, that a task of the same replica makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskInput {
    /// The value.
    pub value: ValueId,
    /// The task that makes it.
    pub maker: TaskId,
    /// Its size, or that of the part.
    pub bytes: u64,
}

impl Replica {
    /// The tasks in the order of their [`TaskId`]s: processor by processor, in the order in which each runs them. An operator that reads what several processors
    /// made waits for every part, but one that is divided in the same way only for its own.
    pub fn tasks(&self, graph: &Graph) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        // By operator: the split that it is part of, and the place of its tasks in `parts`. Searches ask for this very often.
        let mut splits: Vec<Option<usize>> = vec![None; graph.operators().len()];
        for (index, split) in self.splits.iter().enumerate() {
            split.operators.iter().for_each(|operator| splits[operator.index()] = Some(index));
        }
        let parts_of_splits: Vec<Parts> = self.splits.iter().map(|split| Parts::of(split, graph)).collect();
        let mut parts: Vec<Vec<TaskId>> = Vec::new();
        let mut parts_of: Vec<Option<usize>> = vec![None; graph.operators().len()];

        for (processor, assignment) in ProcessorId::all(self.assignments.len()).zip(&self.assignments) {
            for &operator in &assignment.operators {
                let share = splits[operator.index()]
                    .and_then(|index| parts_of_splits[index].share(&self.splits[index], operator, processor));
                let own = *parts_of[operator.index()].get_or_insert_with(|| {
                    parts.push(Vec::new());
                    parts.len() - 1
                });
                parts[own].push(TaskId::new(tasks.len()));
                tasks.push(Task { operator, processor, share, inputs: Vec::new() });
            }
        }

        for index in 0..tasks.len() {
            let Task { operator, processor, .. } = tasks[index];
            let own_split = splits[operator.index()];
            let mut inputs = Vec::new();
            for &value in &graph.operator(operator).inputs {
                let Some(producer) = graph.producer(value) else { continue };
                let Some(makers) = parts_of[producer.index()] else { continue };
                let bytes = graph.value(value).bytes().unwrap_or(0);
                let split = splits[producer.index()];
                let is_aligned = split.is_some() && split == own_split;
                let is_own = |maker: &&TaskId| tasks[maker.index()].processor == processor;
                for &maker in parts[makers].iter().filter(|maker| !is_aligned || is_own(maker)) {
                    let Task { processor: from, share, .. } = tasks[maker.index()];
                    let read = own_split.and_then(|own| parts_of_splits[own].read_rows(graph, processor, value));
                    let made = split.and_then(|own| parts_of_splits[own].made_rows(&self.splits[own], producer, from));
                    let bytes = match (read, made, share) {
                        (Some(read), Some(made), _) if read.axis == made.axis => read.overlap(&made).of_bytes(bytes),
                        (Some(read), _, Some(share)) => read.of_bytes(share.of_bytes(bytes)),
                        (Some(read), _, None) => read.of_bytes(bytes),
                        (None, _, Some(share)) => share.of_bytes(bytes),
                        (None, _, None) => bytes,
                    };
                    inputs.push(TaskInput { value, maker, bytes });
                }
            }
            tasks[index].inputs = inputs;
        }
        tasks
    }
}

/// What each processor does of operators that are divided together.
enum Parts {
    Channels,
    /// Per processor that takes part, and the rows of each operator.
    Rows {
        tiles: Vec<Option<Tile>>,
        rows: Vec<usize>,
        axis: usize,
    },
}

impl Parts {
    fn of(split: &OperatorSplit, graph: &Graph) -> Self {
        let region = match split.along {
            Along::Channels => None,
            Along::Rows => RowRegion::new(graph, &split.operators).filter(|region| region.rows() == split.total()),
        };
        // What can't be divided like that is found when the schedule is checked.
        region.map_or(Self::Channels, |region| Self::Rows {
            tiles: (0..split.shares.len())
                .map(|position| split.range(position).map(|rows| region.tile(rows)))
                .collect(),
            rows: region.rows_of_operators().collect(),
            axis: region.axis(),
        })
    }

    fn share(&self, split: &OperatorSplit, operator: OperatorId, processor: ProcessorId) -> Option<Share> {
        let place = split.operators.iter().position(|&own| own == operator)?;
        let (part, of) = match self {
            Self::Channels => (*split.shares.get(processor.index())?, split.total()),
            Self::Rows { tiles, rows, .. } => {
                let tile = tiles.get(processor.index())?.as_ref();
                (tile.map_or(0, |tile| tile.made[place].len()), rows[place])
            }
        };
        Some(Share { along: split.along, part, of, is_head: place == 0, is_last: place + 1 == split.operators.len() })
    }

    /// The rows of a value that a processor reads, where it does not need all.
    fn read_rows(&self, graph: &Graph, processor: ProcessorId, value: ValueId) -> Option<ValueRows> {
        let &Self::Rows { ref tiles, axis, .. } = self else { return None };
        let tile = tiles.get(processor.index())?.as_ref()?;
        let rows = tile.read.iter().find(|(read, _)| *read == value)?.1.clone()?;
        let of = graph.value(value).shape.as_ref()?.dimensions().get(axis).copied()?;
        Some(ValueRows { rows, of, axis })
    }

    /// The rows of what an operator makes that a processor makes.
    fn made_rows(&self, split: &OperatorSplit, operator: OperatorId, processor: ProcessorId) -> Option<ValueRows> {
        let &Self::Rows { ref tiles, ref rows, axis } = self else { return None };
        let place = split.operators.iter().position(|&own| own == operator)?;
        let made = tiles.get(processor.index())?.as_ref()?.made.get(place)?.clone();
        Some(ValueRows { rows: made, of: rows[place], axis })
    }
}

/// Some rows of a value of `of` rows.
struct ValueRows {
    rows: Range<usize>,
    of: usize,
    axis: usize,
}

impl ValueRows {
    fn overlap(self, other: &Self) -> Self {
        let start = self.rows.start.max(other.rows.start);
        let end = self.rows.end.min(other.rows.end).max(start);
        Self { rows: start..end, ..self }
    }

    /// The rows' part of a size.
    fn of_bytes(&self, bytes: u64) -> u64 {
        part_of(bytes, self.rows.len(), self.of)
    }
}
