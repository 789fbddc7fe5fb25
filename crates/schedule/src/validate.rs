//! Validation of a schedule against a graph and a board.

use std::collections::{BTreeSet, HashSet};

use millstream_board::{Board, CoreId};
use millstream_graph::{Graph, OperatorId};

use crate::error::ScheduleError;
use crate::footprint::check_memory_together;
use crate::replica_tasks::ReplicaOrder;
use crate::schedule::{Assignment, Replica, Schedule, Stage};
use crate::stage_id::StageId;

impl Schedule {
    /// Whether the schedule can run: every operator once, nothing before what it needs, every processor's cores on the
    /// board and its own, every stage on one host, and everything that it holds within the memory that the board has.
    ///
    /// # Errors
    /// The first [`ScheduleError`] found, in the order of the stages.
    pub fn validate(&self, graph: &Graph, board: &Board) -> Result<(), ScheduleError> {
        if self.stages.is_empty() {
            return Err(ScheduleError::Empty { what: "the schedule".to_owned() });
        }

        let mut units = UsedUnits::default();
        let mut done: HashSet<OperatorId> = HashSet::new();
        for (id, stage) in self.numbered_stages() {
            let operators = check_stage(stage, id, graph, board, &mut units, &done)?;
            done.extend(operators);
        }

        if let Some(id) = graph.operator_ids().find(|id| !done.contains(id)) {
            return Err(ScheduleError::Missing { operator: graph.operator(id).name.clone() });
        }
        check_memory_together(&[(self, graph)], board)
    }
}

/// Whether a stage can run after those that have run the operators in `done`; its own operators.
fn check_stage(
    stage: &Stage,
    id: StageId,
    graph: &Graph,
    board: &Board,
    units: &mut UsedUnits,
    done: &HashSet<OperatorId>,
) -> Result<BTreeSet<OperatorId>, ScheduleError> {
    stage.host(id)?;
    let mut expected: Option<BTreeSet<OperatorId>> = None;
    for (position, replica) in stage.replicas.iter().enumerate() {
        if replica.assignments.is_empty() {
            return Err(ScheduleError::Empty { what: format!("replica {} of stage {id}", position + 1) });
        }
        replica.assignments.iter().try_for_each(|assignment| units.take(assignment, board, id))?;
        replica.check_splits(graph, id)?;

        let operators = operators_once(replica, graph, id, done)?;
        if let Some(expected) = &expected
            && let Some(&operator) = expected.symmetric_difference(&operators).next()
        {
            let operator = graph.operator(operator).name.clone();
            return Err(ScheduleError::Repeated { operator, stage: id });
        }
        check_inseparable(replica, graph, id)?;
        check_order(replica, graph, id, done)?;
        expected = Some(operators);
    }
    expected.ok_or_else(|| ScheduleError::Empty { what: format!("stage {id}") })
}

/// Cores and accelerators that processors before have.
#[derive(Default)]
struct UsedUnits {
    cores: HashSet<CoreId>,
    /// By their devices.
    accelerators: HashSet<String>,
}

impl UsedUnits {
    /// Gives a processor its cores or its accelerator, if the board has them, and no other processor does.
    fn take(&mut self, assignment: &Assignment, board: &Board, stage: StageId) -> Result<(), ScheduleError> {
        let processor = &assignment.processor;
        let is_accelerator = board.accelerator(&processor.cluster).is_some();
        if assignment.operators.is_empty() || processor.cores.is_empty() && !is_accelerator {
            return Err(ScheduleError::Empty { what: format!("a processor of stage {stage}") });
        }
        board.check(processor).map_err(|source| ScheduleError::Processor { stage, source })?;

        if is_accelerator && !self.accelerators.insert(board.device_of(&processor.cluster).to_owned()) {
            return Err(ScheduleError::SharedAccelerator { accelerator: processor.cluster.clone(), stage });
        }
        match processor.cores.iter().find(|&&core| !self.cores.insert(core)) {
            Some(&core) => Err(ScheduleError::SharedCore { core, stage }),
            None => Ok(()),
        }
    }
}

/// Whether every quantised operator has its quantisation and dequantisations with it, and every value of unknown type
/// its readers: in its stage and on its processor.
fn check_inseparable(replica: &Replica, graph: &Graph, stage: StageId) -> Result<(), ScheduleError> {
    for assignment in &replica.assignments {
        let inside: HashSet<OperatorId> = assignment.operators.iter().copied().collect();
        for &operator in &assignment.operators {
            let producer =
                graph.inseparable_producers(operator).find(|producer| !inside.contains(producer)).or_else(|| {
                    let is_team = replica.assignments.len() > 1;
                    is_team.then(|| interrupted(graph, &assignment.operators, operator))?
                });
            if let Some(producer) = producer {
                let [reader, other] = [operator, producer].map(|id| graph.operator(id).name.clone());
                return Err(if graph.hands_over_untyped(producer, operator) {
                    ScheduleError::Untyped { operator: reader, other, stage }
                } else {
                    ScheduleError::Quantised { operator: reader, other, stage }
                });
            }
        }
    }
    Ok(())
}

/// What belongs to an operator of a processor but does not stand in a row with it: something between the two could need
/// both the one's result and another processor's.
fn interrupted(graph: &Graph, operators: &[OperatorId], operator: OperatorId) -> Option<OperatorId> {
    let place = operators.iter().position(|&other| other == operator)?;
    graph.tied_producers(operator).find(|&producer| {
        let Some(from) = operators.iter().position(|&other| other == producer) else { return false };
        // Everything between is one with what stands before or behind it.
        let between = operators.get(from + 1..place).unwrap_or_default();
        between.iter().any(|&other| {
            let readers = graph.operator(other).outputs.iter().flat_map(|&value| graph.readers(value));
            let leads = readers.into_iter().any(|&reader| graph.is_one_quantised_operator(other, reader));
            !leads && graph.tied_producers(other).next().is_none()
        })
    })
}

/// The operators of a replica, each of which it has once, and no stage before.
fn operators_once(
    replica: &Replica,
    graph: &Graph,
    stage: StageId,
    done: &HashSet<OperatorId>,
) -> Result<BTreeSet<OperatorId>, ScheduleError> {
    let mut operators = BTreeSet::new();
    for id in replica.operators() {
        if done.contains(&id) || !operators.insert(id) {
            return Err(ScheduleError::Repeated { operator: graph.operator(id).name.clone(), stage });
        }
    }
    Ok(operators)
}

/// Lets every processor advance as far as its tasks' inputs allow, those of inseparable tasks before the first of them;
/// whatever is left can never start.
fn check_order(
    replica: &Replica,
    graph: &Graph,
    stage: StageId,
    done: &HashSet<OperatorId>,
) -> Result<(), ScheduleError> {
    let order = |operator: OperatorId, needs: OperatorId| {
        let name = |id: OperatorId| graph.operator(id).name.clone();
        Err(ScheduleError::Order { operator: name(operator), stage: Some(stage), needs: name(needs) })
    };

    let inside: HashSet<OperatorId> = replica.operators().collect();
    for operator in replica.operators() {
        let makers = graph.operator(operator).inputs.iter().filter_map(|&value| graph.producer(value));
        if let Some(needs) = makers.into_iter().find(|maker| !inside.contains(maker) && !done.contains(maker)) {
            return order(operator, needs);
        }
    }
    ReplicaOrder::new(replica, graph).run_order(graph).map(|_| ()).map_err(|error| error.in_stage(stage))
}
