//! What fits into the memory of a processor that has its own, and into the one that all others share.

use std::collections::{HashMap, HashSet};

use millstream_board::Board;
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_partition::Chain;
use millstream_schedule::Replica;

use crate::range_table::RangeTable;
use crate::{PipelineError, Plan, PlannedStage};

/// Bytes of memory by accelerator label, where they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryLimits(HashMap<String, u64>);

impl MemoryLimits {
    pub(crate) fn of(board: &Board) -> Self {
        let limits = board.accelerators().iter();
        Self(limits.filter_map(|own| Some((own.label.clone(), own.memory_bytes?))).collect())
    }

    pub(crate) fn of_label(&self, label: &str) -> Option<u64> {
        self.0.get(label).copied()
    }

    /// Whether everything that a replica's accelerators hold fits.
    pub(crate) fn allow(&self, replica: &Replica, graph: &Graph) -> bool {
        replica.assignments.iter().all(|assignment| {
            let needed = || assignment.operators.iter().map(|&id| held(graph, id)).sum::<u64>();
            self.of_label(&assignment.processor.cluster).is_none_or(|limit| needed() <= limit)
        })
    }
}

/// Bytes that an operator holds: its weights, and the values that it makes, which have buffers of their own.
pub(crate) fn held(graph: &Graph, id: OperatorId) -> u64 {
    let work = graph.operator(id).work;
    work.weight_bytes + work.output_bytes
}

/// What a stage of each range of blocks holds at once, and what the board's shared memory has room for.
#[derive(Debug, Clone)]
pub(crate) struct SharedCapacity {
    bytes: u64,
    footprints: RangeTable<u64>,
}

impl SharedCapacity {
    /// `None` if the board does not say how much memory it has.
    pub(crate) fn of(graph: &Graph, chain: &Chain, board: &Board) -> Option<Self> {
        let bytes = board.memory_bytes()?;
        let footprints = RangeTable::of(chain.blocks().len(), |blocks| footprint(graph, &chain.operators(blocks)));
        Some(Self { bytes, footprints })
    }

    /// Bytes that all stages of a plan hold: every replica has weights and values of its own.
    pub(crate) fn needed(&self, plan: &Plan) -> u64 {
        let of_stage = |stage: &PlannedStage| {
            let replicas = stage.replicas.len() as u64;
            replicas.saturating_mul(*self.footprints.at(stage.blocks))
        };
        plan.stages.iter().map(of_stage).fold(0, u64::saturating_add)
    }

    pub(crate) fn has_room_for(&self, plan: &Plan) -> bool {
        self.needed(plan) <= self.bytes
    }

    /// Why no plan is left.
    pub(crate) fn exceeded_by(&self, plans: &[Plan]) -> PipelineError {
        let least_bytes = plans.iter().map(|plan| self.needed(plan)).min().unwrap_or_default();
        PipelineError::Memory { least_bytes, most_bytes: self.bytes }
    }
}

/// Weights of operators that run one after the other, and the most that their values take up at once. A value is there from when it is made, or
/// from the beginning, until its last reader is done; what others read as well stays to the end.
fn footprint(graph: &Graph, operators: &[OperatorId]) -> u64 {
    let mut last_read: HashMap<ValueId, usize> = HashMap::new();
    let mut made: HashSet<ValueId> = HashSet::new();
    let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);
    for (position, &id) in operators.iter().enumerate() {
        last_read.extend(graph.operator(id).inputs.iter().map(|&value| (value, position)));
        made.extend(&graph.operator(id).outputs);
    }
    let own: HashSet<OperatorId> = operators.iter().copied().collect();
    let is_wanted_later = |value: ValueId| {
        graph.outputs().contains(&value) || graph.readers(value).iter().any(|reader| !own.contains(reader))
    };
    let received = last_read.keys().filter(|value| !made.contains(value));
    let mut live: u64 = received.map(|&value| bytes(value)).sum();
    let mut peak = live;
    let mut weights = 0_u64;
    for (position, &id) in operators.iter().enumerate() {
        let operator = graph.operator(id);
        weights = weights.saturating_add(operator.work.weight_bytes);
        live += operator.outputs.iter().map(|&value| bytes(value)).sum::<u64>();
        peak = peak.max(live);
        let mut done: Vec<ValueId> = operator.inputs.clone();
        done.sort_unstable();
        done.dedup();
        let is_done = |value: &ValueId| {
            last_read.get(value) == Some(&position) && (!made.contains(value) || !is_wanted_later(*value))
        };
        live -= done.into_iter().filter(is_done).map(bytes).sum::<u64>().min(live);
    }
    weights.saturating_add(peak)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape};

    use super::*;

    /// a of 4 bytes -> b of 40 -> c of 8 -> d of 4, where d reads a again: at most a, b and c are there at once.
    #[test]
    fn values_are_there_from_their_maker_to_their_last_reader() {
        let mut builder = GraphBuilder::new("net");
        let mut value =
            |name: &str, size: usize| builder.value(name, Some(DataType::F32), Some(Shape::from([size]))).unwrap();
        let [input, a, b, c, d] =
            [("in", 3), ("a", 1), ("b", 10), ("c", 2), ("d", 1)].map(|(name, size)| value(name, size));
        builder.input(input);
        for (name, reads, makes) in [("A", vec![input], a), ("B", vec![a], b), ("C", vec![b], c), ("D", vec![c, a], d)]
        {
            builder.operator(NewOperator::new(name, "x", OperatorKind::Opaque).reads(reads).makes([makes])).unwrap();
        }
        builder.output(d);
        let graph = builder.build().unwrap();
        let ids = graph.order().to_vec();
        assert_eq!(footprint(&graph, &ids), 4 + 40 + 8);
        assert_eq!(footprint(&graph, &ids[..1]), 12 + 4, "the input and what is made of it");
        // a is received and wanted to the end of D; b is received as well, gone after C.
        assert_eq!(footprint(&graph, &ids[2..]), 4 + 40 + 8);
        assert_eq!(footprint(&graph, &ids[3..]), 4 + 8 + 4);
        assert_eq!(footprint(&graph, &ids[1..2]), 4 + 40);
    }
}
