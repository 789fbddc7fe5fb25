//! The processors of a board, with what searches know of each whatever the network.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{ClassId, CostTable};

use crate::board::cluster_id::ClusterId;
use crate::board::cores::CoreCounts;
use crate::board::senders::{ClusterClass, SenderKinds};
use crate::board::stage_power::ClassPower;
use crate::board::units::Units;
use crate::error::PipelineError;

/// The clusters and accelerators of a board, and the processor classes that a single processor of a stage may have.
#[derive(Debug, Clone)]
pub(crate) struct Processors {
    /// The clusters and then the accelerators, each of which counts as a cluster of one unit.
    pub(crate) clusters: Vec<Units>,
    /// The numbers of cores of each cluster that pipelines may use.
    pub(crate) counts: CoreCounts,
    /// Cluster by cluster, counts of cores ascending: `classes[offset(cluster) + count - 1]`.
    pub(crate) classes: Vec<Class>,
    /// Which clusters hand over alike.
    pub(crate) kinds: SenderKinds,
    /// Whether anything is known of a way between clusters.
    pub(crate) has_any_link: bool,
}

/// A number of cores of one cluster, or an accelerator.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    /// With the cluster's first engine, which stands for all: each stage has the one that is quickest for it.
    pub(crate) processor: ProcessorClass,
    /// Its place in the cost table.
    pub(crate) index: ClassId,
    /// The places of the class with each of the cluster's engines, the first one first.
    pub(crate) with_each_engine: Vec<ClassId>,
    /// Where it is known. A processor's power does not depend on the engine that computes on it.
    pub(crate) power: Option<ClassPower>,
}

impl Processors {
    /// Those of a board. If a sender is given, all stages but those that begin the network take their frames over from
    /// this class.
    ///
    /// # Errors
    /// [`PipelineError::MissingProcessor`] if the table lacks a processor class of the board, [`PipelineError::Links`]
    /// if its links are too different from each other.
    pub(crate) fn of(board: &Board, table: &CostTable, sender: Option<ProcessorClass>) -> Result<Self, PipelineError> {
        let clusters = Units::of(board);
        let all = clusters.iter().flat_map(|units| units.classes().map(move |class| (units, class)));
        let classes: Vec<Class> =
            all.map(|(units, processor)| Class::new(units, processor, table)).collect::<Result<_, _>>()?;

        let smallest = |units: &Units| ClusterClass { class_id: classes[units.offset].index, cores: units.count };
        let smallest: Vec<ClusterClass> = clusters.iter().map(smallest).collect();
        let kinds = match sender {
            Some(sender) => SenderKinds::only(sender, clusters.len()),
            None => SenderKinds::new(table, &smallest),
        };
        if kinds.count() > SenderKinds::MOST {
            return Err(PipelineError::Links { kinds: kinds.count(), most: SenderKinds::MOST });
        }

        let ends = || smallest.iter().map(|class| class.class_id);
        let has_any_link = ends().any(|from| ends().any(|to| table.link(from, to).is_some()));
        let counts = CoreCounts::new(clusters.iter().map(|cluster| cluster.count).collect());
        Ok(Self { clusters, counts, classes, kinds, has_any_link })
    }

    /// The cluster, or the accelerator, with this label.
    pub(crate) fn cluster_named(&self, label: &str) -> Option<ClusterId> {
        self.clusters.iter().position(|units| units.label == label).map(ClusterId::new)
    }

    /// Keeps at most so many cores of each cluster. The classes stay, so that their numbers do.
    pub(crate) fn keep(&mut self, counts: Vec<usize>) {
        for (cluster, &count) in self.clusters.iter_mut().zip(&counts) {
            cluster.count = count;
            cluster.cores.truncate(count);
        }
        self.counts = CoreCounts::new(counts);
    }
}

impl Class {
    fn new(units: &Units, processor: ProcessorClass, table: &CostTable) -> Result<Self, PipelineError> {
        let find = |class: ProcessorClass| table.find(&class).ok_or(PipelineError::MissingProcessor { class });
        let index = find(processor.clone())?;
        let with_each = units.engines.iter().map(|engine| find(processor.clone().with_engine(engine)));
        let with_each_engine = with_each.collect::<Result<_, _>>()?;
        Ok(Self { processor, index, with_each_engine, power: ClassPower::of(table, index) })
    }
}
