//! What stages hold of the memory that a board's processors share, and what it has room for.

use millstream_board::{Board, ProcessorClass};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{BlockRange, Chain};
use millstream_schedule::{Footprints, repeated_weight_bytes};

use crate::board::memory_limits::MemoryLimits;
use crate::error::PipelineError;
use crate::plan::{Plan, PlannedReplica, PlannedStage};
use crate::times::range_table::RangeTable;

/// What a stage of each range of blocks holds at once, and what the board's shared memory has room for.
#[derive(Debug, Clone)]
pub(crate) struct SharedCapacity {
    bytes: u64,
    /// Accelerators with memories of their own hold what they run there.
    apart: MemoryLimits,
    footprints: RangeTable<u64>,
    /// Bytes of each operator's weights.
    weights: Vec<u64>,
}

impl SharedCapacity {
    /// `None` if the board does not say how much memory it has.
    pub(crate) fn of(graph: &Graph, chain: &Chain, board: &Board) -> Option<Self> {
        let bytes = board.memory_bytes()?;
        let footprints = Footprints::of(graph);
        let footprints = RangeTable::of(chain.blocks().len(), |blocks| footprints.bytes(&chain.operators(blocks)));
        let weights = graph.operators().iter().map(|operator| operator.work.weight_bytes).collect();
        Some(Self { bytes, apart: MemoryLimits::of(board), footprints, weights })
    }

    /// Bytes that all stages of a plan hold: every replica has weights and values of its own, and each processor of a
    /// team that makes rows has all weights of what it makes them of.
    pub(crate) fn needed(&self, plan: &Plan) -> u64 {
        let of_replica = |replica: &PlannedReplica, blocks: BlockRange| {
            let splits = replica.work.as_ref().map_or(&[][..], |work| work.splits());
            let once = self.held_on(&replica.processors, blocks);
            let weight_bytes = |id: OperatorId| self.weights.get(id.index()).copied().unwrap_or(0);
            if once == 0 { 0 } else { once.saturating_add(repeated_weight_bytes(splits, weight_bytes)) }
        };
        let of_stage = |stage: &PlannedStage| {
            let replicas = stage.replicas.iter();
            replicas.map(|replica| of_replica(replica, stage.blocks)).fold(0, u64::saturating_add)
        };
        plan.stages.iter().map(of_stage).fold(0, u64::saturating_add)
    }

    /// The capacity as if there were only so many bytes of memory.
    pub(crate) fn within(&self, bytes: u64) -> Self {
        Self { bytes: self.bytes.min(bytes), ..self.clone() }
    }

    /// Bytes that one replica of a stage on these processors holds: nothing if all have memories of their own.
    pub(crate) fn held_on(&self, processors: &[ProcessorClass], blocks: BlockRange) -> u64 {
        let are_apart = processors.iter().all(|class| self.apart.of_label(&class.cluster).is_some());
        if are_apart { 0 } else { *self.footprints.at(blocks) }
    }

    pub(crate) fn has_room_for(&self, plan: &Plan) -> bool {
        self.needed(plan) <= self.bytes
    }

    /// What there is room for.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Why no plan is left.
    pub(crate) fn exceeded_by(&self, plans: &[Plan]) -> PipelineError {
        let least_bytes = plans.iter().map(|plan| self.needed(plan)).min().unwrap_or_default();
        PipelineError::Memory { least_bytes, most_bytes: self.bytes }
    }
}
