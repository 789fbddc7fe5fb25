//! What operators took in traces, where engines run several of them as one.

use std::collections::BTreeSet;

use millstream_board::{Board, ProcessorClass};
use millstream_graph::FamilyWork;
use millstream_partition::BlockId;

use crate::fused_groups::FusedGroups;
use crate::linear::LinearModel;
use crate::operator_time::{NINE_IN_TEN, OperatorTime};
use crate::profile::NetworkProfile;
use crate::samples::{OperatorRecord, OperatorSample};

/// What the operators of each block should take.
pub(crate) struct ExpectedTimes {
    pub(crate) blocks: Vec<Vec<OperatorTime>>,
    /// The blocks whose times are parts of what one node took, divided by an estimate.
    pub(crate) estimated: BTreeSet<BlockId>,
    /// Whether the processor runs each block.
    pub(crate) runs: Vec<bool>,
}

/// Which operators of a network any engine runs as one, of those that are in the same block. Engines fuse differently:
/// where one has the time of two operators at the first and another has it at the second, neither operator would seem
/// to take any time.
pub(crate) fn fused_in_traces(network: &NetworkProfile, board: &Board) -> FusedGroups {
    let block_of: Vec<BlockId> = with_blocks(network).map(|(block, _)| block).collect();
    let mut fused = FusedGroups::apart(block_of.len());
    let is_used = |sample: &&OperatorSample| {
        let is_left_out = network.left_out.iter().any(|omission| omission.concerns(&sample.processor));
        board.cluster(&sample.processor.cluster).is_ok() && !is_left_out
    };
    for sample in network.operator_samples.iter().filter(is_used) {
        for (&one, &other) in sample.operators.iter().zip(sample.operators.iter().skip(1)) {
            if block_of[one] == block_of[other] {
                fused.merge(one, other);
            }
        }
    }
    fused
}

/// What each operator of each block took in a trace: operators that ran as one with any engine have their time at the
/// first of them.
///
/// Where one node did the multiplications of several blocks, as when an engine does not tell more of a network than its
/// whole time, each has a part of it as large as `model` estimates.
pub(crate) fn traced_times(
    network: &NetworkProfile,
    class: &ProcessorClass,
    traced: &[&OperatorSample],
    fused: &FusedGroups,
    model: &LinearModel,
) -> ExpectedTimes {
    let operators: Vec<(BlockId, &OperatorRecord)> = with_blocks(network).collect();
    let mut times = vec![OperatorTime::NONE; operators.len()];
    let mut estimated = BTreeSet::new();
    for sample in traced {
        let seconds = sample.time.median_seconds;
        let interval = NINE_IN_TEN * sample.time.standard_error_seconds() / seconds;
        if !spans_blocks(sample, &operators) {
            let Some(&first) = sample.operators.iter().min() else { continue };
            times[first] = OperatorTime { seconds, interval };
            continue;
        }

        let estimates = sample.operators.iter().map(|&index| (index, model.seconds(operators[index].1)));
        let sum: f64 = estimates.clone().map(|(_, estimate)| estimate).sum();
        for (index, estimate) in estimates {
            let part = if sum > 0.0 { estimate / sum } else { 1.0 / sample.operators.len() as f64 };
            times[index] = OperatorTime { seconds: seconds * part, interval };
            estimated.insert(operators[index].0);
        }
    }

    fused.sum_into_first(&mut times);
    let mut times = times.into_iter();
    let blocks = network.blocks.iter().map(|block| times.by_ref().take(block.len()).collect()).collect();
    ExpectedTimes { blocks, estimated, runs: network.blocks_run_on(class) }
}

/// Whether a sample is of the multiplications of several blocks.
fn spans_blocks(sample: &OperatorSample, operators: &[(BlockId, &OperatorRecord)]) -> bool {
    let all = sample.operators.iter().filter_map(|&index| operators.get(index));
    let worked: BTreeSet<BlockId> = all.filter(|(_, operator)| multiplies(operator)).map(|(block, _)| *block).collect();
    worked.len() > 1
}

impl NetworkProfile {
    /// Processors whose engines told only what several blocks take together: what single operators take there is a part
    /// of that, by an estimate.
    pub fn timed_together(&self) -> BTreeSet<ProcessorClass> {
        let operators: Vec<(BlockId, &OperatorRecord)> = with_blocks(self).collect();
        let together = self.operator_samples.iter().filter(|sample| spans_blocks(sample, &operators));
        together.map(|sample| sample.processor.clone()).collect()
    }
}

/// Whether an operator is a convolution or a multiplication of matrices; others cost little beside these, and run in
/// their nodes.
fn multiplies(operator: &OperatorRecord) -> bool {
    operator.family().work() != FamilyWork::Values
}

/// The operators in their order, each with its block.
fn with_blocks(network: &NetworkProfile) -> impl Iterator<Item = (BlockId, &OperatorRecord)> {
    let blocks = network.blocks.iter().enumerate();
    blocks.flat_map(|(block, operators)| operators.iter().map(move |operator| (BlockId::new(block), operator)))
}
