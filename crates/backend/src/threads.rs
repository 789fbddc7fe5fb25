//! The number of threads for a segment, by what was measured for each family of operators.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use millstream_board::Processor;
use millstream_graph::{Family, Graph};

use crate::segment::Segment;

/// How many threads a backend of cores uses for a segment: one per core, unless something else was measured to be
/// faster.
#[derive(Debug, Default)]
pub struct ThreadChoice(Mutex<HashMap<String, BTreeMap<Family, usize>>>);

impl ThreadChoice {
    /// Sets how many threads the operators of each family had best use on a cluster.
    pub fn choose(&self, cluster: impl Into<String>, threads: BTreeMap<Family, usize>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(cluster.into(), threads);
    }

    /// Threads for a segment on a processor: as many as the family with the most work in it had best use, at the most
    /// one per core.
    pub fn threads(&self, graph: &Graph, segment: &Segment, processor: &Processor) -> usize {
        let cores = processor.cores.len();
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
