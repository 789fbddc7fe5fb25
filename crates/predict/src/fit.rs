use std::collections::BTreeSet;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, Entry, Nanoseconds, Origin, ProcessorIndex};
use millstream_graph::Graph;
use millstream_partition::{Block, Chain};

use crate::board_costs::add_board_costs;
use crate::context::{ASSUMED_HAND_OVER, BlockPrior, InContext, estimate};
use crate::linear::{LinearModel, SegmentWork};
use crate::model::{Fusion, Observation, Predictor, ProcessorModel};
use crate::models::{predict_block, predicted_leaders};
use crate::parts::set_part_costs;
use crate::power::fit_power;
use crate::profile::records;
use crate::samples::{OperatorRecord, OperatorSample, SegmentSample};
use crate::traced::{Shares, gather, leaders, traced_shares};
use crate::transfer::fit_transfers;
use crate::{NetworkProfile, PredictError, Profile};

/// How far a block may be from the sum of what its operators took in a trace, relative to it.
const TRACE_DEVIATION: f64 = 0.15;
/// How far it may be from what a model predicts.
const MODEL_DEVIATION: f64 = 0.5;
/// Standard deviations within which nine in ten values lie.
pub(crate) const NINE_IN_TEN: f64 = 1.645;

/// Costs of a network on all processor classes of a board, from a profile of that board.
///
/// Where the profile has samples of this network (same `digest`), the times are those that its operators have in context:
/// operator samples say how long each takes, and segment samples correct what does not add up. Otherwise they are predicted
/// by the default models ([`ProcessorModel`]), or, without any operator samples, by the [`LinearModel`]. Engines that were left out of a
/// network's measurements ([`LeftOut`](crate::LeftOut)) run none of it.
///
/// # Errors
/// [`PredictError::OtherBoard`] if the profile is of another board, [`PredictError::MissingProcessor`] if it lacks a processor.
pub fn fit(
    profile: &Profile,
    board: &Board,
    digest: &str,
    graph: &Graph,
    chain: &Chain,
) -> Result<CostTable, PredictError> {
    profile.check_board(board)?;
    let blocks = records(graph, chain);
    let measured = profile.network(digest).filter(|network| network.blocks == blocks);
    let rules = Fusion::rules(profile);
    let leaders = measured.map_or(Vec::new(), |network| leaders(network, board));
    let expected = predicted_leaders(&rules, board, &blocks);
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    for processor in table.processors() {
        let class = table.classes()[processor.index()].clone();
        let traced: Vec<&OperatorSample> = measured
            .iter()
            .flat_map(|network| &network.operator_samples)
            .filter(|sample| sample.processor == class)
            .collect();
        if measured.is_some_and(|network| network.left_out.iter().any(|own| own.concerns(&class))) {
            continue;
        }
        if board.accelerator(&class.cluster).is_some() {
            // What was not traced there does not run there.
            fill_traced(&mut table, processor, chain, &traced);
        } else {
            let shares = match measured.filter(|_| !traced.is_empty()) {
                Some(network) => {
                    let model = LinearModel::fit(&segment_work(profile, &class));
                    traced_shares(network, &traced, &leaders, &model)
                }
                None => {
                    let model = match Model::fit(profile, board, &class) {
                        // The others are quicker wherever they were measured beside it.
                        Err(_) if is_left_out(profile, &class) => continue,
                        model => model?,
                    };
                    let fusion = Fusion::new(&rules, class.engine);
                    let mut shares: Vec<Vec<(f64, f64)>> =
                        blocks.iter().map(|block| model.block(&fusion, block)).collect();
                    shares.iter_mut().zip(&expected).for_each(|(shares, leaders)| gather(shares, leaders));
                    Shares { blocks: shares, divided: BTreeSet::new() }
                }
            };
            let samples = measured.iter().flat_map(|network| &network.samples);
            let segments: Vec<&SegmentSample> = samples.filter(|sample| sample.processor == class).collect();
            fill_blocks(&mut table, processor, chain, &shares, &segments, !traced.is_empty());
        }
        let parts = measured.map_or(&[][..], |network| &network.part_samples);
        set_part_costs(&mut table, processor, board, &blocks, chain, parts);
    }
    let transfers = fit_transfers(&profile.transfers)?;
    add_board_costs(&mut table, board, &transfers, &fit_power(board, &profile.power));
    Ok(table)
}

/// Whether the measured networks do not need a class: its engine was left out on its cores.
pub(crate) fn is_left_out(profile: &Profile, class: &ProcessorClass) -> bool {
    profile.networks.iter().any(|network| network.left_out.iter().any(|own| own.concerns(class)))
}

/// Times of blocks on cores, from what their operators should take (`shares`) and from segments that were measured, and what a
/// hand-over costs there.
fn fill_blocks(
    table: &mut CostTable,
    processor: ProcessorIndex,
    chain: &Chain,
    shares: &Shares,
    segments: &[&SegmentSample],
    is_traced: bool,
) {
    let blocks = chain.blocks().iter().zip(&shares.blocks);
    if segments.is_empty() {
        let origin = if is_traced { Origin::Measured } else { Origin::Model };
        for (block, shares) in blocks {
            fill(table, processor, block, shares, BlockTime::sum_of(shares, origin));
        }
        table.set_hand_over(processor, ASSUMED_HAND_OVER);
        return;
    }
    let deviation = |block: usize| match is_traced && !shares.divided.contains(&block) {
        true => TRACE_DEVIATION,
        false => MODEL_DEVIATION,
    };
    let sum = |shares: &[(f64, f64)]| shares.iter().map(|(seconds, _)| seconds).sum::<f64>().max(1e-9);
    let prior = shares.blocks.iter().enumerate();
    let prior: Vec<BlockPrior> = prior
        .map(|(block, shares)| BlockPrior { seconds: sum(shares), relative_deviation: deviation(block) })
        .collect();
    let InContext { block_seconds, block_deviations, hand_over } = estimate(&prior, segments);
    let times = block_seconds.into_iter().zip(block_deviations);
    for ((block, shares), (seconds, deviation)) in blocks.zip(times) {
        let interval = NINE_IN_TEN * deviation / seconds;
        fill(table, processor, block, shares, BlockTime { seconds, interval, origin: Origin::Measured });
    }
    table.set_hand_over(processor, hand_over);
}

