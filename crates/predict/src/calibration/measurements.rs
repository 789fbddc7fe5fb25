//! Published measurements of a board, as files keep them.

use millstream_board::{Document, DocumentError, ProcessorClass, read_document};
use millstream_graph::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::line::Line;
use crate::model::{FamilyModel, ModelTerm};
use crate::published::AcceleratorModel;
use millstream_cost::BlockedEnd;

/// The `format` of files of published measurements.
pub const MEASUREMENTS_FORMAT: &str = "millstream-measurements";
/// The `version` of such files that is read.
pub const MEASUREMENTS_VERSION: u32 = 1;

/// What others have measured or stated of a board that one does not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// Always `millstream-measurements`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Whole networks on one cluster or accelerator.
    #[serde(default)]
    pub throughputs: Vec<Throughput>,
    /// Clusters and accelerators whose speed is stated rather than measured.
    #[serde(default)]
    pub stated: Vec<Statement>,
    /// What accelerators do not run.
    #[serde(default)]
    pub unsupported: Vec<Unsupported>,
    /// Power of clusters and accelerators at work.
    #[serde(default)]
    pub powers: Vec<ActivePower>,
    /// What moving data to and from accelerators takes.
    #[serde(default)]
    pub transfers: Vec<StatedTransfer>,
}

/// Frames per second of a whole network on one processor, without pipelining.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// A network of the zoo.
    pub model: String,
    /// The processor.
    pub processor: ProcessorClass,
    /// Frames per second.
    pub frames_per_second: f64,
    /// The clock at which the same core was measured, if not that of the board: times are inversely proportional to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hertz: Option<u64>,
    /// Where it was published.
    pub source: String,
}

/// Coefficients that were published, or that are assumed because none were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Label of the cluster or accelerator.
    pub label: String,
    /// Its speed; of a cluster, that of one core, which others divide by their number.
    pub costs: StatedCosts,
    /// Where it was published, or why it is assumed.
    pub source: String,
}

/// How a speed is stated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StatedCosts {
    /// Seconds by amounts of work, for a family of operators or for all that no other entry names.
    Terms(Vec<FamilyTerms>),
    /// Channels in waves of processing elements (co-scheduling, equations 2 to 9): convolutions only.
    ProcessingElements(AcceleratorModel),
    /// A line over multiply-accumulates per granularity (thread granularity, equations 8 to 13): convolutions only.
    Granularity(Vec<GranularityLine>),
    /// Like another cluster of the board, so many times slower.
    Like {
        /// The other cluster.
        label: String,
        /// How many times slower.
        slowness: f64,
    },
}

/// Terms of a family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyTerms {
    /// The family; missing for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Its terms.
    pub terms: Vec<ModelTerm>,
}

/// Time of a convolution with a granularity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GranularityLine {
    /// Outputs per thread.
    pub granularity: u32,
    /// Seconds by multiply-accumulates.
    pub line: Line,
}

/// Operators that an accelerator does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// Label of the accelerator.
    pub label: String,
    /// Types of operators, as model files call them.
    pub op_types: Vec<String>,
    /// Who says so.
    pub source: String,
}

/// Power of a processor while it runs a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivePower {
    /// The processor.
    pub processor: ProcessorClass,
    /// Beyond what the board draws when nothing runs.
    pub active_watts: f64,
    /// Where it was published.
    pub source: String,
}

/// What moving a value takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedTransfer {
    /// Label of the cluster or accelerator that sends.
    pub from: String,
    /// Label of the one that receives.
    pub to: String,
    /// Once per value.
    pub latency_seconds: f64,
    /// Bandwidth.
    pub bytes_per_second: f64,
    /// The end that it occupies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockedEnd>,
    /// Where it was published, or why it is assumed.
    pub source: String,
}

impl Document for Measurements {
    const FORMAT: &'static str = MEASUREMENTS_FORMAT;
    const VERSION: u32 = MEASUREMENTS_VERSION;
    const NAME: &'static str = "file of measurements";

    fn validate(&self) -> Result<(), DocumentError> {
        let invalid = |field: String, detail: &str| Err(DocumentError::invalid::<Self>(field, detail));
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        for (index, throughput) in self.throughputs.iter().enumerate() {
            if !is_positive(throughput.frames_per_second) {
                return invalid(format!("throughputs[{index}].frames_per_second"), "must be a positive number");
            }
            if throughput.hertz == Some(0) {
                return invalid(format!("throughputs[{index}].hertz"), "is 0, must be positive");
            }
        }

        for (index, stated) in self.stated.iter().enumerate() {
            let field = format!("stated[{index}].costs");
            match &stated.costs {
                StatedCosts::Like { slowness, .. } if !is_positive(*slowness) => {
                    return invalid(format!("{field}.like.slowness"), "must be a positive number");
                }
                StatedCosts::Terms(families) => {
                    for term in families.iter().flat_map(|family| &family.terms) {
                        if !FamilyModel::knows(&term.name) {
                            return invalid(field, &format!("has an unknown term '{}'", term.name));
                        }
                        if !(term.seconds.is_finite() && term.seconds >= 0.0) {
                            return invalid(field, &format!("has '{}' of {}, below 0", term.name, term.seconds));
                        }
                    }
                }
                _ => {}
            }
        }

        for (index, power) in self.powers.iter().enumerate() {
            if !is_positive(power.active_watts) {
                return invalid(format!("powers[{index}].active_watts"), "must be a positive number");
            }
        }
        for (index, transfer) in self.transfers.iter().enumerate() {
            let has_latency = transfer.latency_seconds.is_finite() && transfer.latency_seconds >= 0.0;
            if !(is_positive(transfer.bytes_per_second) && has_latency) {
                return invalid(format!("transfers[{index}]"), "must have a bandwidth above 0 and a latency from 0");
            }
        }
        Ok(())
    }
}

impl Measurements {
    /// Reads a file of measurements.
    ///
    /// # Errors
    /// [`PredictError::Document`] if it is not one, or if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, PredictError> {
        Ok(read_document(text)?)
    }
}
