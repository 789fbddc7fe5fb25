//! Which consecutive operators run on which processors.

use std::collections::HashMap;
use std::ops::Range;

use millstream_board::{Board, Processor};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_predict::UnsupportedOperators;

use crate::workload::Workload;

/// The operators that engines of cores do not run, for each cluster and engine that leaves some out. Those that no
/// segment can have without a refused one are among them.
pub fn unsupported_operators(workload: &Workload<'_>, board: &Board) -> Vec<UnsupportedOperators> {
    let order = workload.chain.operators(workload.chain.whole());
    let groups = sharing_untyped(workload.graph, &order);
    let mut all = Vec::new();
    for cluster in board.clusters() {
        let Some(core) = cluster.cores.first() else { continue };
        for engine in cluster.engines.iter() {
            let processor = cluster.processor([core.id]).with_engine(engine);
            let missing = groups.iter().filter(|group| !workload.runs(&order[(*group).clone()], &processor));
            let operators: Vec<usize> = missing.cloned().flatten().collect();
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
    let supports = |group: &[OperatorId]| workload.runs(group, processor);
    let runs = runs_of(workload.graph, order, supports).into_iter();
    runs.filter(|(_, is_supported)| *is_supported).map(|(run, _)| run).collect()
}

/// Operators in the order in which they run, in pieces, each with a processor that runs it: the first of those that run
/// all, or else of those that run a piece. One that nobody runs is left to the first processor, which says why.
pub(crate) fn pieces<'a, 'p>(
    workload: &Workload<'_>,
    operators: &'a [OperatorId],
    processors: &'p [Processor],
) -> Vec<(&'a [OperatorId], &'p Processor)> {
    let runs_all = |processor: &&Processor| workload.runs(operators, processor);
    if let Some(processor) = processors.iter().find(runs_all) {
        return vec![(operators, processor)];
    }
    let first =
        |group: &[OperatorId]| processors.iter().position(|processor| workload.runs(group, processor)).unwrap_or(0);
    let pieces = runs_of(workload.graph, operators, first).into_iter();
    pieces.filter_map(|(piece, place)| Some((piece, processors.get(place)?))).collect()
}

/// The longest runs of consecutive operators whose groups have the same kind, with that.
fn runs_of<'a, K: PartialEq>(
    graph: &Graph,
    order: &'a [OperatorId],
    kind: impl Fn(&[OperatorId]) -> K,
) -> Vec<(&'a [OperatorId], K)> {
    let mut runs: Vec<(Range<usize>, K)> = Vec::new();
    for group in sharing_untyped(graph, order) {
        let own = kind(&order[group.clone()]);
        match runs.last_mut().filter(|(_, kind)| *kind == own) {
            Some((run, _)) => run.end = group.end,
            None => runs.push((group, own)),
        }
    }
    runs.into_iter().map(|(run, kind)| (&order[run], kind)).collect()
}

/// Operators in groups of consecutive ones that are in one segment or in none: from what makes a value whose element type
/// is not known to the last of those that read it, as no segment starts or ends at such a value.
fn sharing_untyped(graph: &Graph, order: &[OperatorId]) -> Vec<Range<usize>> {
    let mut last_readers: HashMap<ValueId, usize> = HashMap::new();
    for (place, &id) in order.iter().enumerate() {
        let untyped = graph.operator(id).inputs.iter().filter(|&&value| graph.value(value).data_type.is_none());
        last_readers.extend(untyped.map(|&value| (value, place)));
    }

    let mut groups: Vec<Range<usize>> = Vec::new();
    // The last operator that the current group needs.
    let mut needed = 0;
    for (place, &id) in order.iter().enumerate() {
        match groups.last_mut().filter(|_| place <= needed) {
            Some(group) => group.end = place + 1,
            None => groups.push(place..place + 1),
        }
        let readers = graph.operator(id).outputs.iter().filter_map(|value| last_readers.get(value).copied());
        needed = readers.fold(needed, usize::max);
    }
    groups
}
