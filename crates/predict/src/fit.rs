//! A cost table of a network from a profile.

use std::collections::BTreeSet;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{ClassId, CostEntry, CostTable, Nanoseconds, Origin};
use millstream_graph::Graph;
use millstream_partition::{BlockId, Chain};

use crate::board_costs::add_board_costs;
use crate::context::{ASSUMED_HAND_OVER, BlockPrior, InContext, estimate};
use crate::error::PredictError;
use crate::fill::{BlockTime, fill};
use crate::fused_groups::FusedGroups;
use crate::linear::{LinearModel, SegmentWork};
use crate::model::{Fusion, FusionRule, Predictor, ProcessorModel, TimedOperators};
use crate::models::{predict_block, predicted_fusions};
use crate::operator_time::{NINE_IN_TEN, OperatorTime, total_seconds};
use crate::parts::set_part_costs;
use crate::power::fit_power;
use crate::profile::{NetworkProfile, Profile, records};
use crate::samples::{OperatorRecord, OperatorSample, SegmentSample};
use crate::traced::{ExpectedTimes, fused_in_traces, traced_times};
use crate::transfer::fit_transfers;

/// How far a block may be from the sum of what its operators took in a trace, relative to it.
const TRACE_DEVIATION: f64 = 0.15;
/// How far it may be from what a model predicts.
const MODEL_DEVIATION: f64 = 0.5;

/// Costs of a network on all processor classes of a board, from a profile of that board.
///
/// Where the profile has samples of this network (same `digest`), the times are those that its operators have in
/// context: operator samples say how long each takes, and segment samples correct what does not add up. Otherwise they
/// are predicted by the default models ([`ProcessorModel`]), or, without any operator samples, by the [`LinearModel`].
/// Accelerators run what was measured on them of this network and nothing else; [`CostModels`](crate::CostModels) predict
/// for them as well. A block of which an engine does not run some operator ([`UnsupportedOperators`](crate::UnsupportedOperators)) is for
/// other processors.
/// Engines that were left out of a network's measurements ([`LeftOutEngine`](crate::LeftOutEngine)) run none of it.
///
/// # Errors
/// [`PredictError::OtherBoard`] if the profile is of another board, [`PredictError::MissingProcessor`] if it lacks a
/// processor.
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
    let fitting = Fitting {
        profile,
        board,
        chain,
        blocks: &blocks,
        measured,
        fused: measured.map_or_else(FusedGroups::default, |network| fused_in_traces(network, board)),
        predicted_fused: predicted_fusions(&rules, board, &blocks),
        rules: &rules,
    };

    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    for class_id in table.class_ids() {
        let class = table.classes()[class_id.index()].clone();
        if measured.is_none_or(|network| !network.left_out.iter().any(|skipped| skipped.concerns(&class))) {
            fitting.fill_processor(&mut table, class_id, &class)?;
        }
    }

    let transfers = fit_transfers(&profile.transfers)?;
    add_board_costs(&mut table, board, &transfers, &fit_power(board, &profile.power));
    Ok(table)
}

/// All that the costs of one processor class are fitted from.
struct Fitting<'a> {
    profile: &'a Profile,
    board: &'a Board,
    chain: &'a Chain,
    blocks: &'a [Vec<OperatorRecord>],
    /// What was measured of the network itself.
    measured: Option<&'a NetworkProfile>,
    /// Which operators run as one by traces of the network.
    fused: FusedGroups,
    /// By what other networks show, for each block.
    predicted_fused: Vec<FusedGroups>,
    rules: &'a [FusionRule],
}

impl Fitting<'_> {
    /// Fills a processor's row, unless the class was left out wherever it was measured.
    fn fill_processor(
        &self,
        table: &mut CostTable,
        class_id: ClassId,
        class: &ProcessorClass,
    ) -> Result<(), PredictError> {
        let of_class = |sample: &&OperatorSample| sample.processor == *class;
        let samples = self.measured.iter().flat_map(|network| &network.operator_samples);
        let traced: Vec<&OperatorSample> = samples.filter(of_class).collect();

        if self.board.accelerator(&class.cluster).is_some() {
            // What was not traced there does not run there.
            fill_traced(table, class_id, self.chain, &traced);
        } else {
            let expected = match self.measured.filter(|_| !traced.is_empty()) {
                Some(network) => self.traced(network, class, &traced),
                None => match self.predicted(class)? {
                    Some(expected) => expected,
                    None => return Ok(()),
                },
            };
            let samples = self.measured.iter().flat_map(|network| &network.samples);
            let segments: Vec<&SegmentSample> = samples.filter(|sample| sample.processor == *class).collect();
            fill_blocks(table, class_id, self.chain, &expected, &segments, !traced.is_empty());
        }

        let parts = self.measured.map_or(&[][..], |network| &network.part_samples);
        set_part_costs(table, class_id, self.board, self.blocks, self.chain, parts);
        Ok(())
    }

    /// What operators take by traces of the network.
    fn traced(&self, network: &NetworkProfile, class: &ProcessorClass, traced: &[&OperatorSample]) -> ExpectedTimes {
        let model = LinearModel::fit(&segment_work(self.profile, class));
        traced_times(network, class, traced, &self.fused, &model)
    }

    /// What they take by other networks' samples; `None` on a class that was left out there, because others are quicker
    /// wherever they were measured beside it.
    fn predicted(&self, class: &ProcessorClass) -> Result<Option<ExpectedTimes>, PredictError> {
        let model = match Model::fit(self.profile, self.board, class) {
            Err(_) if self.profile.leaves_out(class) => return Ok(None),
            model => model?,
        };
        let fusion = Fusion::new(self.rules, class.engine);
        let mut blocks: Vec<Vec<OperatorTime>> = self.blocks.iter().map(|block| model.block(&fusion, block)).collect();
        for (times, fused) in blocks.iter_mut().zip(&self.predicted_fused) {
            fused.sum_into_first(times);
        }
        let runs = self.measured.map_or_else(|| vec![true; blocks.len()], |network| network.blocks_run_on(class));
        Ok(Some(ExpectedTimes { blocks, estimated: BTreeSet::new(), runs }))
    }
}

