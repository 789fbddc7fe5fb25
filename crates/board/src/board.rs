//! The model of a board: clusters, accelerators, links and memory, and the processors that they make up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accelerator::{Accelerator, Link};
use crate::cluster::{Cluster, Core};
use crate::core_id::CoreId;
use crate::engine::EngineSet;
use crate::error::BoardError;
use crate::processor::{Processor, ProcessorClass};
use crate::provider::Provider;

/// Engines of clusters by their labels; clusters that have only the usual one may be left out.
pub type Engines = BTreeMap<String, EngineSet>;

/// A board: everything that can execute operators.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub(crate) name: String,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) accelerators: Vec<Accelerator>,
    pub(crate) providers: Vec<Provider>,
    pub(crate) links: Vec<Link>,
    pub(crate) memory: Option<Memory>,
    pub(crate) quota_cores: Option<f64>,
}

/// The memory that clusters and accelerators share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What all processors together can move to and from it.
    pub bytes_per_second: f64,
    /// Its size, where it is known: what networks and their values may take up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Board {
    /// The board's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Clusters from the fastest to the slowest.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The cluster with this label.
    ///
    /// # Errors
    /// [`BoardError::UnknownCluster`] if there is none.
    pub fn cluster(&self, label: &str) -> Result<&Cluster, BoardError> {
        self.clusters.iter().find(|cluster| cluster.label == label).ok_or_else(|| BoardError::UnknownCluster {
            board: self.name.clone(),
            cluster: label.to_owned(),
            clusters: self.labels().map(str::to_owned).collect(),
        })
    }

    /// Labels of clusters, then of accelerators.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let clusters = self.clusters.iter().map(|cluster| cluster.label.as_str());
        clusters.chain(self.accelerators.iter().map(|accelerator| accelerator.label.as_str()))
    }

    /// What runs operators beside the CPU's cores.
    pub fn accelerators(&self) -> &[Accelerator] {
        &self.accelerators
    }

    /// The accelerator with this label.
    pub fn accelerator(&self, label: &str) -> Option<&Accelerator> {
        self.accelerators.iter().find(|accelerator| accelerator.label == label)
    }

    /// The device of an accelerator: the label of the one that it is the same device as, or its own.
    pub fn device_of<'a>(&'a self, accelerator: &'a str) -> &'a str {
        let same = self.accelerator(accelerator).and_then(|accelerator| accelerator.same_device_as.as_deref());
        same.unwrap_or(accelerator)
    }

    /// What is known beforehand of moving data between clusters and accelerators.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What all processors together can move to and from memory, where that is known.
    pub fn memory_bytes_per_second(&self) -> Option<f64> {
        self.memory.map(|memory| memory.bytes_per_second)
    }

    /// The size of the memory that clusters share, where it is known.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory.and_then(|memory| memory.bytes)
    }

    /// How many cores' time a container may use on all cores together, where that is less than all of it: 1.5 are
    /// three seconds of processor time in two.
    pub fn quota_cores(&self) -> Option<f64> {
        self.quota_cores
    }

    /// All cores of all clusters.
    pub fn cores(&self) -> impl Iterator<Item = &Core> {
        self.clusters.iter().flat_map(|cluster| &cluster.cores)
    }

    /// Every (cluster, engine, count) that a stage may be given, fastest cluster first, the cluster's first engine
    /// first, counts ascending; then the accelerators.
    pub fn processor_classes(&self) -> impl Iterator<Item = ProcessorClass> {
        let accelerators = self.accelerators.iter();
        self.core_classes().chain(accelerators.map(|accelerator| ProcessorClass::new(accelerator.label.clone(), 1)))
    }

    /// The classes of [`Board::processor_classes`] that consist of cores.
    pub fn core_classes(&self) -> impl Iterator<Item = ProcessorClass> {
        self.clusters.iter().flat_map(|cluster| {
            let of = move |engine| (1..=cluster.cores.len()).map(move |count| cluster.class(count).with_engine(engine));
            cluster.engines.iter().flat_map(of)
        })
    }

    /// Whether a processor's cores exist and belong to its cluster, which has its engine, or it is one of the
    /// accelerators.
    ///
    /// # Errors
    /// [`BoardError::UnknownCluster`], [`BoardError::UnknownCore`] or [`BoardError::OtherEngine`].
    pub fn check(&self, processor: &Processor) -> Result<(), BoardError> {
        if self.accelerator(&processor.cluster).is_some() {
            return match processor.cores.first() {
                None => Ok(()),
                Some(&core) => Err(BoardError::UnknownCore {
                    board: self.name.clone(),
                    cluster: processor.cluster.clone(),
                    core,
                    cores: Vec::new(),
                }),
            };
        }

        let cluster = self.cluster(&processor.cluster)?;
        if !cluster.engines.contains(processor.engine) {
            return Err(BoardError::OtherEngine {
                board: self.name.clone(),
                cluster: cluster.label.clone(),
                engine: processor.engine,
                engines: cluster.engines.clone(),
            });
        }
        let has = |id: CoreId| cluster.cores.iter().any(|core| core.id == id);
        match processor.cores.iter().find(|&&id| !has(id)) {
            None => Ok(()),
            Some(&core) => Err(BoardError::UnknownCore {
                board: self.name.clone(),
                cluster: cluster.label.clone(),
                core,
                cores: cluster.cores.iter().map(|core| core.id).collect(),
            }),
        }
    }
}
