//! The number of threads for a segment, by what was measured for each family of operators.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use millstream_board::Processor;
use millstream_graph::{Family, Graph};

use crate::segment::Segment;

/// How many threads a backend of cores uses for a segment: one per core, unless it is a part of the network for which
/// fewer were measured to be faster.
#[derive(Debug, Default)]
pub struct ThreadChoice(Mutex<HashMap<String, BTreeMap<Family, usize>>>);

impl ThreadChoice {
    /// Sets how many threads the operators of each family had best use on a cluster.
    pub fn choose(&self, cluster: impl Into<String>, threads: BTreeMap<Family, usize>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(cluster.into(), threads);
    }

    /// Threads for a segment on a processor: as many as the family with the most work in it had best use, at the most
    /// one per core. The whole network has one per core: plans of it on fewer cores are tried by themselves, and trials
    /// of this one show whether what was measured of the family was of a slow minute.
    pub fn threads(&self, graph: &Graph, segment: &Segment, processor: &Processor) -> usize {
        let cores = processor.cores.len();
        if segment.operators.len() == graph.operators().len() {
            return cores;
        }
        let chosen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(by_family) = chosen.get(&processor.cluster) else { return cores };
        let mut work: BTreeMap<Family, u64> = BTreeMap::new();
        for &id in &segment.operators {
            let operator = graph.operator(id);
            // A byte moved takes about as long as a few multiply-accumulates.
            *work.entry(operator.kind.family()).or_default() += operator.work.macs + 4 * operator.work.bytes();
        }
        let most = work.into_iter().max_by_key(|(_, work)| *work);
        most.and_then(|(family, _)| by_family.get(&family)).map_or(cores, |&threads| threads.clamp(1, cores))
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::CoreId;
    use millstream_graph::{DataType, GraphBuilder, GraphError, NewOperator, OperatorKind};

    use super::*;

    #[test]
    fn a_part_has_the_threads_of_its_family_and_the_whole_one_per_core() -> Result<(), GraphError> {
        let mut builder = GraphBuilder::new("chain");
        let mut last = builder.value("input", Some(DataType::F32), Some([4].into()))?;
        builder.input(last);
        for name in ["a", "b", "c"] {
            let made = builder.value(name, Some(DataType::F32), Some([4].into()))?;
            builder.operator(NewOperator::new(name, "Relu", OperatorKind::Activation).reads([last]).makes([made]))?;
            last = made;
        }
        builder.output(last);
        let graph = builder.build()?;

        let segment = |count: usize| Segment::new(&graph, graph.order()[..count].to_vec());
        let cores = Processor::on_cores("B", [0, 1, 2, 3].map(CoreId));
        let choice = ThreadChoice::default();
        assert_eq!(choice.threads(&graph, &segment(2), &cores), 4, "nothing is known");
        let family = graph.operator(graph.order()[0]).kind.family();
        choice.choose("B", BTreeMap::from([(family, 2)]));
        let shown = [1, 2, 3].map(|count| choice.threads(&graph, &segment(count), &cores));
        assert_eq!(shown, [2, 2, 4]);
        assert_eq!(choice.threads(&graph, &segment(2), &Processor::on_cores("B", [CoreId(3)])), 1);
        Ok(())
    }
}