/// Times of the blocks that cores run, from what their operators should take (`expected`) and from segments that were
/// measured, and what a hand-over costs there.
fn fill_blocks(
    table: &mut CostTable,
    class: ClassId,
    chain: &Chain,
    expected: &ExpectedTimes,
    segments: &[&SegmentSample],
    is_traced: bool,
) {
    let blocks = chain.blocks().iter().zip(&expected.blocks).zip(&expected.runs);
    if segments.is_empty() {
        let origin = if is_traced { Origin::Measured } else { Origin::Model };
        for ((block, times), _) in blocks.filter(|(_, runs)| **runs) {
            fill(table, class, block, times, BlockTime::sum_of(times, origin));
        }
        table.set_hand_over(class, ASSUMED_HAND_OVER);
        return;
    }

    let prior = |(block, times): (usize, &Vec<OperatorTime>)| {
        let is_certain = is_traced && !expected.estimated.contains(&BlockId::new(block));
        let relative_deviation = if is_certain { TRACE_DEVIATION } else { MODEL_DEVIATION };
        BlockPrior { seconds: total_seconds(times).max(1e-9), relative_deviation }
    };
    let prior: Vec<BlockPrior> = expected.blocks.iter().enumerate().map(prior).collect();

    let InContext { block_seconds, block_deviations, hand_over } = estimate(&prior, segments);
    let estimates = block_seconds.into_iter().zip(block_deviations);
    for (((block, times), _), (seconds, deviation)) in blocks.zip(estimates).filter(|((_, runs), _)| **runs) {
        let interval = NINE_IN_TEN * deviation / seconds;
        fill(table, class, block, times, BlockTime { seconds, interval, origin: Origin::Measured });
    }
    table.set_hand_over(class, hand_over);
}

/// Times of an accelerator's operators as they were traced: those that ran as one have theirs at the first of them.
fn fill_traced(table: &mut CostTable, class: ClassId, chain: &Chain, traced: &[&OperatorSample]) {
    let order: Vec<_> = chain.blocks().iter().flat_map(|block| &block.operators).collect();
    for sample in traced {
        let mut operators = sample.operators.clone();
        operators.sort_unstable();
        for (position, operator) in operators.into_iter().enumerate() {
            let is_first = position == 0;
            let seconds = if is_first { sample.time.median_seconds } else { 0.0 };
            let deviation = NINE_IN_TEN * sample.time.standard_error_seconds();
            let bound = |seconds: f64| Nanoseconds::from_seconds(seconds.max(0.0));
            let entry = CostEntry {
                time: bound(seconds),
                low: bound(seconds - deviation),
                high: bound(if is_first { seconds + deviation } else { 0.0 }),
                origin: Origin::Measured,
            };
            if let Some(&&id) = order.get(operator) {
                table.set_entry(class, id, entry);
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
        let observations = TimedOperators::all(profile, class);
        if let Ok(model) = ProcessorModel::fit(class, board, &observations) {
            return Ok(Self::Default(Box::new(model.predictor())));
        }
        let segments = segment_work(profile, class);
        if segments.is_empty() {
            return Err(PredictError::MissingProcessor { class: class.clone() });
        }
        Ok(Self::Linear(LinearModel::fit(&segments)))
    }

    /// What each of the block's operators takes.
    fn block(&self, fusion: &Fusion, block: &[OperatorRecord]) -> Vec<OperatorTime> {
        match self {
            Self::Default(predictor) => predict_block(predictor, fusion, block),
            Self::Linear(model) => {
                let interval = MODEL_DEVIATION * NINE_IN_TEN;
                block.iter().map(|operator| OperatorTime { seconds: model.seconds(operator), interval }).collect()
            }
        }
    }
}

fn segment_work<'a>(profile: &'a Profile, class: &ProcessorClass) -> Vec<SegmentWork<'a>> {
    let of_network = |network: &'a NetworkProfile| {
        let class_samples = network.samples.iter().filter(|sample| sample.processor == *class);
        class_samples.map(|sample| SegmentWork {
            operators: network.blocks[sample.start..sample.end].iter().flatten().collect(),
            seconds: sample.time.median_seconds,
        })
    };
    profile.networks.iter().flat_map(of_network).collect()
}
