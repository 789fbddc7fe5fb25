use millstream_graph::Graph;

use crate::{Block, BlockRange};

/// Bytes of the values that each range of blocks reads and that earlier blocks made. Inputs of the network are not
/// counted: they come from the caller whatever the stages are. A value of unknown size counts as nothing.
#[derive(Debug, Clone)]
pub struct InputBytes {
    blocks: usize,
    /// Row `start`, column `end - 1`.
    bytes: Vec<u64>,
}

impl InputBytes {
    pub(crate) fn new(graph: &Graph, blocks: &[Block]) -> Self {
        let count = blocks.len();
        let mut place = vec![0; graph.operators().len()];
        for (index, block) in blocks.iter().enumerate() {
            for operator in &block.operators {
                place[operator.index()] = index;
            }
        }

        // Per block, the values from earlier blocks that it reads: (producer's block, previous reading block, bytes).
        let mut table = Self { blocks: count, bytes: vec![0; count * count] };
        let mut last_read: Vec<Option<usize>> = vec![None; graph.values().len()];
        for (index, block) in blocks.iter().enumerate() {
            for &operator in &block.operators {
                for &value in &graph.operator(operator).inputs {
                    let Some(producer) = graph.producer(value) else { continue };
                    let made = place[producer.index()];
                    if made == index || last_read[value.index()] == Some(index) {
                        continue;
                    }
                    // Stages that start after the producer and after an earlier reader meet the value here first.
                    let earliest_start = last_read[value.index()].map_or(made, |previous| previous.max(made)) + 1;
                    last_read[value.index()] = Some(index);
                    let bytes = graph.value(value).bytes().unwrap_or(0);
                    for start in earliest_start..=index {
                        table.bytes[start * count + index] += bytes;
                    }
                }
            }
        }
        for start in 0..count {
            for end in start + 1..count {
                table.bytes[start * count + end] += table.bytes[start * count + end - 1];
            }
        }
        table
    }

    /// Bytes that the stage of these blocks receives; 0 for an empty range.
    pub fn of(&self, range: impl Into<BlockRange>) -> u64 {
        let range = range.into().indices();
        if range.is_empty() { 0 } else { self.bytes[range.start * self.blocks + range.end - 1] }
    }
}
