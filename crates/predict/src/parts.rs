//! What parts of operators take, from measured ones.

use std::collections::BTreeMap;

use millstream_board::Board;
use millstream_cost::{ClassId, CostTable, Nanoseconds, PartCost};
use millstream_graph::{Along, Family};
use millstream_partition::Chain;

use crate::fixed_fraction::{fixed_fraction, median};
use crate::rows::set_row_costs;
use crate::samples::{OperatorRecord, PartSample};

/// The part of an operator's time that stays with fewer channels, where nothing was measured: what reading the input
/// takes.
const ASSUMED_FIXED_FRACTION: f64 = 0.1;
/// What running apart takes per byte read and made, where nothing was measured: a change of layout.
const ASSUMED_SECONDS_PER_BYTE: f64 = 1e-10;

/// Sets how every operator's time on a processor depends on its channels: as measured for operators that were, as the
/// median of those of its family for others. Accelerators with processing elements work in waves of them.
pub(crate) fn set_part_costs(
    table: &mut CostTable,
    class_id: ClassId,
    board: &Board,
    blocks: &[Vec<OperatorRecord>],
    chain: &Chain,
    samples: &[PartSample],
) {
    let class = &table.classes()[class_id.index()];
    let elements = board.accelerator(&class.cluster).and_then(|accelerator| accelerator.processing_elements);
    let wave = elements.map_or(1, |elements| elements as usize);

    let records: Vec<&OperatorRecord> = blocks.iter().flatten().collect();
    let is_own = |sample: &&PartSample| sample.processor == *class && sample.along == Along::Channels;
    let class_samples: Vec<&PartSample> = samples.iter().filter(is_own).collect();
    // Of operators, by their indices in the chain: the fixed fraction, and what running apart takes.
    let mut measured: BTreeMap<usize, f64> = BTreeMap::new();
    let mut apart: BTreeMap<usize, f64> = BTreeMap::new();
    let mut families: BTreeMap<Family, Vec<f64>> = BTreeMap::new();
    let mut per_byte: Vec<f64> = Vec::new();
    let ids: Vec<_> = chain.blocks().iter().flat_map(|block| &block.operators).collect();

    for whole in class_samples.iter().filter(|sample| sample.channels == sample.of) {
        let parts = class_samples.iter().filter(|part| part.operators == whole.operators && part.channels < part.of);
        let fractions: Vec<f64> = parts.map(|part| fixed_fraction(part, whole)).collect();
        let (Some(fraction), Some(&head)) = (median(&fractions), whole.operators.first()) else { continue };
        measured.extend(whole.operators.iter().map(|&operator| (operator, fraction)));
        let among = whole.operators.iter().filter_map(|&operator| table.time(class_id, **ids.get(operator)?));
        let beyond = whole.time.median_seconds - among.map(|time| time.seconds()).sum::<f64>();
        apart.insert(head, beyond.max(0.0));
        if let Some(record) = records.get(head) {
            let moved = record.work.input_bytes + record.work.output_bytes;
            per_byte.push(beyond / moved.max(1) as f64);
            families.entry(record.family()).or_default().push(fraction);
        }
    }

    let everything: Vec<f64> = families.values().flatten().copied().collect();
    let per_byte = median(&per_byte).unwrap_or(ASSUMED_SECONDS_PER_BYTE).max(0.0);
    let least = table.hand_over_model(class_id).seconds;
    set_row_costs(table, class_id, board, chain, &records, samples, per_byte);

    for (index, (&id, record)) in ids.into_iter().zip(records).enumerate() {
        let of_family = || families.get(&record.family()).and_then(|fractions| median(fractions));
        let fixed_fraction = measured
            .get(&index)
            .copied()
            .or_else(of_family)
            .or_else(|| median(&everything))
            .unwrap_or(ASSUMED_FIXED_FRACTION);
        let moved = record.work.input_bytes + record.work.output_bytes;
        let known = apart.get(&index).copied().unwrap_or(per_byte * moved as f64);
        let apart = Nanoseconds::from_seconds(known.max(least));
        table.set_part(class_id, id, PartCost { fixed_fraction, wave, apart });
    }
}
