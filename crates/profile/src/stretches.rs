//! Which consecutive operators run on which processors.

use millstream_board::{Board, Processor};
use millstream_graph::OperatorId;
use millstream_predict::UnsupportedOperators;

use crate::workload::Workload;

/// The operators that engines of cores do not run, for each cluster and engine that leaves some out.
pub fn unsupported_operators(workload: &Workload<'_>, board: &Board) -> Vec<UnsupportedOperators> {
    let order = workload.chain.operators(workload.chain.whole());
    let mut all = Vec::new();
    for cluster in board.clusters() {
        let Some(core) = cluster.cores.first() else { continue };
        for engine in cluster.engines.iter() {
            let processor = cluster.processor([core.id]).with_engine(engine);
            let missing = order.iter().enumerate().filter(|(_, id)| !workload.backend.supports(**id, &processor));
            let operators: Vec<usize> = missing.map(|(place, _)| place).collect();
            if !operators.is_empty() {
                all.push(UnsupportedOperators { cluster: cluster.label.clone(), engine, operators });
            }
        }
    }
    all
}

/// The longest runs of consecutive operators that a processor supports, of operators in the order in which they run.
pub(crate) fn stretches<'a>(
    workload: &Workload<'_>,
    order: &'a [OperatorId],
    processor: &Processor,
) -> Vec<&'a [OperatorId]> {
    let supports = |id: OperatorId| workload.backend.supports(id, processor);
    let runs = order.chunk_by(|&left, &right| supports(left) == supports(right));
    runs.filter(|run| run.first().is_some_and(|&id| supports(id))).collect()
}

/// Operators in the order in which they run, in pieces, each with a processor that runs it: the first of those that run
/// all, or else of those that run a piece. One that nobody runs is left to the first processor, which says why.
pub(crate) fn pieces<'a, 'p>(
    workload: &Workload<'_>,
    operators: &'a [OperatorId],
    processors: &'p [Processor],
) -> Vec<(&'a [OperatorId], &'p Processor)> {
    let supports = |processor: &Processor, id: OperatorId| workload.backend.supports(id, processor);
    let runs_all = |processor: &&Processor| operators.iter().all(|&id| supports(processor, id));
    if let Some(processor) = processors.iter().find(runs_all) {
        return vec![(operators, processor)];
    }
    let first = |id: OperatorId| processors.iter().position(|processor| supports(processor, id)).unwrap_or(0);
    let pieces = operators.chunk_by(|&left, &right| first(left) == first(right));
    pieces.filter_map(|piece| Some((piece, processors.get(first(*piece.first()?))?))).collect()
}
