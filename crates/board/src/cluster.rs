//! Clusters: cores of one kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_id::CoreId;
use crate::engine::EngineSet;
use crate::processor::{Processor, ProcessorClass};

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

/// Coefficients of a cluster's power (Para-Pipe, equation 8):
/// `capacitance * volts^2 * utilisation * hertz + leakage * volts`.
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
