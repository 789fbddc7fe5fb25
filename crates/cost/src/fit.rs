use millstream_board::Board;
use millstream_graph::Graph;
use millstream_partition::Chain;

use crate::context::{InContext, estimate};
use crate::linear::Observation;
use crate::profile::{OperatorRecord, SegmentSample, records};
use crate::{CostError, CostTable, HandOver, LinearModel, Nanoseconds, Origin, ProcessorIndex, Profile};

/// A hand-over where no sample of the network shows what one costs.
const ASSUMED_HAND_OVER: HandOver = HandOver { seconds: 2e-5, seconds_per_byte: 1e-10 };

/// Costs of a network on all processor classes of a board, from a profile of that board.
///
/// Where the profile has samples of this network (same `digest`), the times are those that its operators have in context;
/// otherwise they are predicted by the [`LinearModel`] fitted to what the profile has.
///
/// # Errors
/// [`CostError::OtherBoard`] if the profile is of another board, [`CostError::MissingProcessor`] if it lacks a processor.
pub fn fit(
    profile: &Profile,
    board: &Board,
    digest: &str,
    graph: &Graph,
    chain: &Chain,
) -> Result<CostTable, CostError> {
    profile.check_board(board)?;
    let blocks = records(graph, chain);
    let measured = profile.network(digest).filter(|network| network.blocks == blocks);
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    for processor in table.processors() {
        let class = table.classes()[processor.index()].clone();
        let observations = observations(profile, |sample| sample.processor == class);
        if observations.is_empty() {
            return Err(CostError::MissingProcessor { class });
        }
        let model = LinearModel::fit(&observations);
        let prior: Vec<f64> = blocks.iter().map(|block| block_seconds(&model, block)).collect();
        let samples = measured.map(|network| network.samples.iter().filter(|sample| sample.processor == class));
        let samples: Vec<&SegmentSample> = samples.into_iter().flatten().collect();
        let (origin, times) = if samples.is_empty() {
            (Origin::Model, InContext { block_seconds: prior, hand_over: ASSUMED_HAND_OVER })
        } else {
            (Origin::Measured, estimate(&prior, &samples))
        };
        table.set_origin(processor, origin);
        table.set_hand_over(processor, times.hand_over);
        for ((block, records), &seconds) in chain.blocks().iter().zip(&blocks).zip(&times.block_seconds) {
            let operators: Vec<usize> = block.operators.iter().map(|operator| operator.index()).collect();
            distribute(&mut table, processor, &operators, records, &model, seconds);
        }
    }
    Ok(table)
}

fn observations(profile: &Profile, wanted: impl Fn(&SegmentSample) -> bool) -> Vec<Observation<'_>> {
    let of_network = |network: &'_ crate::NetworkProfile| -> Vec<(usize, usize, f64)> {
        let samples = network.samples.iter().filter(|sample| wanted(sample));
        samples.map(|sample| (sample.start, sample.end, sample.time.median_seconds)).collect()
    };
    profile
        .networks
        .iter()
        .flat_map(|network| {
            of_network(network).into_iter().map(|(start, end, seconds)| Observation {
                operators: network.blocks[start..end].iter().flatten().collect(),
                seconds,
            })
        })
        .collect()
}

fn block_seconds(model: &LinearModel, block: &[OperatorRecord]) -> f64 {
    block.iter().map(|operator| model.seconds(operator)).sum::<f64>().max(1e-9)
}

/// Spreads a block's time over its operators as the model would, so that the sum is exact in nanoseconds.
fn distribute(
    table: &mut CostTable,
    processor: ProcessorIndex,
    operators: &[usize],
    records: &[OperatorRecord],
    model: &LinearModel,
    seconds: f64,
) {
    let expected = block_seconds(model, records);
    let total = Nanoseconds::from_seconds(seconds).0.max(1);
    let mut given = 0;
    for (&operator, record) in operators.iter().zip(records).skip(1) {
        let share = Nanoseconds::from_seconds(seconds * model.seconds(record) / expected).0.min(total - given);
        given += share;
        table.set_time(processor, operator, Nanoseconds(share));
    }
    if let Some(&first) = operators.first() {
        table.set_time(processor, first, Nanoseconds(total - given));
    }
}
