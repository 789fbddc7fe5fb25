use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CoreId;

/// What runs operators: given cores of one cluster, working as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Label of the cluster.
    pub cluster: String,
    /// The cores. The first one runs the worker itself.
    pub cores: Vec<CoreId>,
}

impl Processor {
    /// A processor of these cores.
    pub fn new(cluster: impl Into<String>, cores: impl IntoIterator<Item = u32>) -> Self {
        Self { cluster: cluster.into(), cores: cores.into_iter().map(CoreId).collect() }
    }

    /// Cluster and number of cores.
    pub fn class(&self) -> ProcessorClass {
        ProcessorClass { cluster: self.cluster.clone(), count: self.cores.len() }
    }
}

/// Prints as in stage configurations: `B4`.
impl fmt::Display for Processor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.cores.len())
    }
}

/// A number of cores of a cluster: processors of one class are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorClass {
    /// Label of the cluster.
    pub cluster: String,
    /// How many of its cores.
    pub count: usize,
}

impl fmt::Display for ProcessorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.cluster, self.count)
    }
}
