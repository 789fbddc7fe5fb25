//! Profiles: everything that was measured on a board, as files keep it.

use std::collections::{BTreeMap, HashSet};

use millstream_board::{Board, BoardDocument, Document, DocumentError, ProcessorClass, Provenance, read_document};
use millstream_graph::Graph;
use millstream_partition::Chain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::left_out::LeftOutEngine;
use crate::samples::{
    GranularityRecord, OperatorRecord, OperatorSample, PartSample, PowerSample, SegmentSample, TransferSample,
};
use crate::statistics::Statistics;
use crate::unsupported::UnsupportedOperators;

/// The `format` of profile files.
pub const PROFILE_FORMAT: &str = "millstream-profile";
/// The `version` of profile files that is written and read.
pub const PROFILE_VERSION: u32 = 2;

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
    /// What handing data between clusters takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferSample>,
    /// Times of convolutions by thread granularity, on accelerators that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granularity: Vec<GranularityRecord>,
    /// Power under load, where the machine has sensors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power: Vec<PowerSample>,
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
    /// Times of segments.
    pub samples: Vec<SegmentSample>,
    /// Times of operators in context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_samples: Vec<OperatorSample>,
    /// Times of parts of operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_samples: Vec<PartSample>,
    /// Engines that were not measured further, so that no schedule of the network uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutEngine>,
    /// Operators that engines do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<UnsupportedOperators>,
    /// Versions of the libraries that were measured, by `onnxruntime` and `openvino`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub library_versions: BTreeMap<String, String>,
}

impl Document for Profile {
    const FORMAT: &'static str = PROFILE_FORMAT;
    const VERSION: u32 = PROFILE_VERSION;
    const NAME: &'static str = "profile";

    fn validate(&self) -> Result<(), DocumentError> {
        let invalid = |field: String, detail: String| Err(DocumentError::invalid::<Self>(field, detail));
        for (network_index, network) in self.networks.iter().enumerate() {
            let operators = network.operators().count();
            let field = |samples: &str, index: usize, name: &str| {
                format!("networks[{network_index}].{samples}[{index}].{name}")
            };
            for (index, sample) in network.samples.iter().enumerate() {
                if sample.start >= sample.end || sample.end > network.blocks.len() {
                    let range = format!("gives the range {}..{}", sample.start, sample.end);
                    return invalid(field("samples", index, "end"), range);
                }
                check_time(&sample.time, &field("samples", index, "time"))?;
            }
            for (index, sample) in network.operator_samples.iter().enumerate() {
                check_operators(&sample.operators, operators, field("operator_samples", index, "operators"))?;
                check_time(&sample.time, &field("operator_samples", index, "time"))?;
            }
            for (index, unsupported) in network.unsupported.iter().enumerate() {
                check_operators(&unsupported.operators, operators, field("unsupported", index, "operators"))?;
            }
            for (index, sample) in network.part_samples.iter().enumerate() {
                check_operators(&sample.operators, operators, field("part_samples", index, "operators"))?;
                if sample.channels == 0 || sample.channels > sample.of {
                    let detail = format!("is {}, must be 1 to {}", sample.channels, sample.of);
                    return invalid(field("part_samples", index, "channels"), detail);
                }
                check_time(&sample.time, &field("part_samples", index, "time"))?;
            }
        }

        for (index, sample) in self.transfers.iter().enumerate() {
            let seconds = sample.time.median_seconds;
            if !(seconds.is_finite() && seconds >= 0.0) {
                let field = format!("transfers[{index}].time.median_seconds");
                return invalid(field, format!("is {seconds}, must be a number from 0"));
            }
        }

        for (index, sample) in self.power.iter().enumerate() {
            let fields = [
                ("volts", sample.volts),
                ("hertz", sample.hertz),
                ("utilisation", sample.utilisation),
                ("watts", sample.watts),
            ];
            if let Some((name, value)) = fields.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
                return invalid(format!("power[{index}].{name}"), format!("is {value}, must be a number from 0"));
            }
        }
        Ok(())
    }
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
            transfers: Vec::new(),
            granularity: Vec::new(),
            power: Vec::new(),
        }
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// [`PredictError::Document`] if it is not one, or if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, PredictError> {
        Ok(read_document(text)?)
    }

    /// Whether an engine was skipped on this class wherever networks were measured, because others are quicker there.
    pub(crate) fn leaves_out(&self, class: &ProcessorClass) -> bool {
        self.networks.iter().any(|network| network.left_out.iter().any(|skipped| skipped.concerns(class)))
    }

    /// Whether the profile is of this board.
    ///
    /// # Errors
    /// [`PredictError::OtherBoard`] if it is not.
    pub fn check_board(&self, board: &Board) -> Result<(), PredictError> {
        check_board("profile is", &self.board.name, &self.board_fingerprint, board)
    }

    /// The board that was measured.
    ///
    /// # Errors
    /// [`PredictError::Document`] if the document says something impossible of it.
    pub fn board(&self) -> Result<Board, PredictError> {
        let invalid = |detail: String| PredictError::from(DocumentError::invalid::<Self>("board", detail));
        let board = Board::try_from(self.board.clone()).map_err(|error| invalid(error.to_string()))?;
        if board.fingerprint() == self.board_fingerprint {
            return Ok(board);
        }
        Err(invalid(format!("has the fingerprint {}, not {}", board.fingerprint(), self.board_fingerprint)))
    }

    /// The processor classes that were measured, in the order of the board.
    pub fn classes(&self) -> Vec<ProcessorClass> {
        let of_network = |network: &NetworkProfile| {
            let segments = network.samples.iter().map(|sample| sample.processor.clone());
            segments.chain(network.operator_samples.iter().map(|sample| sample.processor.clone())).collect::<Vec<_>>()
        };
        let measured: HashSet<ProcessorClass> = self.networks.iter().flat_map(of_network).collect();
        let position =
            |class: &ProcessorClass| self.board.clusters.iter().position(|cluster| cluster.label == class.cluster);
        let mut classes: Vec<ProcessorClass> = measured.into_iter().collect();
        // Accelerators come after the clusters.
        classes.sort_by_key(|class| (position(class).is_none(), position(class), class.clone()));
        classes
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
            operator_samples: Vec::new(),
            part_samples: Vec::new(),
            left_out: Vec::new(),
            unsupported: Vec::new(),
            library_versions: BTreeMap::new(),
        }
    }

    /// The operators, block by block, as operator samples count them.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorRecord> {
        self.blocks.iter().flatten()
    }
}

