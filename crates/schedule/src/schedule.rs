//! The data of a schedule: stages, replicas, processors, and operators that several of these divide.

use std::ops::Range;

use millstream_board::Processor;
use millstream_graph::{Along, OperatorId, Portion};

use crate::stage_id::StageId;

/// A pipeline: every frame passes through all stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The stages, in the order in which a frame passes them.
    pub stages: Vec<Stage>,
}

/// One step of the pipeline, which works on one frame per replica at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Interchangeable executors of the stage; a frame goes to whichever is free.
    pub replicas: Vec<Replica>,
}

/// One executor of a stage: all of the stage's operators on a set of processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// What each processor runs.
    pub assignments: Vec<Assignment>,
    /// Operators that several of the processors share; each of those lists them.
    pub splits: Vec<OperatorSplit>,
}

/// Operators that several processors of a replica make together: an operator divided by output channels, with those
/// that follow it channel by channel, or a chain or a whole fan-in structure divided by rows, columns or heads, each
/// processor making a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorSplit {
    /// By channels: the operator that is divided, and then those after it that are divided like it. Into tiles: all that
    /// are divided together, in an order in which they run. Every processor that takes part runs them one after the
    /// other.
    pub operators: Vec<OperatorId>,
    /// What they are divided along.
    pub along: Along,
    /// Numbers of output channels, or of rows, columns or heads of what the last operator makes, that each of the replica's processors
    /// makes, in the order of the assignments: the first one makes the first ones. 0 for a processor that takes no
    /// part.
    pub shares: Vec<usize>,
}

/// The operators that one processor runs, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The processor.
    pub processor: Processor,
    /// Its operators, in the order in which it runs them.
    pub operators: Vec<OperatorId>,
}

impl Schedule {
    /// The labels of the accelerators that it uses.
    pub fn accelerators(&self) -> Vec<&str> {
        let accelerators = self.processors().filter(|processor| processor.is_accelerator());
        accelerators.map(|processor| processor.cluster.as_str()).collect()
    }

    /// All processors, stage by stage.
    pub fn processors(&self) -> impl Iterator<Item = &Processor> {
        self.stages
            .iter()
            .flat_map(|stage| &stage.replicas)
            .flat_map(|replica| &replica.assignments)
            .map(|assignment| &assignment.processor)
    }

    /// The stages with their ids.
    pub fn numbered_stages(&self) -> impl DoubleEndedIterator<Item = (StageId, &Stage)> + ExactSizeIterator {
        StageId::all(self.stages.len()).zip(&self.stages)
    }

    /// All replicas, stage by stage, with the ids of their stages.
    pub fn numbered_replicas(&self) -> impl Iterator<Item = (StageId, &Replica)> {
        self.numbered_stages().flat_map(|(id, stage)| stage.replicas.iter().map(move |replica| (id, replica)))
    }

    /// A replica of a stage, counted from 0; `None` if there is no such replica.
    pub fn replica(&self, stage: StageId, replica: usize) -> Option<&Replica> {
        self.stages.get(stage.index())?.replicas.get(replica)
    }

    /// How many frames are between the start of the first stage and the end of the last one, unless somebody wants
    /// another number: one for each replica; and between two stages one for each replica of that which has more of
    /// them, since replicas that take unlike times come and go at uneven times. With fewer, some may wait for a frame
    /// now and then; where times vary, more help.
    pub fn frames_in_flight(&self) -> usize {
        let replicas = || self.stages.iter().map(|stage| stage.replicas.len());
        let between = replicas().zip(replicas().skip(1)).map(|(one, next)| one.max(next));
        replicas().sum::<usize>() + between.sum::<usize>()
    }

    /// This schedule on other processors: what a function makes of each, in the order of [`Schedule::processors`].
    #[must_use]
    pub fn with_processors(&self, mut change: impl FnMut(&Processor) -> Processor) -> Self {
        let mut changed = self.clone();
        let replicas = changed.stages.iter_mut().flat_map(|stage| &mut stage.replicas);
        for assignment in replicas.flat_map(|replica| &mut replica.assignments) {
            assignment.processor = change(&assignment.processor);
        }
        changed
    }
}

impl OperatorSplit {
    /// The channels or rows that a processor makes, by the position of its assignment in the replica, counted from 0;
    /// `None` if it takes no part.
    pub fn range(&self, position: usize) -> Option<Range<usize>> {
        let share = *self.shares.get(position).filter(|&&share| share > 0)?;
        let start = self.shares[..position].iter().copied().fold(0, usize::saturating_add);
        Some(start..start.saturating_add(share))
    }

    /// The portion that a processor makes, by the position of its assignment in the replica, counted from 0; `None` if
    /// it takes no part.
    pub fn portion(&self, position: usize) -> Option<Portion> {
        self.range(position).map(|range| Portion { along: self.along, range })
    }

    /// How many channels or rows there are.
    pub fn total(&self) -> usize {
        self.shares.iter().copied().fold(0, usize::saturating_add)
    }
}

impl Stage {
    /// The operators of the stage, as its first replica lists them.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> {
        self.replicas.first().into_iter().flat_map(Replica::operators)
    }
}

impl Replica {
    /// A replica of one processor.
    pub fn single(processor: Processor, operators: Vec<OperatorId>) -> Self {
        Self::new(vec![Assignment { processor, operators }])
    }

    /// A replica whose processors share no operator.
    pub fn new(assignments: Vec<Assignment>) -> Self {
        Self { assignments, splits: Vec::new() }
    }

    /// All operators, processor by processor; an operator that several processors share is named at the first of them.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> {
        let is_first = |position: usize, id: OperatorId| {
            let split = self.split_of(id);
            split.is_none_or(|split| split.shares.iter().position(|&channels| channels > 0) == Some(position))
        };
        self.assignments.iter().enumerate().flat_map(move |(position, assignment)| {
            assignment.operators.iter().copied().filter(move |&id| is_first(position, id))
        })
    }

    /// The split that an operator is part of.
    pub fn split_of(&self, operator: OperatorId) -> Option<&OperatorSplit> {
        self.splits.iter().find(|split| split.operators.contains(&operator))
    }
}
