//! Accelerators such as GPUs and NPUs, and the links over which data moves.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::PowerCoefficients;
use crate::engine::EngineName;
use crate::engine_label::EngineLabel;

/// Something other than a CPU core that runs operators, driven through a host library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accelerator {
    /// Short unique name, as in stage configurations: `G` for the first GPU.
    pub label: String,
    /// What sort of device it is.
    pub kind: AcceleratorKind,
    /// What the device calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What drives it: a provider of the board, or `openvino`. Missing for graphics devices that shaders run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineLabel>,
    /// What OpenVINO calls it, such as `GPU.1`; missing for the only one of its kind, and with other engines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The accelerator, by its label, that is the same device, driven in another way: a schedule uses one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_device_as: Option<String>,
    /// Memory of its own; missing if it shares the CPU's or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Units that each make an output channel at a time (processing elements), for devices that work in waves of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processing_elements: Option<u32>,
    /// Clock frequency, where it is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hertz: Option<u64>,
    /// Supply voltage at that clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volts: Option<f64>,
    /// What its power depends on, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerCoefficients>,
}

/// Sorts of accelerators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AcceleratorKind {
    /// A graphics processor.
    Gpu,
    /// A graphics interface that the CPU's own cores emulate; for tests.
    SoftwareGpu,
    /// A neural processing unit.
    Npu,
    /// A digital signal processor.
    Dsp,
    /// Programmable logic.
    Fpga,
}

impl AcceleratorKind {
    /// Whether it has a graphics interface.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu | Self::SoftwareGpu)
    }
}

impl Accelerator {
    /// One of which no more is known.
    pub fn new(label: impl Into<String>, kind: AcceleratorKind) -> Self {
        Self {
            label: label.into(),
            kind,
            name: None,
            engine: None,
            device: None,
            same_device_as: None,
            memory_bytes: None,
            processing_elements: None,
            hertz: None,
            volts: None,
            power: None,
        }
    }

    /// Whether OpenVINO drives it.
    pub fn is_of_openvino(&self) -> bool {
        self.engine.is_some_and(|engine| engine.as_str() == EngineName::OpenVino.name())
    }
}

impl fmt::Display for AcceleratorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Gpu => "GPU",
            Self::SoftwareGpu => "software GPU",
            Self::Npu => "NPU",
            Self::Dsp => "DSP",
            Self::Fpga => "FPGA",
        })
    }
}

/// What moving data between two clusters or accelerators takes, where the board's documents say it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Label of the cluster or accelerator that sends.
    pub from: String,
    /// Label of the one that receives.
    pub to: String,
    /// Bandwidth: from a kilobyte a second on.
    pub bytes_per_second: f64,
    /// Once per value: a day at the most.
    pub latency_seconds: f64,
    /// The processor that a transfer within a stage occupies; missing if it goes on beside computation. Between stages,
    /// the receiving stage waits for its inputs in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockedEnd>,
}

/// No link takes longer than a day to begin with, and none carries less than a kilobyte a second: nobody waits longer,
/// and sums of such times are numbers. What a link is said to be beyond that is a mistake.
pub(crate) const LONGEST_LINK_LATENCY: f64 = 86_400.0;
/// The other end of that.
pub(crate) const LEAST_LINK_RATE: f64 = 1000.0;

/// Which processor a transfer occupies for its time, by mapping memory or flushing caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockedEnd {
    /// The one that made the value: it sends it right after the operator, to one processor after the other.
    Sender,
    /// The one that needs the value: it fetches it right before the first operator that reads it.
    Receiver,
}
