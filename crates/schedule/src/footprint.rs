//! What a schedule holds in memory.

use std::collections::{HashMap, HashSet};

use millstream_board::Board;
use millstream_graph::{Along, Graph, OperatorId, ValueId};

use crate::error::ScheduleError;
use crate::schedule::{OperatorSplit, Replica, Schedule};

/// Bytes that operators hold in a memory of their processor's own, such as a GPU's: their weights, the values that they
/// make, and those that they read and others made, or that the network is given. Each value has a buffer of its own.
pub fn held_bytes(graph: &Graph, operators: &[OperatorId]) -> u64 {
    let mut values: HashSet<ValueId> = HashSet::new();
    let mut held = 0_u64;
    for &id in operators {
        let operator = graph.operator(id);
        held = held.saturating_add(operator.work.weight_bytes).saturating_add(operator.work.output_bytes);
        values.extend(&operator.outputs);
    }
    for &value in operators.iter().flat_map(|&id| &graph.operator(id).inputs) {
        if values.insert(value) {
            held = held.saturating_add(graph.value(value).bytes().unwrap_or(0));
        }
    }
    held
}

/// The memory that operators of a network hold at once.
pub struct Footprints<'a> {
    graph: &'a Graph,
    /// The place of each operator in the network's order.
    places: Vec<usize>,
}

impl<'a> Footprints<'a> {
    /// Of operators of this network.
    pub fn of(graph: &'a Graph) -> Self {
        let mut places = vec![0; graph.operators().len()];
        for (place, id) in graph.order().iter().enumerate() {
            places[id.index()] = place;
        }
        Self { graph, places }
    }

    /// Bytes of the weights of operators that run in the network's order, and the most that their values take up at
    /// once. A value is there from when it is made, or from the beginning, until its last reader is done; what others
    /// read as well stays to the end.
    pub fn bytes(&self, operators: &[OperatorId]) -> u64 {
        let graph = self.graph;
        let mut operators = operators.to_vec();
        operators.sort_unstable_by_key(|id| self.places[id.index()]);
        let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);

        let mut last_read: HashMap<ValueId, usize> = HashMap::new();
        let mut made: HashSet<ValueId> = HashSet::new();
        for (position, &id) in operators.iter().enumerate() {
            last_read.extend(graph.operator(id).inputs.iter().map(|&value| (value, position)));
            made.extend(&graph.operator(id).outputs);
        }
        let inside: HashSet<OperatorId> = operators.iter().copied().collect();
        let is_wanted_later = |value: ValueId| {
            graph.outputs().contains(&value) || graph.readers(value).iter().any(|reader| !inside.contains(reader))
        };

        let received = last_read.keys().filter(|value| !made.contains(value));
        let mut live = received.map(|&value| bytes(value)).fold(0, u64::saturating_add);
        let mut peak = live;
        let mut weights = 0_u64;
        for (position, &id) in operators.iter().enumerate() {
            let operator = graph.operator(id);
            weights = weights.saturating_add(operator.work.weight_bytes);
            live = operator.outputs.iter().map(|&value| bytes(value)).fold(live, u64::saturating_add);
            peak = peak.max(live);

            let mut done: Vec<ValueId> = operator.inputs.clone();
            done.sort_unstable();
            done.dedup();
            let is_done = |value: &ValueId| {
                last_read.get(value) == Some(&position) && (!made.contains(value) || !is_wanted_later(*value))
            };
            let gone = done.into_iter().filter(is_done).map(bytes).fold(0, u64::saturating_add);
            live = live.saturating_sub(gone);
        }
        weights.saturating_add(peak)
    }
}

/// Bytes of weights that processors hold which make tiles together, beyond one copy of each operator's: whoever makes
/// some of the rows or columns needs all weights, in the layout of its own engine. Channels and heads divide the weights.
pub fn repeated_weight_bytes(splits: &[OperatorSplit], weight_bytes: impl Fn(OperatorId) -> u64) -> u64 {
    let tiled = splits.iter().filter(|split| matches!(split.along, Along::Rows | Along::Columns));
    let repeated = tiled.map(|split| {
        let holders = split.shares.iter().filter(|&&share| share > 0).count() as u64;
        let once = split.operators.iter().map(|&id| weight_bytes(id)).fold(0, u64::saturating_add);
        once.saturating_mul(holders.saturating_sub(1))
    });
    repeated.fold(0, u64::saturating_add)
}