/// Times of an accelerator's operators as they were traced: those that ran as one have theirs at the first of them.
fn fill_traced(table: &mut CostTable, processor: ProcessorIndex, chain: &Chain, traced: &[&OperatorSample]) {
    let order: Vec<_> = chain.blocks().iter().flat_map(|block| &block.operators).collect();
    for sample in traced {
        let mut places = sample.operators.clone();
        places.sort_unstable();
        for (index, place) in places.into_iter().enumerate() {
            let seconds = if index == 0 { sample.time.median_seconds } else { 0.0 };
            let deviation = NINE_IN_TEN * sample.time.standard_error_seconds();
            let bound = |seconds: f64| Nanoseconds::from_seconds(seconds.max(0.0));
            let entry = Entry {
                time: bound(seconds),
                low: bound(seconds - deviation),
                high: bound(if index == 0 { seconds + deviation } else { 0.0 }),
                origin: Origin::Measured,
            };
            if let Some(id) = order.get(place) {
                table.set_entry(processor, id.index(), entry);
            }
        }
    }
}

/// What predicts the operators of a network that was not measured.
enum Model {
    Default(Box<Predictor>),
    Linear(LinearModel),
}

impl Model {
    fn fit(profile: &Profile, board: &Board, class: &ProcessorClass) -> Result<Self, PredictError> {
        let observations = Observation::all(profile, class);
        if let Ok(model) = ProcessorModel::fit(class, board, &observations) {
            return Ok(Self::Default(Box::new(model.predictor())));
        }
        let segments = segment_work(profile, class);
        if segments.is_empty() {
            return Err(PredictError::MissingProcessor { class: class.clone() });
        }
        Ok(Self::Linear(LinearModel::fit(&segments)))
    }

    /// Time and interval of each of the block's operators.
    fn block(&self, fusion: &Fusion, block: &[OperatorRecord]) -> Vec<(f64, f64)> {
        match self {
            Self::Default(predictor) => predict_block(predictor, fusion, block),
            Self::Linear(model) => {
                block.iter().map(|operator| (model.seconds(operator), MODEL_DEVIATION * NINE_IN_TEN)).collect()
            }
        }
    }
}

fn segment_work<'a>(profile: &'a Profile, class: &ProcessorClass) -> Vec<SegmentWork<'a>> {
    let of_network = |network: &'a NetworkProfile| {
        let own = network.samples.iter().filter(|sample| sample.processor == *class);
        own.map(|sample| SegmentWork {
            operators: network.blocks[sample.start..sample.end].iter().flatten().collect(),
            seconds: sample.time.median_seconds,
        })
    };
    profile.networks.iter().flat_map(of_network).collect()
}

/// What is known of a block's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockTime {
    pub(crate) seconds: f64,
    /// Nine in ten true times are within this, relative to the time.
    pub(crate) interval: f64,
    pub(crate) origin: Origin,
}

impl BlockTime {
    /// The sum of what the block's operators take; intervals add up as if errors were of one kind.
    pub(crate) fn sum_of(shares: &[(f64, f64)], origin: Origin) -> Self {
        let seconds = shares.iter().map(|(seconds, _)| seconds).sum::<f64>().max(1e-9);
        let interval = shares.iter().map(|(seconds, interval)| seconds * interval).sum::<f64>() / seconds;
        Self { seconds, interval, origin }
    }
}

/// Spreads a block's time over its operators in the proportions of `shares`, so that the sum is exact in nanoseconds.
pub(crate) fn fill(
    table: &mut CostTable,
    processor: ProcessorIndex,
    block: &Block,
    shares: &[(f64, f64)],
    time: BlockTime,
) {
    let expected = shares.iter().map(|(seconds, _)| seconds).sum::<f64>().max(1e-12);
    let total = Nanoseconds::from_seconds(time.seconds).0.max(1);
    let mut given = 0;
    let mut set = |operator: usize, nanoseconds: u64| {
        let bound = |factor: f64| Nanoseconds((nanoseconds as f64 * factor.max(0.0)).round() as u64);
        let entry = Entry {
            time: Nanoseconds(nanoseconds),
            low: bound(1.0 - time.interval),
            high: bound(1.0 + time.interval),
            origin: time.origin,
        };
        table.set_entry(processor, operator, entry);
    };
    for (operator, (share, _)) in block.operators.iter().zip(shares).skip(1) {
        let nanoseconds = Nanoseconds::from_seconds(time.seconds * share / expected).0.min(total - given);
        given += nanoseconds;
        set(operator.index(), nanoseconds);
    }
    if let Some(first) = block.operators.first() {
        set(first.index(), total - given);
    }
}
