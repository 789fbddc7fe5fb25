use std::collections::{BTreeSet, HashSet};

use millstream_board::{Board, CoreId};
use millstream_graph::{Graph, OperatorId};

use crate::{Replica, Schedule, ScheduleError};

impl Schedule {
    /// Whether the schedule can run: every operator once, nothing before what it needs, every processor's cores on the
    /// board and its own.
    ///
    /// # Errors
    /// The first [`ScheduleError`] found, in the order of the stages.
    pub fn validate(&self, graph: &Graph, board: &Board) -> Result<(), ScheduleError> {
        if self.stages.is_empty() {
            return Err(ScheduleError::Empty { what: "the schedule".to_owned() });
        }
        let mut done: HashSet<OperatorId> = HashSet::new();
        let mut cores: HashSet<CoreId> = HashSet::new();
        for (index, stage) in self.stages.iter().enumerate() {
            let number = index + 1;
            let mut expected: Option<BTreeSet<OperatorId>> = None;
            for (position, replica) in stage.replicas.iter().enumerate() {
                let empty = |what: &str| ScheduleError::Empty { what: format!("{what} of stage {number}") };
                if replica.assignments.is_empty() {
                    return Err(empty(&format!("replica {}", position + 1)));
                }
                for assignment in &replica.assignments {
                    if assignment.operators.is_empty() || assignment.processor.cores.is_empty() {
                        return Err(empty("a processor"));
                    }
                    board
                        .check(&assignment.processor)
                        .map_err(|source| ScheduleError::Processor { stage: number, source })?;
                    if let Some(&core) = assignment.processor.cores.iter().find(|&&core| !cores.insert(core)) {
                        return Err(ScheduleError::SharedCore { core, stage: number });
                    }
                }
                let own = operators_once(replica, graph, number, &done)?;
                if let Some(expected) = &expected
                    && let Some(&operator) = expected.symmetric_difference(&own).next()
                {
                    let operator = graph.operator(operator).name.clone();
                    return Err(ScheduleError::Repeated { operator, stage: number });
                }
                check_order(replica, graph, number, &done)?;
                expected = Some(own);
            }
            match expected {
                None => return Err(ScheduleError::Empty { what: format!("stage {number}") }),
                Some(own) => done.extend(own),
            }
        }
        match graph.operator_ids().find(|id| !done.contains(id)) {
            None => Ok(()),
            Some(id) => Err(ScheduleError::Missing { operator: graph.operator(id).name.clone() }),
        }
    }
}

fn operators_once(
    replica: &Replica,
    graph: &Graph,
    stage: usize,
    done: &HashSet<OperatorId>,
) -> Result<BTreeSet<OperatorId>, ScheduleError> {
    let mut own = BTreeSet::new();
    for id in replica.operators() {
        if done.contains(&id) || !own.insert(id) {
            return Err(ScheduleError::Repeated { operator: graph.operator(id).name.clone(), stage });
        }
    }
    Ok(own)
}

/// Lets every processor advance as far as its operators' inputs allow; whatever is left can never start.
fn check_order(
    replica: &Replica,
    graph: &Graph,
    stage: usize,
    done: &HashSet<OperatorId>,
) -> Result<(), ScheduleError> {
    let mut finished = done.clone();
    let mut next = vec![0; replica.assignments.len()];
    let missing = |id: OperatorId, finished: &HashSet<OperatorId>| {
        let producers = graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
        producers.into_iter().find(|producer| !finished.contains(producer))
    };
    loop {
        let mut advanced = false;
        for (assignment, next) in replica.assignments.iter().zip(&mut next) {
            while let Some(&id) = assignment.operators.get(*next)
                && missing(id, &finished).is_none()
            {
                finished.insert(id);
                *next += 1;
                advanced = true;
            }
        }
        if !advanced {
            break;
        }
    }
    for (assignment, next) in replica.assignments.iter().zip(next) {
        if let Some(&id) = assignment.operators.get(next)
            && let Some(needs) = missing(id, &finished)
        {
            let name = |id: OperatorId| graph.operator(id).name.clone();
            return Err(ScheduleError::Order { operator: name(id), stage, needs: name(needs) });
        }
    }
    Ok(())
}
