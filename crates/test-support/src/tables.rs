//! Cost tables from a function or from a few times, and transfers between all processors.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, TransferModel};
use millstream_graph::{Graph, Operator};

/// A cost table of the board with what `time` says, in nanoseconds, of each operator on each class of processors; where
/// it says nothing, the operator does not run. Transfers and hand-overs take no time.
pub fn table(graph: &Graph, board: &Board, time: impl Fn(&Operator, &ProcessorClass) -> Option<u64>) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let classes = table.classes().to_vec();
    for (processor, class) in table.class_ids().zip(&classes) {
        for id in graph.operator_ids() {
            if let Some(time) = time(graph.operator(id), class) {
                table.set_time(processor, id, Nanoseconds(time));
            }
        }
    }
    table
}

/// A cost table in which every operator takes the same: so many nanoseconds on the cores of each cluster, however many
/// they are, and on each accelerator, in the board's order.
///
/// # Panics
/// If there are not as many times as clusters and accelerators.
pub fn uniform_table<const UNITS: usize>(graph: &Graph, board: &Board, times: [u64; UNITS]) -> CostTable {
    let clusters = board.clusters().iter().map(|cluster| &cluster.label);
    let labels: Vec<&String> =
        clusters.chain(board.accelerators().iter().map(|accelerator| &accelerator.label)).collect();
    assert_eq!(labels.len(), UNITS, "the board has {labels:?}");

    let of = |class: &ProcessorClass| labels.iter().zip(times).find(|(label, _)| **label == &class.cluster);
    table(graph, board, |_, class| of(class).map(|(_, time)| time))
}

/// Gives all pairs of processors, and each with itself, the same transfers.
pub fn connect(table: &mut CostTable, transfer: TransferModel) {
    for from in table.class_ids() {
        for to in table.class_ids() {
            table.set_transfer(from, to, transfer);
        }
    }
}
