//! How many threads are fastest for the operators of each family.

use std::collections::BTreeMap;

use millstream_board::{EngineName, ProcessorClass};
use millstream_graph::{Family, Graph};

use millstream_cost::CostTable;

/// The fastest number of threads for the operators of each family on a cluster with an engine: the granularity of
/// intra-operator parallelism on a CPU.
///
/// Of the numbers of cores that the table has times for, the one with the shortest time for all operators of the family
/// together is chosen, the smaller one of equals: what is bound by memory, or too small to be divided, only loses by
/// more threads.
pub fn threads_by_family(
    table: &CostTable,
    graph: &Graph,
    cluster: &str,
    engine: EngineName,
) -> BTreeMap<Family, usize> {
    let mut best: BTreeMap<Family, (u64, usize)> = BTreeMap::new();
    let is_own = |class: &ProcessorClass| class.cluster == cluster && class.engine == engine;
    let mut classes: Vec<_> = table.class_ids().filter(|p| is_own(&table.classes()[p.index()])).collect();
    classes.sort_by_key(|p| table.classes()[p.index()].count);
    for processor in classes {
        let count = table.classes()[processor.index()].count;
        let mut sums: BTreeMap<Family, Option<u64>> = BTreeMap::new();
        for id in graph.operator_ids() {
            let time = table.time(processor, id).map(|time| time.0);
            let sum = sums.entry(graph.operator(id).kind.family()).or_insert(Some(0));
            *sum = sum.zip(time).map(|(sum, time)| sum + time);
        }
        for (family, sum) in sums {
            let Some(sum) = sum else { continue };
            let entry = best.entry(family).or_insert((sum, count));
            if sum < entry.0 {
                *entry = (sum, count);
            }
        }
    }
    best.into_iter().map(|(family, (_, count))| (family, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_cost::Nanoseconds;

    #[test]
    fn a_family_that_gains_nothing_keeps_one_thread() {
        let model = millstream_zoo::build("squeezenet").unwrap();
        let graph = model.graph();
        let class = |count| ProcessorClass::new("B", count);
        let mut table = CostTable::new(graph.operators().len(), [class(4), class(1), class(2)]);
        for processor in table.class_ids() {
            let threads = table.classes()[processor.index()].count as u64;
            for id in graph.operator_ids() {
                let time = match graph.operator(id).kind.family() {
                    Family::Convolution => 1200 / threads,
                    Family::Pool => 300 / threads.min(2),
                    _ => 40 + threads,
                };
                table.set_time(processor, id, Nanoseconds(time));
            }
        }
        let threads = threads_by_family(&table, graph, "B", EngineName::default());
        assert_eq!((threads[&Family::Convolution], threads[&Family::Pool], threads[&Family::Concat]), (4, 2, 1));
        assert!(threads_by_family(&table, graph, "s", EngineName::default()).is_empty());
    }
}
