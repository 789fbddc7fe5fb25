use std::collections::{BTreeSet, HashSet};

use millstream_board::{Board, CoreId};
use millstream_graph::{Graph, OperatorId};

use crate::footprint::check_memory_together;
use crate::replica_tasks::ReplicaOrder;
use crate::{Replica, Schedule, ScheduleError};

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

        let mut done: HashSet<OperatorId> = HashSet::new();
        let mut cores: HashSet<CoreId> = HashSet::new();
        let mut accelerators: HashSet<&str> = HashSet::new();
        for (index, stage) in self.stages.iter().enumerate() {
            let number = index + 1;
            let mut expected: Option<BTreeSet<OperatorId>> = None;
            stage.host(number)?;
            for (position, replica) in stage.replicas.iter().enumerate() {
                let empty = |what: &str| ScheduleError::Empty { what: format!("{what} of stage {number}") };
                if replica.assignments.is_empty() {
                    return Err(empty(&format!("replica {}", position + 1)));
                }
                for assignment in &replica.assignments {
                    let processor = &assignment.processor;
                    let is_accelerator = board.accelerator(&processor.cluster).is_some();
                    if assignment.operators.is_empty() || processor.cores.is_empty() && !is_accelerator {
                        return Err(empty("a processor"));
                    }
                    board.check(processor).map_err(|source| ScheduleError::Processor { stage: number, source })?;
                    if is_accelerator && !accelerators.insert(&processor.cluster) {
                        let accelerator = processor.cluster.clone();
                        return Err(ScheduleError::SharedAccelerator { accelerator, stage: number });
                    }
                    if let Some(&core) = assignment.processor.cores.iter().find(|&&core| !cores.insert(core)) {
                        return Err(ScheduleError::SharedCore { core, stage: number });
                    }
                }
                replica.check_splits(graph, number)?;
                let own = operators_once(replica, graph, number, &done)?;
                if let Some(expected) = &expected
                    && let Some(&operator) = expected.symmetric_difference(&own).next()
                {
                    let operator = graph.operator(operator).name.clone();
                    return Err(ScheduleError::Repeated { operator, stage: number });
                }
                check_inseparable(replica, graph, number)?;
                check_order(replica, graph, number, &done)?;
                expected = Some(own);
            }
            match expected {
                None => return Err(ScheduleError::Empty { what: format!("stage {number}") }),
                Some(own) => done.extend(own),
            }
        }

        if let Some(id) = graph.operator_ids().find(|id| !done.contains(id)) {
            return Err(ScheduleError::Missing { operator: graph.operator(id).name.clone() });
        }
        check_memory_together(&[(self, graph)], board)
    }
}

/// Whether every quantised operator has its quantisation and dequantisations with it, and every value of unknown type its readers: in its
/// stage and on its processor.
fn check_inseparable(replica: &Replica, graph: &Graph, stage: usize) -> Result<(), ScheduleError> {
    for assignment in &replica.assignments {
        let own: HashSet<OperatorId> = assignment.operators.iter().copied().collect();
        for &operator in &assignment.operators {
            let producer =
                graph.inseparable_producers(operator).find(|producer| !own.contains(producer)).or_else(|| {
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

/// What belongs to an operator of a processor but does not stand in a row with it: something between the two could need both the one's
/// result and another processor's.
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

/// Lets every processor advance as far as its tasks' inputs allow, those of inseparable tasks before the first of them; whatever is left can
/// never start.
fn check_order(
    replica: &Replica,
    graph: &Graph,
    stage: usize,
    done: &HashSet<OperatorId>,
) -> Result<(), ScheduleError> {
    let order = |operator: OperatorId, needs: OperatorId| {
        let name = |id: OperatorId| graph.operator(id).name.clone();
        Err(ScheduleError::Order { operator: name(operator), stage: Some(stage), needs: name(needs) })
    };
    let own: HashSet<OperatorId> = replica.operators().collect();
    for operator in replica.operators() {
        let makers = graph.operator(operator).inputs.iter().filter_map(|&value| graph.producer(value));
        if let Some(needs) = makers.into_iter().find(|maker| !own.contains(maker) && !done.contains(maker)) {
            return order(operator, needs);
        }
    }
    ReplicaOrder::new(replica, graph).run_order(graph).map(|_| ()).map_err(|error| error.in_stage(stage))
}
