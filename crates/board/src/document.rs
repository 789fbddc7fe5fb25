use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Board, BoardError, Cluster};

/// The `format` of board files.
pub const BOARD_FORMAT: &str = "millstream-board";
/// The newest `version` of board files that is read.
pub const BOARD_VERSION: u32 = 1;

/// A board as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDocument {
    /// Always `millstream-board`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// What the board is called.
    pub name: String,
    /// Its clusters, in any order.
    pub clusters: Vec<Cluster>,
}

impl Board {
    /// Reads a board file.
    ///
    /// # Errors
    /// [`BoardError::Malformed`] if it is not one, [`BoardError::Invalid`] if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, BoardError> {
        let malformed = |error: serde_json::Error| BoardError::Malformed { detail: error.to_string() };
        let document: BoardDocument = serde_json::from_str(text).map_err(malformed)?;
        Self::try_from(document)
    }

    /// The board as a file.
    pub fn to_document(&self) -> BoardDocument {
        BoardDocument {
            format: BOARD_FORMAT.to_owned(),
            version: BOARD_VERSION,
            name: self.name.clone(),
            clusters: self.clusters.clone(),
        }
    }
}

impl TryFrom<BoardDocument> for Board {
    type Error = BoardError;

    fn try_from(document: BoardDocument) -> Result<Self, BoardError> {
        let invalid = |field: String, detail: String| Err(BoardError::Invalid { field, detail });
        if document.format != BOARD_FORMAT {
            return invalid("format".into(), format!("is '{}', must be '{BOARD_FORMAT}'", document.format));
        }
        if document.version != BOARD_VERSION {
            let detail = format!("is {}, this version of Millstream reads {BOARD_VERSION}", document.version);
            return invalid("version".into(), detail);
        }
        let mut labels = HashSet::new();
        let mut cores = HashSet::new();
        for (index, cluster) in document.clusters.iter().enumerate() {
            let field = |name: &str| format!("clusters[{index}].{name}");
            let well_formed = cluster.label.starts_with(|first: char| first.is_ascii_alphabetic())
                && cluster.label.chars().all(|character| character.is_ascii_alphanumeric());
            if !well_formed || !labels.insert(&cluster.label) {
                let detail = format!("is '{}', must be unique, a letter and then letters or digits", cluster.label);
                return invalid(field("label"), detail);
            }
            if cluster.capacity == 0 {
                return invalid(field("capacity"), "is 0, must be at least 1".into());
            }
            if cluster.cores.is_empty() {
                return invalid(field("cores"), "is empty, a cluster needs a core".into());
            }
            for core in &cluster.cores {
                if !cores.insert(core.id) {
                    return invalid(field("cores"), format!("names core {} a second time", core.id));
                }
                if core.emulated_slowdown.is_some_and(|factor| !(factor.is_finite() && factor >= 1.0)) {
                    return invalid(field("cores.emulated_slowdown"), "must be a number from 1".into());
                }
            }
            let power = cluster.power.map_or([0.0; 2], |power| [power.capacitance_farads, power.leakage_amperes]);
            if power.iter().any(|value| !(value.is_finite() && *value >= 0.0)) {
                return invalid(field("power"), "must consist of numbers from 0".into());
            }
            if cluster.operating_points.iter().any(|point| point.hertz == 0) {
                return invalid(field("operating_points.hertz"), "is 0, must be positive".into());
            }
        }
        if document.clusters.is_empty() {
            return invalid("clusters".into(), "is empty, a board needs a cluster".into());
        }
        let mut clusters = document.clusters;
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.capacity));
        Ok(Self { name: document.name, clusters })
    }
}
