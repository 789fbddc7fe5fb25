//! What tiles take, from measured ones.

use std::collections::BTreeMap;

use millstream_board::{Board, EngineName, ProcessorClass};
use millstream_cost::{ClassId, CostTable, Nanoseconds, RowCost};
use millstream_graph::{Along, Family};
use millstream_partition::Chain;

use crate::fixed_fraction::{fixed_fraction, median};
use crate::samples::{OperatorRecord, PartSample};

/// What writing a tile into the whole value takes per byte.
const JOIN_SECONDS_PER_BYTE: f64 = 1e-10;

/// Whether a processor of this class makes tiles: cores and graphics devices do. Execution providers may refuse the
/// slices of a tile, on cores and on accelerators that they drive; what OpenVINO drives makes none either.
pub fn makes_tiles(class: &ProcessorClass, board: &Board) -> bool {
    match board.accelerator(&class.cluster) {
        Some(accelerator) => accelerator.engine.is_none(),
        None => !matches!(class.engine, EngineName::Provider(_)),
    }
}

/// Sets how every operator's time on a processor depends on its rows: as measured for operators that were, as the
/// median of those of its family for others. `seconds_per_byte` is what changing the layout of a value takes.
/// Processors of which no tile was measured make none.
pub(crate) fn set_row_costs(
    table: &mut CostTable,
    class_id: ClassId,
    board: &Board,
    chain: &Chain,
    records: &[&OperatorRecord],
    samples: &[PartSample],
    seconds_per_byte: f64,
) {
    let class = &table.classes()[class_id.index()];
    if !makes_tiles(class, board) {
        return;
    }
    let class_samples: Vec<&PartSample> = samples.iter().filter(|sample| sample.processor == *class).collect();
    if !class_samples.iter().any(|sample| sample.along == Along::Rows) {
        return;
    }

    let mut measured: BTreeMap<usize, f64> = BTreeMap::new();
    let mut families: BTreeMap<Family, Vec<f64>> = BTreeMap::new();
    for tile in class_samples.iter().filter(|sample| sample.along == Along::Rows) {
        let is_whole = |whole: &&&PartSample| whole.operators == tile.operators && whole.channels == whole.of;
        let Some(whole) = class_samples.iter().find(is_whole) else { continue };
        let fraction = fixed_fraction(tile, whole);
        measured.extend(tile.operators.iter().map(|&operator| (operator, fraction)));
        if let Some(record) = tile.operators.first().and_then(|&head| records.get(head)) {
            families.entry(record.family()).or_default().push(fraction);
        }
    }

    let everything: Vec<f64> = families.values().flatten().copied().collect();
    let start = Nanoseconds::from_seconds(table.hand_over_model(class_id).seconds);
    let ids = chain.blocks().iter().flat_map(|block| &block.operators);
    for (index, (&id, record)) in ids.zip(records).enumerate() {
        let of_family = || families.get(&record.family()).and_then(|fractions| median(fractions));
        let known = measured.get(&index).copied().or_else(of_family).or_else(|| median(&everything));
        let seconds = |bytes: u64, per_byte: f64| Nanoseconds::from_seconds(bytes as f64 * per_byte);
        let cost = RowCost {
            fixed_fraction: known.unwrap_or_default(),
            start,
            read: seconds(record.work.input_bytes, seconds_per_byte),
            write: seconds(record.work.output_bytes, seconds_per_byte + JOIN_SECONDS_PER_BYTE),
        };
        table.set_rows(class_id, id, cost);
    }
}
