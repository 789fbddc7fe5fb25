//! A replica as the pieces of work that its processors do for a frame.

use std::ops::Range;

use millstream_graph::{Along, Graph, OperatorId, Slab, Tile, TileRegion, ValueId};

use crate::execution::{ProcessorId, TaskId};
use crate::schedule::{OperatorSplit, Replica};

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
    /// Number of channels or rows of the part, with the rows that other parts make as well.
    pub part: usize,
    /// Number of channels or rows of the whole.
    pub of: usize,
    /// Whether the operator is the first of those that are divided together.
    pub is_head: bool,
    /// Whether it is the last of them.
    pub is_last: bool,
}

impl Share {
    /// The part's share of a size in bytes.
    pub fn of_bytes(self, bytes: u64) -> u64 {
        bytes_shared(bytes, self.part, self.of)
    }
}

/// The bytes that `part` channels or rows of a value have, which has `of` of them. Parts of bytes are left out, so that
/// the shares of a value have no more bytes together than it has itself. What moves through memory is rounded up instead
/// ([`millstream_cost::bytes_of_part`]).
pub fn bytes_shared(bytes: u64, part: usize, of: usize) -> u64 {
    (u128::from(bytes) * part as u128 / (of as u128).max(1)) as u64
}

/// A value, or a part of one, that a task of the same replica makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskInput {
    /// The value.
    pub value: ValueId,
    /// The task that makes it.
    pub maker: TaskId,
    /// Size in bytes of what the reader needs of it.
    pub bytes: u64,
}

impl Replica {
    /// The tasks in the order of their [`TaskId`]s: processor by processor, in the order in which each runs them. An
    /// operator that reads what several processors made waits for every part, but one that is divided in the same way
    /// only for its own.
    pub fn tasks(&self, graph: &Graph) -> Vec<Task> {
        let mut tasks = ReplicaTaskList::new(self, graph);
        for (processor, assignment) in ProcessorId::all(self.assignments.len()).zip(&self.assignments) {
            assignment.operators.iter().for_each(|&operator| tasks.add(operator, processor));
        }
        tasks.with_inputs()
    }
}

/// A split of a replica, with what each processor does of it.
struct DividedOperators<'a> {
    split: &'a OperatorSplit,
    parts: Parts,
}

/// The tasks of a replica, found by their operators. Searches ask for them very often, so nothing is searched for.
struct ReplicaTaskList<'a> {
    graph: &'a Graph,
    splits: Vec<DividedOperators<'a>>,
    /// By operator: the index of the split that it is part of.
    split_of: Vec<Option<usize>>,
    /// By operator: its tasks, one for each processor that has a part.
    tasks_of: Vec<Vec<TaskId>>,
    tasks: Vec<Task>,
}

impl<'a> ReplicaTaskList<'a> {
    fn new(replica: &'a Replica, graph: &'a Graph) -> Self {
        let mut split_of = vec![None; graph.operators().len()];
        for (index, split) in replica.splits.iter().enumerate() {
            split.operators.iter().for_each(|operator| split_of[operator.index()] = Some(index));
        }
        let divided = |split| DividedOperators { split, parts: Parts::of(split, graph) };
        let splits = replica.splits.iter().map(divided).collect();
        Self { graph, splits, split_of, tasks_of: vec![Vec::new(); graph.operators().len()], tasks: Vec::new() }
    }

    fn split_of(&self, operator: OperatorId) -> Option<&DividedOperators<'a>> {
        self.split_of[operator.index()].map(|index| &self.splits[index])
    }

    /// Adds a processor's task of an operator.
    fn add(&mut self, operator: OperatorId, processor: ProcessorId) {
        let divided = self.split_of(operator);
        let share = divided.and_then(|divided| divided.parts.share(divided.split, operator, processor));
        self.tasks_of[operator.index()].push(TaskId::new(self.tasks.len()));
        self.tasks.push(Task { operator, processor, share, inputs: Vec::new() });
    }

    /// The tasks, with what each reads.
    fn with_inputs(mut self) -> Vec<Task> {
        for index in 0..self.tasks.len() {
            self.tasks[index].inputs = self.inputs(&self.tasks[index]);
        }
        self.tasks
    }

    fn inputs(&self, reader: &Task) -> Vec<TaskInput> {
        let mut inputs = Vec::new();
        for &value in &self.graph.operator(reader.operator).inputs {
            let Some(producer) = self.graph.producer(value) else { continue };
            let bytes = self.graph.value(value).bytes().unwrap_or(0);
            let read = self.split_of(reader.operator);
            let read = read.and_then(|divided| divided.parts.read_rows(self.graph, reader.processor, value));

            let split = self.split_of[producer.index()];
            let is_aligned = split.is_some() && split == self.split_of[reader.operator.index()];
            for &maker in &self.tasks_of[producer.index()] {
                let Task { processor, share, .. } = self.tasks[maker.index()];
                if is_aligned && processor != reader.processor {
                    continue;
                }
                let made = self.split_of(producer);
                let made = made.and_then(|divided| divided.parts.made_rows(divided.split, producer, processor));
                inputs.push(TaskInput {
                    value,
                    maker,
                    bytes: needed_bytes(bytes, read.as_ref(), made.as_ref(), share),
                });
            }
        }
        inputs
    }
}

