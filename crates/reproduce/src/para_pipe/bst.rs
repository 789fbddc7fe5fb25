//! The board with an NPU and two DSPs, with speeds that are assumed: the paper takes times from a simulator that it
//! does not describe.

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, CostTable, HandOver, Nanoseconds, PartCost, TransferModel};
use millstream_graph::Graph;

/// Why what depends on its speeds misses.
pub(super) const SIMULATED: &str =
    "the paper's times are from a simulator and not printed: those of this NPU and its DSPs are assumed";

/// Operators that the NPU of the assumed board can't run.
const NOT_ON_THE_NPU: [&str; 5] = ["LRN", "Softmax", "LayerNormalization", "Transpose", "ReduceMean"];
/// An NPU and a DSP: seconds for each operator, multiply-accumulates per second, bytes per second.
const NPU: [f64; 3] = [8e-6, 400e9, 12e9];
const DSP: [f64; 3] = [5e-6, 120e9, 8e9];
/// Between processors: through memory that they share.
const LINK: TransferModel = TransferModel {
    latency_seconds: 5e-6,
    seconds_per_byte: 1.0 / 6e9,
    conversion_seconds_per_byte: 0.0,
    blocks: None,
};
/// An NPU that can't do everything and two DSPs that can. The third class, both DSPs as one processor, runs nothing.
pub(super) fn board(graph: &Graph) -> (CostTable, Vec<ClassId>) {
    let classes = [("N", 1), ("D", 1), ("D", 2)];
    let classes = classes.map(|(cluster, count)| ProcessorClass::new(cluster, count));
    let mut table = CostTable::new(graph.operators().len(), classes);
    let processors: Vec<ClassId> = table.class_ids().collect();
    for (place, (&processor, speed)) in processors.iter().zip([NPU, DSP]).enumerate() {
        let [overhead, macs_per_second, bytes_per_second] = speed;
        for id in graph.operator_ids() {
            let operator = graph.operator(id);
            if place == 0 && NOT_ON_THE_NPU.contains(&operator.op_type.as_str()) {
                continue;
            }
            let (macs, bytes) = (operator.work.macs as f64, operator.work.bytes() as f64);
            let seconds = overhead + macs / macs_per_second + bytes / bytes_per_second;
            table.set_time(processor, id, Nanoseconds::from_seconds(seconds));
        }
        for &other in &processors {
            table.set_transfer(processor, other, LINK);
        }
    }
    let npu_and_dsps = [0, 1, 1].map(|place| processors[place]);
    for processor in processors {
        let hand_over = HandOver { seconds: LINK.latency_seconds, seconds_per_byte: LINK.seconds_per_byte };
        table.set_hand_over(processor, hand_over);
    }
    keep_whole(&mut table);
    (table, npu_and_dsps.to_vec())
}

/// Lets no processor gain anything from a part of an operator: Para-Pipe does not divide operators, which teams here do
/// otherwise.
pub(super) fn keep_whole(table: &mut CostTable) {
    let part = PartCost { fixed_fraction: 1.0, ..PartCost::default() };
    for processor in table.class_ids() {
        for operator in table.operator_ids() {
            table.set_part(processor, operator, part);
        }
    }
}
