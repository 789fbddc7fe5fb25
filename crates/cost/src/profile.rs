use millstream_board::{Board, BoardDocument, ProcessorClass};
use millstream_graph::{Family, Graph, Work};
use millstream_partition::Chain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CostError, Statistics};

/// The `format` of profile files.
pub const PROFILE_FORMAT: &str = "millstream-profile";
/// The `version` of profile files that is written and read.
pub const PROFILE_VERSION: u32 = 1;

/// Where a document comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of Millstream that wrote it.
    pub tool_version: String,
    /// When, in RFC 3339.
    pub created: String,
}

/// Everything that was measured on a board.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Always `millstream-profile`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The board that was measured.
    pub board: BoardDocument,
    /// [`Board::fingerprint`] of that board.
    pub board_fingerprint: String,
    /// What was measured, per network.
    pub networks: Vec<NetworkProfile>,
}

/// Samples of one network.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkProfile {
    /// The network's name.
    pub name: String,
    /// Digest of the model's content.
    pub digest: String,
    /// Its operators, block by block, in the order in which they run.
    pub blocks: Vec<Vec<OperatorRecord>>,
    /// The measurements.
    pub samples: Vec<SegmentSample>,
}

/// What a model can know of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorRecord {
    /// Its name in the network.
    pub name: String,
    /// Which model applies.
    pub family: Family,
    /// How much it computes and moves.
    pub work: Work,
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
    /// How many processors ran at the same time, this one included.
    pub concurrent: usize,
    /// The time of one run.
    pub time: Statistics,
}

impl Profile {
    /// A profile of this board without samples.
    pub fn new(board: &Board, provenance: Provenance) -> Self {
        Self {
            format: PROFILE_FORMAT.to_owned(),
            version: PROFILE_VERSION,
            provenance,
            board: board.to_document(),
            board_fingerprint: board.fingerprint(),
            networks: Vec::new(),
        }
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// [`CostError::Malformed`] if it is not one, [`CostError::Invalid`] if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, CostError> {
        let malformed = |error: serde_json::Error| CostError::Malformed { detail: error.to_string() };
        let profile: Self = serde_json::from_str(text).map_err(malformed)?;
        profile.validate()?;
        Ok(profile)
    }

    fn validate(&self) -> Result<(), CostError> {
        let invalid = |field: String, detail: String| Err(CostError::Invalid { field, detail });
        if self.format != PROFILE_FORMAT {
            return invalid("format".into(), format!("is '{}', must be '{PROFILE_FORMAT}'", self.format));
        }
        if self.version != PROFILE_VERSION {
            return invalid("version".into(), format!("is {}, this tool reads {PROFILE_VERSION}", self.version));
        }
        for (network_index, network) in self.networks.iter().enumerate() {
            for (index, sample) in network.samples.iter().enumerate() {
                let field = |name: &str| format!("networks[{network_index}].samples[{index}].{name}");
                if sample.start >= sample.end || sample.end > network.blocks.len() {
                    return invalid(field("end"), format!("gives the range {}..{}", sample.start, sample.end));
                }
                let median = sample.time.median_seconds;
                if !(median.is_finite() && median > 0.0) {
                    return invalid(field("time.median_seconds"), format!("is {median}, must be positive"));
                }
                if !(sample.time.mad_seconds.is_finite() && sample.time.mad_seconds >= 0.0) {
                    return invalid(field("time.mad_seconds"), "must be a number from 0".into());
                }
            }
        }
        Ok(())
    }

    /// Whether the profile is of this board.
    ///
    /// # Errors
    /// [`CostError::OtherBoard`] if it is not.
    pub fn check_board(&self, board: &Board) -> Result<(), CostError> {
        let board_fingerprint = board.fingerprint();
        if self.board_fingerprint == board_fingerprint {
            return Ok(());
        }
        Err(CostError::OtherBoard {
            profile: self.board.name.clone(),
            profile_fingerprint: self.board_fingerprint.clone(),
            board: board.name().to_owned(),
            board_fingerprint,
        })
    }

    /// The samples of the model with this digest.
    pub fn network(&self, digest: &str) -> Option<&NetworkProfile> {
        self.networks.iter().find(|network| network.digest == digest)
    }
}

impl NetworkProfile {
    /// A network without samples.
    pub fn new(digest: &str, graph: &Graph, chain: &Chain) -> Self {
        Self {
            name: graph.name().to_owned(),
            digest: digest.to_owned(),
            blocks: records(graph, chain),
            samples: Vec::new(),
        }
    }
}

/// The blocks of a chain as the profile records them.
pub(crate) fn records(graph: &Graph, chain: &Chain) -> Vec<Vec<OperatorRecord>> {
    let record = |&id| {
        let operator = graph.operator(id);
        OperatorRecord { name: operator.name.clone(), family: operator.kind.family(), work: operator.work }
    };
    chain.blocks().iter().map(|block| block.operators.iter().map(record).collect()).collect()
}