/// Bytes that a reader needs of what a maker made of a value of `bytes`: of the rows that the one reads and the other
/// made, where either does not have to do with all of them, or of the maker's share.
fn needed_bytes(bytes: u64, read: Option<&ValueRows>, made: Option<&ValueRows>, share: Option<Share>) -> u64 {
    match (read, made, share) {
        (Some(read), Some(made), _) if read.axis == made.axis => read.overlap(made).of_bytes(bytes),
        (Some(read), _, Some(share)) => read.of_bytes(share.of_bytes(bytes)),
        (Some(read), _, None) => read.of_bytes(bytes),
        (None, _, Some(share)) => share.of_bytes(bytes),
        (None, _, None) => bytes,
    }
}

/// What each processor does of operators that are divided together.
enum Parts {
    Channels,
    Tiles {
        /// Per processor, if it takes part.
        tiles: Vec<Option<Tile>>,
        /// Positions of what each operator makes.
        rows: Vec<usize>,
        /// The dimension that is divided of what each operator makes.
        axes: Vec<Option<usize>>,
    },
}

impl Parts {
    fn of(split: &OperatorSplit, graph: &Graph) -> Self {
        let region = TileRegion::new(graph, &split.operators, split.along);
        let region = region.filter(|region| region.rows() == split.total());
        // What can't be divided like that is found when the schedule is checked.
        region.map_or(Self::Channels, |region| Self::Tiles {
            tiles: (0..split.shares.len())
                .map(|position| split.range(position).map(|rows| region.tile(rows)))
                .collect(),
            rows: region.rows_of_operators().collect(),
            axes: region.axes_of_operators().collect(),
        })
    }

    fn share(&self, split: &OperatorSplit, operator: OperatorId, processor: ProcessorId) -> Option<Share> {
        let position = split.operators.iter().position(|&member| member == operator)?;
        let (part, of) = match self {
            Self::Channels => (*split.shares.get(processor.index())?, split.total()),
            Self::Tiles { tiles, rows, .. } => {
                let tile = tiles.get(processor.index())?.as_ref();
                (tile.map_or(0, |tile| tile.made[position].len()), rows[position])
            }
        };
        Some(Share {
            along: split.along,
            part,
            of,
            is_head: position == 0,
            is_last: position + 1 == split.operators.len(),
        })
    }

    /// The rows of a value that a processor reads, where it does not need all.
    fn read_rows(&self, graph: &Graph, processor: ProcessorId, value: ValueId) -> Option<ValueRows> {
        let Self::Tiles { tiles, .. } = self else { return None };
        let tile = tiles.get(processor.index())?.as_ref()?;
        let Slab { axis, range: rows } = tile.read.iter().find(|(read, _)| *read == value)?.1.clone()?;
        let of = graph.value(value).shape.as_ref()?.dimensions().get(axis).copied()?;
        Some(ValueRows { rows, of, axis })
    }

    /// The rows of what an operator makes that a processor makes.
    fn made_rows(&self, split: &OperatorSplit, operator: OperatorId, processor: ProcessorId) -> Option<ValueRows> {
        let Self::Tiles { tiles, rows, axes } = self else { return None };
        let position = split.operators.iter().position(|&member| member == operator)?;
        let axis = axes[position]?;
        let made = tiles.get(processor.index())?.as_ref()?.made.get(position)?.clone();
        Some(ValueRows { rows: made, of: rows[position], axis })
    }
}

/// Some rows of a value of `of` rows.
struct ValueRows {
    rows: Range<usize>,
    of: usize,
    axis: usize,
}

impl ValueRows {
    fn overlap(&self, other: &Self) -> Self {
        let start = self.rows.start.max(other.rows.start);
        let end = self.rows.end.min(other.rows.end).max(start);
        Self { rows: start..end, of: self.of, axis: self.axis }
    }

    /// The rows' part of a size.
    fn of_bytes(&self, bytes: u64) -> u64 {
        bytes_shared(bytes, self.rows.len(), self.of)
    }
}
