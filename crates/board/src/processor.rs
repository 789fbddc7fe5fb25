//! Processors, the units that stages run on, and classes of interchangeable ones.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_id::CoreId;
use crate::engine::EngineName;

/// What runs operators: given cores of one cluster, working as one, or an accelerator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Label of the cluster or accelerator.
    pub cluster: String,
    /// The cores. The first one runs the worker itself. An accelerator has none.
    pub cores: Vec<CoreId>,
    /// What computes on the cores; of an accelerator, always the usual one.
    #[serde(default, skip_serializing_if = "EngineName::is_default")]
    pub engine: EngineName,
}

impl Processor {
    /// A processor of these cores, with the usual engine.
    pub fn new(cluster: impl Into<String>, cores: impl IntoIterator<Item = u32>) -> Self {
        Self::on_cores(cluster, cores.into_iter().map(CoreId))
    }

    /// The same of cores that are known as such.
    pub fn on_cores(cluster: impl Into<String>, cores: impl IntoIterator<Item = CoreId>) -> Self {
        Self { cores: cores.into_iter().collect(), ..Self::accelerator(cluster) }
    }

    /// The accelerator of this label.
    pub fn accelerator(label: impl Into<String>) -> Self {
        Self { cluster: label.into(), cores: Vec::new(), engine: EngineName::default() }
    }

    /// The same cores with this engine.
    #[must_use]
    pub fn with_engine(self, engine: EngineName) -> Self {
        Self { engine, ..self }
    }

    /// Whether it is an accelerator.
    pub fn is_accelerator(&self) -> bool {
        self.cores.is_empty()
    }

    /// Cluster, number of cores and engine; an accelerator counts as one core.
    pub fn class(&self) -> ProcessorClass {
        ProcessorClass { cluster: self.cluster.clone(), count: self.cores.len().max(1), engine: self.engine }
    }
}

/// Prints as its class does.
impl fmt::Display for Processor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.class().fmt(formatter)
    }
}

/// A number of cores of a cluster with an engine, or an accelerator: processors of one class are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorClass {
    /// Label of the cluster or accelerator.
    pub cluster: String,
    /// How many of its cores; 1 for an accelerator.
    pub count: usize,
    /// What computes on them.
    #[serde(default, skip_serializing_if = "EngineName::is_default")]
    pub engine: EngineName,
}

impl ProcessorClass {
    /// So many cores of a cluster, with the usual engine.
    pub fn new(cluster: impl Into<String>, count: usize) -> Self {
        Self { cluster: cluster.into(), count, engine: EngineName::default() }
    }

    /// The same cores with this engine.
    #[must_use]
    pub fn with_engine(self, engine: EngineName) -> Self {
        Self { engine, ..self }
    }

    /// Some processor of this class, where it does not matter which: the numbers of its cores mean nothing.
    pub fn stand_in(&self) -> Processor {
        Processor::on_cores(self.cluster.clone(), vec![CoreId(0); self.count]).with_engine(self.engine)
    }

    /// Whether the other one has as many cores of the same cluster, with whatever engine.
    pub fn has_same_cores(&self, other: &Self) -> bool {
        self.cluster == other.cluster && self.count == other.count
    }
}

/// Prints as in stage configurations: `B4`, or `G1` for an accelerator; with the engine where it is not the usual one:
/// `B4@openvino`.
impl fmt::Display for ProcessorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.count)?;
        if self.engine.is_default() { Ok(()) } else { write!(formatter, "@{}", self.engine) }
    }
}
