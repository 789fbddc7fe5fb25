//! A schedule in the form in which events are processed fast.

use std::collections::HashMap;

use millstream_cost::CostTable;
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::{Replica, Schedule, ScheduleError};

/// A stage's replicas.
pub(crate) struct StagePlan {
    pub(crate) replicas: Vec<ReplicaPlan>,
}

/// What one replica does for a frame.
pub(crate) struct ReplicaPlan {
    pub(crate) hand_over: u64,
    /// Per processor, the places of its operators in `operators`, in order.
    pub(crate) tracks: Vec<Vec<usize>>,
    pub(crate) operators: Vec<OperatorPlan>,
}

/// One operator on its processor.
pub(crate) struct OperatorPlan {
    pub(crate) id: OperatorId,
    pub(crate) track: usize,
    pub(crate) nanoseconds: u64,
    /// Values of this stage that it waits for.
    pub(crate) inputs: usize,
    /// Who waits for its values: place of the reader, and what the transfer takes if that is elsewhere.
    pub(crate) readers: Vec<(usize, Option<u64>)>,
}

pub(crate) fn plan(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Result<Vec<StagePlan>, ScheduleError> {
    // What can't be evaluated can't be simulated, and for the same reasons.
    schedule.evaluate(graph, table)?;
    let stages = schedule.stages.iter().enumerate();
    Ok(stages
        .map(|(index, stage)| {
            let replicas = stage.replicas.iter().map(|replica| replica_plan(replica, index, graph, table));
            StagePlan { replicas: replicas.collect() }
        })
        .collect())
}

fn replica_plan(replica: &Replica, stage: usize, graph: &Graph, table: &CostTable) -> ReplicaPlan {
    let mut operators: Vec<OperatorPlan> = Vec::new();
    let mut place: HashMap<OperatorId, usize> = HashMap::new();
    let mut tracks = Vec::with_capacity(replica.assignments.len());
    let classes: Vec<_> =
        replica.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
    for (track, assignment) in replica.assignments.iter().enumerate() {
        let mut own = Vec::with_capacity(assignment.operators.len());
        for &id in &assignment.operators {
            let time = classes[track].and_then(|processor| table.time(processor, id.index()));
            place.insert(id, operators.len());
            own.push(operators.len());
            let nanoseconds = time.unwrap_or_default().0;
            operators.push(OperatorPlan { id, track, nanoseconds, inputs: 0, readers: Vec::new() });
        }
        tracks.push(own);
    }
    for reader in 0..operators.len() {
        for &value in &graph.operator(operators[reader].id).inputs {
            let Some(&maker) = graph.producer(value).and_then(|producer| place.get(&producer)) else { continue };
            let (from, to) = (operators[maker].track, operators[reader].track);
            let transfer = classes[from]
                .zip(classes[to])
                .filter(|_| from != to)
                .map(|(from, to)| table.transfer(from, to, graph.value(value).bytes().unwrap_or(0)).0);
            operators[maker].readers.push((reader, transfer));
            operators[reader].inputs += 1;
        }
    }
    ReplicaPlan { hand_over: replica.hand_over(stage, graph, table).0, tracks, operators }
}