/// Whether a document of the board of this name and fingerprint is of `board`; `what` is for people.
pub(crate) fn check_board(
    what: &'static str,
    name: &str,
    fingerprint: &str,
    board: &Board,
) -> Result<(), PredictError> {
    let board_fingerprint = board.fingerprint();
    if fingerprint == board_fingerprint {
        return Ok(());
    }
    Err(PredictError::OtherBoard {
        what,
        profile: name.to_owned(),
        profile_fingerprint: fingerprint.to_owned(),
        board: board.name().to_owned(),
        board_fingerprint,
    })
}

/// Whether a sample names operators that the network has.
fn check_operators(named: &[usize], count: usize, field: String) -> Result<(), DocumentError> {
    if !named.is_empty() && named.iter().all(|&operator| operator < count) {
        Ok(())
    } else {
        let detail = format!("must name operators below {count}, but is {named:?}");
        Err(DocumentError::invalid::<Profile>(field, detail))
    }
}

fn check_time(time: &Statistics, field: &str) -> Result<(), DocumentError> {
    let invalid = |field: String, detail: String| Err(DocumentError::invalid::<Profile>(field, detail));
    let median = time.median_seconds;
    if !(median.is_finite() && median > 0.0) {
        return invalid(format!("{field}.median_seconds"), format!("is {median}, must be positive"));
    }
    if !(time.mad_seconds.is_finite() && time.mad_seconds >= 0.0) {
        return invalid(format!("{field}.mad_seconds"), "must be a number from 0".into());
    }
    Ok(())
}

/// The blocks of a chain as the profile records them.
pub(crate) fn records(graph: &Graph, chain: &Chain) -> Vec<Vec<OperatorRecord>> {
    let record = |&id| {
        let operator = graph.operator(id);
        OperatorRecord {
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            kind: operator.kind.clone(),
            work: operator.work,
            input_channels: operator
                .inputs
                .first()
                .and_then(|&value| graph.value(value).shape.as_ref())
                .and_then(|shape| shape.dimensions().get(1).map(|&channels| channels as u64)),
        }
    };
    chain.blocks().iter().map(|block| block.operators.iter().map(record).collect()).collect()
}