impl Schedule {
    /// Bytes that all replicas hold together in the memory that processors share: each has weights and values of its
    /// own, whatever its engines, and each processor that makes a tile has all weights of the tile's operators. Those
    /// that only run on accelerators with memories of their own hold nothing there. What frames hold that wait between
    /// stages is left out, and so is the model itself, which is there once more beside what engines make of it.
    pub fn memory_bytes(&self, graph: &Graph, board: &Board) -> u64 {
        let footprints = Footprints::of(graph);
        let has_own =
            |label: &str| board.accelerator(label).is_some_and(|accelerator| accelerator.memory_bytes.is_some());
        let is_apart =
            |replica: &&Replica| replica.assignments.iter().all(|assignment| has_own(&assignment.processor.cluster));
        let replicas = self.stages.iter().flat_map(|stage| &stage.replicas).filter(|replica| !is_apart(replica));
        let held = replicas.map(|replica| {
            let once = footprints.bytes(&replica.operators().collect::<Vec<_>>());
            once.saturating_add(repeated_weight_bytes(&replica.splits, |id| graph.operator(id).work.weight_bytes))
        });
        held.fold(0, u64::saturating_add)
    }
}

/// Whether everything that schedules hold together fits into the memory that the board's processors share, and into
/// those of its accelerators. Networks that share a board are all there at once, also where they take turns.
///
/// # Errors
/// [`ScheduleError::Memory`] or [`ScheduleError::AcceleratorMemory`] with what is exceeded.
pub fn check_memory_together(schedules: &[(&Schedule, &Graph)], board: &Board) -> Result<(), ScheduleError> {
    if let Some(most_bytes) = board.memory_bytes() {
        let needed = schedules.iter().map(|(schedule, graph)| schedule.memory_bytes(graph, board));
        let needed_bytes = needed.fold(0, u64::saturating_add);
        if needed_bytes > most_bytes {
            return Err(ScheduleError::Memory { needed_bytes, most_bytes });
        }
    }
    for accelerator in board.accelerators() {
        let Some(most_bytes) = accelerator.memory_bytes else { continue };
        let held = schedules.iter().map(|(schedule, graph)| schedule.held_on(&accelerator.label, graph));
        let needed_bytes = held.fold(0, u64::saturating_add);
        if needed_bytes > most_bytes {
            let accelerator = accelerator.label.clone();
            return Err(ScheduleError::AcceleratorMemory { accelerator, needed_bytes, most_bytes });
        }
    }
    Ok(())
}

impl Schedule {
    /// Bytes that operators hold in an accelerator's own memory.
    fn held_on(&self, accelerator: &str, graph: &Graph) -> u64 {
        let replicas = self.stages.iter().flat_map(|stage| &stage.replicas);
        let assignments = replicas
            .flat_map(|replica| &replica.assignments)
            .filter(|assignment| assignment.processor.cluster == accelerator);
        assignments.map(|assignment| held_bytes(graph, &assignment.operators)).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape, Work};

    use super::*;

    /// a of 4 bytes -> b of 40 -> c of 8 -> d of 4, where d reads a again: at most a, b and c are there at once.
    #[test]
    fn values_are_there_from_their_maker_to_their_last_reader() {
        let mut builder = GraphBuilder::new("net");
        let sizes = [("in", 3), ("a", 1), ("b", 10), ("c", 2), ("d", 1)];
        let mut value =
            |name: &str, size: usize| builder.value(name, Some(DataType::F32), Some(Shape::from([size]))).unwrap();
        let [input, a, b, c, d] = sizes.map(|(name, size)| value(name, size));
        builder.input(input);
        for (name, reads, makes) in [("A", vec![input], a), ("B", vec![a], b), ("C", vec![b], c), ("D", vec![c, a], d)]
        {
            let size = sizes.iter().find(|(size_name, _)| size_name.to_uppercase() == name).unwrap().1;
            let work = Work { output_bytes: 4 * size as u64, ..Work::default() };
            let operator = NewOperator::new(name, "x", OperatorKind::Opaque).work(work);
            builder.operator(operator.reads(reads).makes([makes])).unwrap();
        }
        builder.output(d);
        let graph = builder.build().unwrap();
        let ids = graph.order().to_vec();
        let bytes = |operators: &[OperatorId]| Footprints::of(&graph).bytes(operators);
        assert_eq!(bytes(&ids), 4 + 40 + 8);
        assert_eq!(bytes(&ids[..1]), 12 + 4, "the input and what is made of it");
        // a is received and wanted to the end of D; b is received as well, gone after C.
        assert_eq!(bytes(&ids[2..]), 4 + 40 + 8);
        assert_eq!(bytes(&ids[3..]), 4 + 8 + 4);
        assert_eq!(bytes(&ids[1..2]), 4 + 40);
        // a is read again after these, but its maker keeps it for that: here it is gone when c is made.
        assert_eq!(bytes(&ids[1..3]), 40 + 8);

        // In a memory of its own, everything has a buffer.
        assert_eq!(held_bytes(&graph, &ids), 12 + 4 + 40 + 8 + 4);
        assert_eq!(held_bytes(&graph, &ids[1..2]), 4 + 40, "what it receives as well");
        assert_eq!(held_bytes(&graph, &ids[2..]), 40 + 4 + 8 + 4);
    }
}
