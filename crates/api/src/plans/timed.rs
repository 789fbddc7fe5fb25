//! What of a board costs have times for.

use millstream_board::{Board, Cluster, EngineName, EngineSet};
use millstream_cost::CostTable;

/// The board without engines that the costs have no times for, because they were left out, and without accelerators
/// whose device another one drives: they would make the space of teams larger for nothing, and the first engine is one
/// that runs something.
pub(crate) fn with_what_has_times(board: &Board, table: &CostTable) -> Board {
    let timed = |cluster: &Cluster| {
        let is_timed = |&engine: &EngineName| table.runs_something(&cluster.class(1).with_engine(engine));
        let engines = cluster.engines.iter().filter(is_timed);
        EngineSet::try_from(engines.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
    };
    let engines = board.clusters().iter().map(|cluster| (cluster.label.clone(), timed(cluster))).collect();
    table.board_without_other_drivers(board).with_engines_of(&engines)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{Link, ProcessorClass};
    use millstream_onnx::ReadOptions;
    use millstream_test_support::{board, table};

    use super::*;
    use crate::network::Network;

    #[test]
    fn what_nothing_is_known_of_is_left_out_with_its_links() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let mut document = board("B1@onnxruntime,openvino+G+V=gpu").to_document();
        document.accelerators[1].same_device_as = Some("G".to_owned());
        let link = |from: &str, to: &str| Link {
            from: from.to_owned(),
            to: to.to_owned(),
            bytes_per_second: 1e9,
            latency_seconds: 1e-5,
            blocks: None,
        };
        document.links = vec![link("B", "G"), link("V", "B")];
        let board = Board::try_from(document).unwrap();
        for (idle, left) in [("G", "V"), ("V", "G")] {
            let runs = |class: &ProcessorClass| class.cluster != idle && class.engine.is_default();
            let table = table(network.graph(), &board, |_, class| runs(class).then_some(1000));
            let timed = with_what_has_times(&board, &table);
            let labels: Vec<&str> = timed.accelerators().iter().map(|own| own.label.as_str()).collect();
            assert_eq!((labels, timed.links().len()), (vec![left], 1));
            assert_eq!(timed.core_classes().count(), 1, "one engine");
        }
        let all = table(network.graph(), &board, |_, _| Some(1000));
        assert_eq!(with_what_has_times(&board, &all), board);
    }
}
