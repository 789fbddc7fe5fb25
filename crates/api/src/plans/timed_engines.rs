//! The engines of a board that costs have times for.

use millstream_board::{Board, Cluster, EngineSet, ProcessorClass};
use millstream_cost::CostTable;

/// The board without engines that the costs have no times for, because they were left out: they would make the space of
/// teams larger for nothing, and the first engine is one that runs something.
pub(crate) fn with_timed_engines(board: &Board, table: &CostTable) -> Board {
    let is_timed = |class: &ProcessorClass| {
        let processor = table.find(class);
        processor
            .is_some_and(|processor| table.operator_ids().any(|operator| table.time(processor, operator).is_some()))
    };
    let timed = |cluster: &Cluster| {
        let engines = cluster.engines.iter().filter(|&engine| is_timed(&cluster.class(1).with_engine(engine)));
        EngineSet::try_from(engines.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
    };
    let engines = board.clusters().iter().map(|cluster| (cluster.label.clone(), timed(cluster))).collect();
    board.clone().with_engines_of(&engines)
}
