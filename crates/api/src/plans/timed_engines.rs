//! The engines of a board that costs have times for.

use millstream_board::{Accelerator, Board, Cluster, EngineSet, ProcessorClass};
use millstream_cost::CostTable;

/// The board without engines that the costs have no times for, because they were left out: they would make the space of
/// teams larger for nothing, and the first engine is one that runs something.
pub(crate) fn with_timed_engines(board: &Board, table: &CostTable) -> Board {
    let is_timed = |class: &ProcessorClass| {
        let processor = table.find(class);
        processor.is_some_and(|processor| table.runs_something(processor))
    };
    let timed = |cluster: &Cluster| {
        let engines = cluster.engines.iter().filter(|&engine| is_timed(&cluster.class(1).with_engine(engine)));
        EngineSet::try_from(engines.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
    };
    let engines = board.clusters().iter().map(|cluster| (cluster.label.clone(), timed(cluster))).collect();
    without_other_drivers(board, table).with_engines_of(&engines)
}

/// The board without accelerators that run nothing because another one drives their device.
fn without_other_drivers(board: &Board, table: &CostTable) -> Board {
    let runs = |accelerator: &Accelerator| {
        let class = table.find(&ProcessorClass::new(accelerator.label.clone(), 1));
        class.is_some_and(|class| table.runs_something(class))
    };
    let device = |accelerator: &Accelerator| board.device_of(&accelerator.label).to_owned();
    let is_driven = |own: &Accelerator| {
        let others = board.accelerators().iter().filter(|other| other.label != own.label);
        others.filter(|other| runs(other)).any(|other| device(other) == device(own))
    };
    let used = |own: &&Accelerator| runs(own) || !is_driven(own);
    let used = board.accelerators().iter().filter(used).map(|own| Accelerator { same_device_as: None, ..own.clone() });
    let used: Vec<Accelerator> = used.collect();
    if used.len() == board.accelerators().len() {
        return board.clone();
    }
    board.with_accelerators(used).unwrap_or_else(|_| board.clone())
}
