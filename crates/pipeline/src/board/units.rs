//! Clusters and accelerators of a board.

use millstream_board::{Accelerator, Board, Cluster, CoreId, EngineSet, ProcessorClass};

/// The cores of a cluster, or an accelerator: a cluster of one unit without a core.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    pub(crate) label: String,
    /// None for an accelerator.
    pub(crate) cores: Vec<CoreId>,
    /// How many cores it has; 1 for an accelerator.
    pub(crate) count: usize,
    /// The place of its first class among those of all clusters.
    pub(crate) offset: usize,
    /// What may compute there.
    pub(crate) engines: EngineSet,
}

impl Units {
    /// The clusters and then the accelerators of a board.
    pub(super) fn of(board: &Board) -> Vec<Self> {
        let of_cluster = |cluster: &Cluster| Self {
            label: cluster.label.clone(),
            cores: cluster.cores.iter().map(|core| core.id).collect(),
            count: cluster.cores.len().max(1),
            offset: 0,
            engines: cluster.engines.clone(),
        };
        let of_accelerator = |accelerator: &Accelerator| Self {
            label: accelerator.label.clone(),
            cores: Vec::new(),
            count: 1,
            offset: 0,
            engines: EngineSet::default(),
        };

        let units = board.clusters().iter().map(of_cluster).chain(board.accelerators().iter().map(of_accelerator));
        let mut offset = 0;
        let placed = units.map(|units| {
            let placed = Self { offset, ..units };
            offset += placed.count;
            placed
        });
        placed.collect()
    }

    /// The classes of its processors with its first engine, counts of cores ascending.
    pub(super) fn classes(&self) -> impl Iterator<Item = ProcessorClass> {
        (1..=self.count).map(|count| ProcessorClass::new(self.label.clone(), count).with_engine(self.engines.first()))
    }
}
