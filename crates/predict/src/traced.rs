//! What operators took in traces, where engines run several of them as one.

use std::collections::BTreeSet;

use millstream_board::Board;
use millstream_graph::Family;

use crate::NetworkProfile;
use crate::fit::NINE_IN_TEN;
use crate::linear::LinearModel;
use crate::samples::{OperatorRecord, OperatorSample};

/// What the operators of each block take, each with how far it may be off, relative to it.
pub(crate) struct Shares {
    pub(crate) blocks: Vec<Vec<(f64, f64)>>,
    /// The blocks whose times are parts of what one node took, divided by an estimate.
    pub(crate) divided: BTreeSet<usize>,
}

/// For each operator, by its place, the first of those in its block that any engine runs as one with it. Engines fuse differently: where one has the
/// time of two operators at the first and another has it at the second, neither operator would seem to take any time.
pub(crate) fn leaders(network: &NetworkProfile, board: &Board) -> Vec<usize> {
    let blocks = network.blocks.iter().enumerate();
    let block_of: Vec<usize> = blocks.flat_map(|(block, own)| own.iter().map(move |_| block)).collect();
    let mut leaders: Vec<usize> = (0..block_of.len()).collect();
    let is_used = |sample: &&OperatorSample| {
        let is_left_out = network.left_out.iter().any(|own| own.concerns(&sample.processor));
        board.cluster(&sample.processor.cluster).is_ok() && !is_left_out
    };
    for sample in network.operator_samples.iter().filter(is_used) {
        for (&one, &other) in sample.operators.iter().zip(sample.operators.iter().skip(1)) {
            if block_of[one] == block_of[other] {
                unite(&mut leaders, one, other);
            }
        }
    }
    leaders
}

/// Has two operators, and all that run as one with either, count as one.
pub(crate) fn unite(leaders: &mut [usize], one: usize, other: usize) {
    let (one, other) = (leaders[one], leaders[other]);
    let (first, second) = (one.min(other), one.max(other));
    leaders.iter_mut().filter(|leader| **leader == second).for_each(|leader| *leader = first);
}

/// Moves times to the first operators of those that count as one, and what is known of their intervals with them.
pub(crate) fn gather(times: &mut [(f64, f64)], leaders: &[usize]) {
    for (place, &leader) in leaders.iter().enumerate().filter(|(place, leader)| place != *leader) {
        let (time, interval) = times[place];
        let (all, before) = times[leader];
        let sum = all + time;
        times[place].0 = 0.0;
        times[leader] = (sum, if sum > 0.0 { (all * before + time * interval) / sum } else { before });
    }
}

/// What each operator of each block took in a trace: operators that ran as one with any engine have their time at the first of them.
///
/// Where one node did the multiplications of several blocks, as when an engine does not tell more of a network than its whole time, each has a part of it
/// as large as `model` estimates.
pub(crate) fn traced_shares(
    network: &NetworkProfile,
    traced: &[&OperatorSample],
    leaders: &[usize],
    model: &LinearModel,
) -> Shares {
    let operators: Vec<(usize, &OperatorRecord)> = with_blocks(network).collect();
    let mut times = vec![(0.0, 0.0); operators.len()];
    let mut divided = BTreeSet::new();
    for sample in traced {
        let seconds = sample.time.median_seconds;
        let interval = NINE_IN_TEN * sample.time.standard_error_seconds() / seconds;
        let worked = sample.operators.iter().filter(|&&place| multiplies(operators[place].1));
        if worked.map(|&place| operators[place].0).collect::<BTreeSet<usize>>().len() < 2 {
            let Some(&first) = sample.operators.iter().min() else { continue };
            times[first] = (seconds, interval);
            continue;
        }
        let estimates = sample.operators.iter().map(|&place| (place, model.seconds(operators[place].1)));
        let sum: f64 = estimates.clone().map(|(_, estimate)| estimate).sum();
        for (place, estimate) in estimates {
            let part = if sum > 0.0 { estimate / sum } else { 1.0 / sample.operators.len() as f64 };
            times[place] = (seconds * part, interval);
            divided.insert(operators[place].0);
        }
    }
    gather(&mut times, leaders);
    let mut times = times.into_iter();
    let blocks = network.blocks.iter().map(|block| times.by_ref().take(block.len()).collect()).collect();
    Shares { blocks, divided }
}

/// Whether an operator is a convolution or a multiplication of matrices; others cost little beside these, and run in their nodes.
fn multiplies(operator: &OperatorRecord) -> bool {
    matches!(
        operator.family(),
        Family::Convolution
            | Family::GroupedConvolution
            | Family::DepthwiseConvolution
            | Family::QuantizedConvolution
            | Family::IntegerConvolution
            | Family::FullyConnected
            | Family::MatrixMultiplication
            | Family::QuantizedMatrixMultiplication
            | Family::IntegerMatrixMultiplication
    )
}

/// The operators in their order, each with its block.
fn with_blocks(network: &NetworkProfile) -> impl Iterator<Item = (usize, &OperatorRecord)> {
    network.blocks.iter().enumerate().flat_map(|(block, own)| own.iter().map(move |operator| (block, operator)))
}
