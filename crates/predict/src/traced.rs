//! What operators took in traces, where engines run several of them as one.

use std::collections::BTreeSet;

use millstream_board::Board;
use millstream_graph::FamilyWork;

use crate::linear::LinearModel;
use crate::operator_time::{NINE_IN_TEN, OperatorTime};
use crate::profile::NetworkProfile;
use crate::samples::{OperatorRecord, OperatorSample};

/// What the operators of each block should take.
pub(crate) struct ExpectedTimes {
    pub(crate) blocks: Vec<Vec<OperatorTime>>,
    /// The blocks whose times are parts of what one node took, divided by an estimate.
    pub(crate) estimated: BTreeSet<usize>,
}

/// For each operator, by its index in the chain, the first of those in its block that any engine runs as one with it.
/// Engines fuse differently: where one has the time of two operators at the first and another has it at the second,
/// neither operator would seem to take any time.
pub(crate) fn first_of_fused(network: &NetworkProfile, board: &Board) -> Vec<usize> {
    let blocks = network.blocks.iter().enumerate();
    let block_of: Vec<usize> = blocks.flat_map(|(block, operators)| operators.iter().map(move |_| block)).collect();
    let mut first_of: Vec<usize> = (0..block_of.len()).collect();
    let is_used = |sample: &&OperatorSample| {
        let is_left_out = network.left_out.iter().any(|omission| omission.concerns(&sample.processor));
        board.cluster(&sample.processor.cluster).is_ok() && !is_left_out
    };
    for sample in network.operator_samples.iter().filter(is_used) {
        for (&one, &other) in sample.operators.iter().zip(sample.operators.iter().skip(1)) {
            if block_of[one] == block_of[other] {
                merge_groups(&mut first_of, one, other);
            }
        }
    }
    first_of
}

/// Has two operators, and all that run as one with either, count as one.
pub(crate) fn merge_groups(first_of: &mut [usize], one: usize, other: usize) {
    let (one, other) = (first_of[one], first_of[other]);
    let (first, second) = (one.min(other), one.max(other));
    first_of.iter_mut().filter(|block| **block == second).for_each(|block| *block = first);
}

/// Moves times to the first operators of those that count as one, and what is known of their intervals with them.
pub(crate) fn sum_into_first(times: &mut [OperatorTime], first_of: &[usize]) {
    for (index, &first) in first_of.iter().enumerate().filter(|(index, first)| index != *first) {
        let (added, before) = (times[index], times[first]);
        times[index].seconds = 0.0;

        let seconds = before.seconds + added.seconds;
        let weighted = before.seconds * before.interval + added.seconds * added.interval;
        let interval = if seconds > 0.0 { weighted / seconds } else { before.interval };
        times[first] = OperatorTime { seconds, interval };
    }
}

/// What each operator of each block took in a trace: operators that ran as one with any engine have their time at the
/// first of them.
///
/// Where one node did the multiplications of several blocks, as when an engine does not tell more of a network than its
/// whole time, each has a part of it as large as `model` estimates.
pub(crate) fn traced_times(
    network: &NetworkProfile,
    traced: &[&OperatorSample],
    first_of: &[usize],
    model: &LinearModel,
) -> ExpectedTimes {
    let operators: Vec<(usize, &OperatorRecord)> = with_blocks(network).collect();
    let mut times = vec![OperatorTime::NONE; operators.len()];
    let mut estimated = BTreeSet::new();
    for sample in traced {
        let seconds = sample.time.median_seconds;
        let interval = NINE_IN_TEN * sample.time.standard_error_seconds() / seconds;
        let worked = sample.operators.iter().filter(|&&index| multiplies(operators[index].1));
        if worked.map(|&index| operators[index].0).collect::<BTreeSet<usize>>().len() < 2 {
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

    sum_into_first(&mut times, first_of);
    let mut times = times.into_iter();
    let blocks = network.blocks.iter().map(|block| times.by_ref().take(block.len()).collect()).collect();
    ExpectedTimes { blocks, estimated }
}

/// Whether an operator is a convolution or a multiplication of matrices; others cost little beside these, and run in
/// their nodes.
fn multiplies(operator: &OperatorRecord) -> bool {
    operator.family().work() != FamilyWork::Values
}

/// The operators in their order, each with its block.
fn with_blocks(network: &NetworkProfile) -> impl Iterator<Item = (usize, &OperatorRecord)> {
    network
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(block, operators)| operators.iter().map(move |operator| (block, operator)))
}
