//! Which values a frame carries from stage to stage.

use std::collections::HashMap;

use millstream_graph::{Boundary, Graph, ValueId};
use millstream_schedule::Schedule;

use crate::RuntimeError;

/// Slots for everything that frames carry, and what each stage does with them.
pub(crate) struct Route {
    pub(crate) slots: usize,
    /// Slots of the network's inputs, in order.
    pub(crate) inputs: Vec<usize>,
    /// Slots of the network's outputs, in order.
    pub(crate) outputs: Vec<usize>,
    pub(crate) stages: Vec<StageRoute>,
}

/// What one stage reads, writes, and lets go of.
#[derive(Clone)]
pub(crate) struct StageRoute {
    pub(crate) boundary: Boundary,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
    /// Slots that nobody reads after this stage.
    pub(crate) release: Vec<usize>,
}

impl Route {
    pub(crate) fn new(graph: &Graph, schedule: &Schedule) -> Result<Self, RuntimeError> {
        let mut slots: HashMap<ValueId, usize> = HashMap::new();
        let mut slot = |value: ValueId| {
            let next = slots.len();
            *slots.entry(value).or_insert(next)
        };

        let inputs: Vec<usize> = graph.inputs().iter().map(|&value| slot(value)).collect();
        let mut known: Vec<usize> = inputs.clone();
        let mut stages = Vec::with_capacity(schedule.stages.len());
        for (index, stage) in schedule.stages.iter().enumerate() {
            let boundary = graph.boundary(&stage.operators().collect::<Vec<_>>());
            let reads: Vec<usize> = boundary.inputs.iter().map(|&value| slot(value)).collect();
            if let Some(position) = reads.iter().position(|slot| !known.contains(slot)) {
                let value = graph.value(boundary.inputs[position]).name.clone();
                return Err(RuntimeError::MissingValue { value, stage: index + 1 });
            }
            let writes: Vec<usize> = boundary.outputs.iter().map(|&value| slot(value)).collect();
            known.extend(&writes);
            stages.push(StageRoute { boundary, inputs: reads, outputs: writes, release: Vec::new() });
        }

        let outputs: Vec<usize> = graph.outputs().iter().map(|&value| slot(value)).collect();
        if let Some(position) = outputs.iter().position(|slot| !known.contains(slot)) {
            let value = graph.value(graph.outputs()[position]).name.clone();
            return Err(RuntimeError::MissingValue { value, stage: schedule.stages.len() });
        }

        let slots = slots.len();
        for slot in (0..slots).filter(|slot| !outputs.contains(slot)) {
            if let Some(last) = stages.iter_mut().rev().find(|stage: &&mut StageRoute| stage.inputs.contains(&slot)) {
                last.release.push(slot);
            }
        }
        Ok(Self { slots, inputs, outputs, stages })
    }
}
