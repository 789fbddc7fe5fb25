use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CoreId;

/// What runs operators: given cores of one cluster, working as one, or an accelerator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Label of the cluster or accelerator.
    pub cluster: String,
    /// The cores. The first one runs the worker itself. An accelerator has none.
    pub cores: Vec<CoreId>,
}

impl Processor {
    /// A processor of these cores.
    pub fn new(cluster: impl Into<String>, cores: impl IntoIterator<Item = u32>) -> Self {
        Self { cluster: cluster.into(), cores: cores.into_iter().map(CoreId).collect() }
    }

    /// The accelerator of this label.
    pub fn accelerator(label: impl Into<String>) -> Self {
        Self { cluster: label.into(), cores: Vec::new() }
    }

    /// Whether it is an accelerator.
    pub fn is_accelerator(&self) -> bool {
        self.cores.is_empty()
    }

    /// Cluster and number of cores; an accelerator counts as one.
    pub fn class(&self) -> ProcessorClass {
        ProcessorClass { cluster: self.cluster.clone(), count: self.cores.len().max(1) }
    }
}

/// Prints as in stage configurations: `B4`, or `G1` for an accelerator.
impl fmt::Display for Processor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.cores.len().max(1))
    }
}

/// A number of cores of a cluster, or an accelerator: processors of one class are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorClass {
    /// Label of the cluster or accelerator.
    pub cluster: String,
    /// How many of its cores; 1 for an accelerator.
    pub count: usize,
}

impl fmt::Display for ProcessorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.count)
    }
}
