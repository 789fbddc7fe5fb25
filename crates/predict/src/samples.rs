//! What is measured, in the form in which profiles keep it.

use millstream_board::ProcessorClass;
use millstream_graph::{Along, Family, OperatorKind, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::Statistics;

/// What a model can know of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorRecord {
    /// Its name in the network.
    pub name: String,
    /// Its type as the model file calls it, such as `Conv`.
    pub op_type: String,
    /// What it is to a cost model, with its shape parameters.
    pub kind: OperatorKind,
    /// How much it computes and moves.
    pub work: Work,
    /// Channels of its first input: the second dimension, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_channels: Option<u64>,
}

impl OperatorRecord {
    /// The family whose model applies.
    pub fn family(&self) -> Family {
        self.kind.family()
    }
}

/// What else happened while something was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleConditions {
    /// Part of the time that the hypervisor gave to other guests, from 0 to 1.
    #[serde(default)]
    pub steal_fraction: f64,
    /// Time that other programs had on any core, as a part of the time that passed; above 1 if they had several.
    #[serde(default)]
    pub other_load: f64,
    /// Clock frequency of the processor's first core, where the system reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hertz: Option<f64>,
    /// Whether the system lowered clocks of the processor's cores because of heat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heat_throttled: bool,
}

/// The time of a contiguous range of blocks on one processor, run as one segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentSample {
    /// What it ran on.
    pub processor: ProcessorClass,
    /// First block.
    pub start: usize,
    /// One past the last block.
    pub end: usize,
    /// Bytes that the segment receives from earlier blocks.
    pub input_bytes: u64,
    /// How many processors ran at the same time, this one included; others may have had another engine.
    pub concurrent: usize,
    /// The time of one run.
    pub time: Statistics,
    /// What else happened.
    #[serde(default)]
    pub conditions: SampleConditions,
}

/// The time that operators took which the backend ran as one, within a run of the whole network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorSample {
    /// What they ran on.
    pub processor: ProcessorClass,
    /// The operators, counted through the network's blocks.
    pub operators: Vec<usize>,
    /// How many processors ran at the same time, this one included; others may have had another engine.
    pub concurrent: usize,
    /// The time per frame.
    pub time: Statistics,
    /// What else happened.
    #[serde(default)]
    pub conditions: SampleConditions,
}

/// The time of a part of an operator: some of its output channels or rows, together with the operators that follow it
/// channel by channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartSample {
    /// What it ran on.
    pub processor: ProcessorClass,
    /// The operator and those that follow it, counted through the network's blocks.
    pub operators: Vec<usize>,
    /// What it was divided along.
    #[serde(default)]
    pub along: Along,
    /// Channels or rows that were made.
    pub channels: usize,
    /// Channels or rows of the whole.
    pub of: usize,
    /// How many processors ran at the same time, this one included; others may have had another engine.
    pub concurrent: usize,
    /// The time per frame.
    pub time: Statistics,
    /// What else happened.
    #[serde(default)]
    pub conditions: SampleConditions,
}

/// The time that it takes to hand data from a core of one cluster to a core of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferSample {
    /// Label of the cluster that made the data.
    pub from: String,
    /// Label of the cluster that reads it.
    pub to: String,
    /// How much.
    pub bytes: u64,
    /// How much longer it takes the reader than if it had made the data itself.
    pub time: Statistics,
}

/// The time of a convolution on an accelerator whose threads compute a given number of outputs each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GranularityRecord {
    /// Label of the accelerator.
    pub accelerator: String,
    /// Which outputs a thread computes together: the number of the policy in the paper on thread granularity, 1 to 3.
    pub policy: u32,
    /// How many outputs a thread computes.
    pub granularity: u32,
    /// Multiply-accumulates of the convolution.
    pub macs: u64,
    /// Its time, without transfers.
    pub seconds: f64,
}

/// The power of a cluster under a known load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSample {
    /// Label of the cluster.
    pub cluster: String,
    /// Supply voltage.
    pub volts: f64,
    /// Clock frequency.
    pub hertz: f64,
    /// Part of the cluster's time that was spent working, from 0 to 1.
    pub utilisation: f64,
    /// Power of the cluster, without the rest of the platform.
    pub watts: f64,
}
