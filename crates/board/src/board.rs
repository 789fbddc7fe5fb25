use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Accelerator, BoardError, EngineSet, Link, Processor, ProcessorClass, Provider, label};

/// The number that the operating system gives a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CoreId(pub u32);

impl fmt::Display for CoreId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

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

/// Cores of one kind that share a clock or at least a speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Short unique name, as in stage configurations: `B` for the fastest cluster, `s` for the slowest.
    pub label: String,
    /// What the cores are, such as `Cortex-A73`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_type: Option<String>,
    /// Relative speed of one core; the fastest core of a board has 1024, as in the kernel's `cpu_capacity`.
    pub capacity: u32,
    /// The cores that may be used.
    pub cores: Vec<Core>,
    /// What may compute on them.
    #[serde(default, skip_serializing_if = "EngineSet::is_default")]
    pub engines: EngineSet,
    /// Frequencies, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operating_points: Vec<OperatingPoint>,
    /// Caches, from the innermost to the outermost; instruction caches left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    /// What its power depends on, where that is known; machines without power sensors rely on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerCoefficients>,
    /// How it heats up, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<Thermal>,
}

/// How a cluster heats up, as a single heat capacity behind a single resistance, and when it lowers its clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thermal {
    /// Temperature without any power.
    pub ambient_celsius: f64,
    /// Above this the clock goes down by one operating point.
    pub limit_celsius: f64,
    /// Below this it goes up again.
    pub resume_celsius: f64,
    /// How much warmer it gets in the end for each watt.
    pub kelvin_per_watt: f64,
    /// Time in which it makes 63 % of the way to the end.
    pub time_constant_seconds: f64,
}

/// Coefficients of a cluster's power (Para-Pipe, equation 8): `capacitance * volts^2 * utilisation * hertz + leakage * volts`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerCoefficients {
    /// Switched capacitance of the cluster.
    pub capacitance_farads: f64,
    /// Leakage current.
    pub leakage_amperes: f64,
}

/// One core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The logical CPU that runs its threads.
    pub id: CoreId,
    /// Further logical CPUs of the same physical core (hyper-threads); nothing is scheduled on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<CoreId>,
    /// How many times slower the core is made to appear, by load that runs beside the work; for testing only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_slowdown: Option<f64>,
}

/// A frequency and its voltage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatingPoint {
    /// Clock frequency.
    pub hertz: u64,
    /// Supply voltage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volts: Option<f64>,
}

/// One level of cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// 1 is the innermost.
    pub level: u32,
    /// Size of one instance.
    pub bytes: u64,
    /// Logical CPUs that share one instance.
    pub shared_by: u32,
}

impl Cluster {
    /// A processor of these of its cores, with its first engine.
    pub fn processor(&self, cores: impl IntoIterator<Item = CoreId>) -> Processor {
        Processor::on_cores(self.label.clone(), cores).with_engine(self.engines.first())
    }

    /// The class of so many of its cores, with its first engine.
    pub fn class(&self, count: usize) -> ProcessorClass {
        ProcessorClass::new(self.label.clone(), count).with_engine(self.engines.first())
    }
}

impl Board {
    /// A board of these clusters and nothing else. They are sorted from the fastest to the slowest, by their first cores where
    /// they are equally fast, and labelled in that order: `B`, `m`, `m2` and so on, and `s` for the last.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if there is no cluster, a cluster is impossible, or a core is in two.
    pub fn from_clusters(name: impl Into<String>, mut clusters: Vec<Cluster>) -> Result<Self, BoardError> {
        label::sort_and_label(&mut clusters);
        Self::try_from(crate::BoardDocument {
            format: crate::BOARD_FORMAT.to_owned(),
            version: crate::BOARD_VERSION,
            name: name.into(),
            clusters,
            accelerators: Vec::new(),
            providers: Vec::new(),
            links: Vec::new(),
            memory: None,
        })
    }

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
        clusters.chain(self.accelerators.iter().map(|own| own.label.as_str()))
    }

    /// What runs operators beside the CPU's cores.
    pub fn accelerators(&self) -> &[Accelerator] {
        &self.accelerators
    }

    /// The accelerator with this label.
    pub fn accelerator(&self, label: &str) -> Option<&Accelerator> {
        self.accelerators.iter().find(|accelerator| accelerator.label == label)
    }

    /// The same board with these accelerators.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if a label is taken, or an engine is none of its providers.
    pub fn with_accelerators(&self, accelerators: Vec<Accelerator>) -> Result<Self, BoardError> {
        Self::try_from(crate::BoardDocument { accelerators, ..self.to_document() })
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

    /// All cores of all clusters.
    pub fn cores(&self) -> impl Iterator<Item = &Core> {
        self.clusters.iter().flat_map(|cluster| &cluster.cores)
    }

    /// Every (cluster, engine, count) that a stage may be given, fastest cluster first, the cluster's first engine first, counts ascending;
    /// then the accelerators.
    pub fn processor_classes(&self) -> impl Iterator<Item = ProcessorClass> {
        let accelerators = self.accelerators.iter();
        self.core_classes().chain(accelerators.map(|own| ProcessorClass::new(own.label.clone(), 1)))
    }

    /// The classes of [`Board::processor_classes`] that consist of cores.
    pub fn core_classes(&self) -> impl Iterator<Item = ProcessorClass> {
        self.clusters.iter().flat_map(|cluster| {
            let of = move |engine| (1..=cluster.cores.len()).map(move |count| cluster.class(count).with_engine(engine));
            cluster.engines.iter().flat_map(of)
        })
    }

    /// Whether a processor's cores exist and belong to its cluster, which has its engine, or it is one of the accelerators.
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
