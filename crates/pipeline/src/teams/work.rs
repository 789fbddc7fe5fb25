//! What each processor of a team does of a stage.

use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_schedule::{Assignment, OperatorSplit, Replica};

/// What each processor of a team does of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamWork {
    /// Per processor of the team, its operators in order; none for one that has nothing to do.
    lists: Vec<Vec<OperatorId>>,
    /// The operators that are divided, with a share for each processor of the team.
    splits: Vec<OperatorSplit>,
}

impl TeamWork {
    pub(crate) fn new(lists: Vec<Vec<OperatorId>>, splits: Vec<OperatorSplit>) -> Self {
        Self { lists, splits }
    }

    /// The operators that are divided, each with a share for every processor of the team.
    pub fn splits(&self) -> &[OperatorSplit] {
        &self.splits
    }

    /// The stage on these processors, in the team's order. One that has nothing to do is left out.
    pub(crate) fn replica(&self, processors: Vec<Processor>) -> Replica {
        let is_used = |position: usize| self.lists.get(position).is_some_and(|list| !list.is_empty());
        let mut splits = self.splits.clone();
        for split in &mut splits {
            let shares = split.shares.iter().enumerate().filter(|(position, _)| is_used(*position));
            split.shares = shares.map(|(_, &share)| share).collect();
        }
        let busy = processors.into_iter().zip(&self.lists).filter(|(_, operators)| !operators.is_empty());
        let assignment = |(processor, operators): (Processor, &Vec<OperatorId>)| Assignment {
            processor,
            operators: operators.clone(),
        };
        Replica { assignments: busy.map(assignment).collect(), splits }
    }
}
