//! How many bytes a stage receives from the stages before it.

use millstream_graph::Graph;

use crate::block::{Block, BlockRange};

/// Bytes of the values that each range of blocks reads and that earlier blocks made. Inputs of the network are not
/// counted: they come from the caller whatever the stages are. A value of unknown size counts as nothing.
#[derive(Debug, Clone)]
pub struct InputBytes {
    blocks: usize,
    /// By the first block of a range and its last one, row by row.
    bytes: Vec<u64>,
}

impl InputBytes {
    pub(crate) fn new(graph: &Graph, blocks: &[Block]) -> Self {
        let mut table = Self { blocks: blocks.len(), bytes: vec![0; blocks.len() * blocks.len()] };
        table.add_last_blocks(graph, blocks);
        // Up to here each entry has what the last block of its range is the first one to read.
        for start in 0..blocks.len() {
            for end in start + 1..blocks.len() {
                table.bytes[start * blocks.len() + end] += table.bytes[start * blocks.len() + end - 1];
            }
        }
        table
    }

    /// Adds to each range what its last block reads of earlier ranges and no earlier block of the range does.
    fn add_last_blocks(&mut self, graph: &Graph, blocks: &[Block]) {
        let mut block_of = vec![0; graph.operators().len()];
        for (index, block) in blocks.iter().enumerate() {
            for operator in &block.operators {
                block_of[operator.index()] = index;
            }
        }

        // Of each value, the last block so far that reads it.
        let mut last_read: Vec<Option<usize>> = vec![None; graph.values().len()];
        for (index, block) in blocks.iter().enumerate() {
            for &operator in &block.operators {
                for &value in &graph.operator(operator).inputs {
                    let Some(producer) = graph.producer(value) else { continue };
                    let made = block_of[producer.index()];
                    if made == index || last_read[value.index()] == Some(index) {
                        continue;
                    }
                    // Stages that start after the producer and after an earlier reader meet the value here first.
                    let earliest_start = last_read[value.index()].map_or(made, |previous| previous.max(made)) + 1;
                    last_read[value.index()] = Some(index);
                    let bytes = graph.value(value).bytes().unwrap_or(0);
                    for start in earliest_start..=index {
                        self.bytes[start * self.blocks + index] += bytes;
                    }
                }
            }
        }
    }

    /// Bytes that the stage of these blocks receives; 0 for an empty range.
    pub fn of(&self, range: impl Into<BlockRange>) -> u64 {
        let range = range.into().indices();
        if range.is_empty() { 0 } else { self.bytes[range.start * self.blocks + range.end - 1] }
    }
}
