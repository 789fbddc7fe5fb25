//! Which values a frame carries from stage to stage.

use std::collections::HashMap;

use millstream_graph::{Boundary, Graph, ValueId};
use millstream_schedule::{Schedule, StageId};

use crate::error::RuntimeError;

/// Where a frame keeps a value while it goes from stage to stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameSlot(usize);

impl FrameSlot {
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

/// Slots for everything that frames carry, and what each stage does with them.
pub(crate) struct Route {
    /// How many slots there are.
    pub(crate) slots: usize,
    /// Slots of the network's inputs, in order.
    pub(crate) inputs: Vec<FrameSlot>,
    /// Slots of the network's outputs, in order.
    pub(crate) outputs: Vec<FrameSlot>,
    pub(crate) stages: Vec<StageRoute>,
}

/// What one stage reads, writes, and lets go of.
#[derive(Clone)]
pub(crate) struct StageRoute {
    pub(crate) boundary: Boundary,
    /// Slots of the boundary's inputs, in order.
    pub(crate) inputs: Vec<FrameSlot>,
    /// Slots of the boundary's outputs, in order.
    pub(crate) outputs: Vec<FrameSlot>,
    /// Slots that no later stage reads.
    pub(crate) release: Vec<FrameSlot>,
}

impl Route {
    /// # Errors
    /// [`RuntimeError::MissingValue`] if a stage, or the network's result, needs what no earlier stage makes.
    pub(crate) fn new(graph: &Graph, schedule: &Schedule) -> Result<Self, RuntimeError> {
        let mut slots: HashMap<ValueId, FrameSlot> = HashMap::new();
        let mut slot = |value: ValueId| {
            let next = FrameSlot(slots.len());
            *slots.entry(value).or_insert(next)
        };

        let inputs: Vec<FrameSlot> = graph.inputs().iter().map(|&value| slot(value)).collect();
        let mut known: Vec<FrameSlot> = inputs.clone();
        let mut stages = Vec::with_capacity(schedule.stages.len());
        for (id, stage) in schedule.numbered_stages() {
            let boundary = graph.boundary(&stage.operators().collect::<Vec<_>>());
            let reads: Vec<FrameSlot> = boundary.inputs.iter().map(|&value| slot(value)).collect();
            if let Some(position) = reads.iter().position(|slot| !known.contains(slot)) {
                let value = graph.value(boundary.inputs[position]).name.clone();
                return Err(RuntimeError::MissingValue { value, stage: id });
            }
            let writes: Vec<FrameSlot> = boundary.outputs.iter().map(|&value| slot(value)).collect();
            known.extend(&writes);
            stages.push(StageRoute { boundary, inputs: reads, outputs: writes, release: Vec::new() });
        }

        let outputs: Vec<FrameSlot> = graph.outputs().iter().map(|&value| slot(value)).collect();
        if let Some(position) = outputs.iter().position(|slot| !known.contains(slot)) {
            let value = graph.value(graph.outputs()[position]).name.clone();
            let last = StageId::all(schedule.stages.len()).next_back().unwrap_or(StageId::FIRST);
            return Err(RuntimeError::MissingValue { value, stage: last });
        }

        let slots = slots.len();
        for slot in (0..slots).map(FrameSlot).filter(|slot| !outputs.contains(slot)) {
            if let Some(last) = stages.iter_mut().rev().find(|stage: &&mut StageRoute| stage.inputs.contains(&slot)) {
                last.release.push(slot);
            }
        }
        Ok(Self { slots, inputs, outputs, stages })
    }
}
