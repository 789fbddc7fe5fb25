use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reading::check_header;
use crate::{
    Accelerator, Board, BoardError, Cluster, Document, DocumentError, Link, Memory, OperatingPoint, PowerCoefficients,
    Thermal, read_document,
};

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
    /// What runs operators beside the CPU's cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accelerators: Vec<Accelerator>,
    /// What is known beforehand of moving data between clusters and accelerators; the rest is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The memory that they share, where its speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

impl Document for BoardDocument {
    const FORMAT: &'static str = BOARD_FORMAT;
    const VERSION: u32 = BOARD_VERSION;
    const NAME: &'static str = "board file";
}

impl From<DocumentError> for BoardError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Malformed { detail, .. } => Self::Malformed { detail },
            DocumentError::Invalid { field, detail, .. } => Self::Invalid { field, detail },
        }
    }
}

impl Board {
    /// Reads a board file.
    ///
    /// # Errors
    /// [`BoardError::Malformed`] if it is not one, [`BoardError::Invalid`] if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, BoardError> {
        Self::try_from(read_document::<BoardDocument>(text)?)
    }

    /// The board as a file.
    pub fn to_document(&self) -> BoardDocument {
        BoardDocument {
            format: BOARD_FORMAT.to_owned(),
            version: BOARD_VERSION,
            name: self.name.clone(),
            clusters: self.clusters.clone(),
            accelerators: self.accelerators.clone(),
            links: self.links.clone(),
            memory: self.memory,
        }
    }
}

impl TryFrom<BoardDocument> for Board {
    type Error = BoardError;

    fn try_from(document: BoardDocument) -> Result<Self, BoardError> {
        let invalid = |field: String, detail: String| Err(BoardError::Invalid { field, detail });
        check_header::<BoardDocument>(&document.format, document.version)?;
        let mut labels = HashSet::new();
        let mut cores = HashSet::new();
        for (index, cluster) in document.clusters.iter().enumerate() {
            let field = |name: &str| format!("clusters[{index}].{name}");
            check_label(&cluster.label, &mut labels)
                .map_err(|detail| BoardError::Invalid { field: field("label"), detail })?;
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
            check_power(cluster.power.as_ref())
                .map_err(|detail| BoardError::Invalid { field: field("power"), detail })?;
            check_points(&cluster.operating_points)
                .map_err(|(name, detail)| BoardError::Invalid { field: field(name), detail })?;
            check_thermal(cluster.thermal.as_ref())
                .map_err(|detail| BoardError::Invalid { field: field("thermal"), detail })?;
        }
        if document.clusters.is_empty() {
            return invalid("clusters".into(), "is empty, a board needs a cluster".into());
        }
        for (index, accelerator) in document.accelerators.iter().enumerate() {
            let field = |name: &str| format!("accelerators[{index}].{name}");
            check_label(&accelerator.label, &mut labels)
                .map_err(|detail| BoardError::Invalid { field: field("label"), detail })?;
            check_power(accelerator.power.as_ref())
                .map_err(|detail| BoardError::Invalid { field: field("power"), detail })?;
            if accelerator.volts.is_some_and(|volts| !is_positive(volts)) {
                return invalid(field("volts"), "must be a positive number".into());
            }
            let positive = [
                ("memory_bytes", accelerator.memory_bytes),
                ("processing_elements", accelerator.processing_elements.map(u64::from)),
                ("hertz", accelerator.hertz),
            ];
            if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == Some(0)) {
                return invalid(field(name), "is 0, must be positive".into());
            }
        }
        for (index, link) in document.links.iter().enumerate() {
            let field = |name: &str| format!("links[{index}].{name}");
            for (name, label) in [("from", &link.from), ("to", &link.to)] {
                if !labels.contains(label) {
                    let detail = format!("is '{label}', which is neither a cluster nor an accelerator of the board");
                    return invalid(field(name), detail);
                }
            }
            let is_same = |other: &Link| (&other.from, &other.to) == (&link.from, &link.to);
            if document.links[..index].iter().any(is_same) {
                let detail = format!("is a second link from '{}' to '{}'; one is enough", link.from, link.to);
                return invalid(field("to"), detail);
            }
            if !is_positive(link.bytes_per_second) {
                return invalid(field("bytes_per_second"), "must be a positive number".into());
            }
            if !(link.latency_seconds.is_finite() && link.latency_seconds >= 0.0) {
                return invalid(field("latency_seconds"), "must be a number from 0".into());
            }
        }
        if document.memory.is_some_and(|memory| !is_positive(memory.bytes_per_second)) {
            return invalid("memory.bytes_per_second".into(), "must be a positive number".into());
        }
        if let Some(memory) = document.memory.filter(|memory| memory.bytes_per_second < LEAST_MEMORY_RATE) {
            let detail = format!("is {}, must be at least a megabyte a second", memory.bytes_per_second);
            return invalid("memory.bytes_per_second".into(), detail);
        }
        if document.memory.is_some_and(|memory| memory.bytes == Some(0)) {
            return invalid("memory.bytes".into(), "is 0, must be positive".into());
        }
        let mut clusters = document.clusters;
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.capacity));
        let BoardDocument { name, accelerators, links, memory, .. } = document;
        Ok(Self { name, clusters, accelerators, links, memory })
    }
}

/// No memory is slower than this, in bytes a second.
const LEAST_MEMORY_RATE: f64 = 1e6;

/// Adds a label to those that are taken.
fn check_label<'a>(label: &'a String, labels: &mut HashSet<&'a String>) -> Result<(), String> {
    let well_formed = label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label.chars().all(|character| character.is_ascii_alphanumeric());
    if well_formed && labels.insert(label) {
        return Ok(());
    }
    Err(format!("is '{label}', must be unique, a letter and then letters or digits"))
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn check_points(points: &[OperatingPoint]) -> Result<(), (&'static str, String)> {
    if points.iter().any(|point| point.hertz == 0) {
        return Err(("operating_points.hertz", "is 0, must be positive".into()));
    }
    if points.windows(2).any(|pair| pair[0].hertz >= pair[1].hertz) {
        return Err(("operating_points.hertz", "must grow from each operating point to the next".into()));
    }
    match points.iter().filter_map(|point| point.volts).all(is_positive) {
        true => Ok(()),
        false => Err(("operating_points.volts", "must be a positive number".into())),
    }
}

fn check_thermal(thermal: Option<&Thermal>) -> Result<(), String> {
    let Some(thermal) = thermal else { return Ok(()) };
    let Thermal { ambient_celsius, limit_celsius, resume_celsius, kelvin_per_watt, time_constant_seconds } = *thermal;
    if !is_positive(kelvin_per_watt) || !is_positive(time_constant_seconds) {
        return Err("must have a positive number of kelvin_per_watt and time_constant_seconds".into());
    }
    match ambient_celsius < resume_celsius && resume_celsius < limit_celsius && limit_celsius.is_finite() {
        true => Ok(()),
        false => Err("must have ambient_celsius < resume_celsius < limit_celsius".into()),
    }
}

fn check_power(power: Option<&PowerCoefficients>) -> Result<(), String> {
    let values = power.map_or([0.0; 2], |power| [power.capacitance_farads, power.leakage_amperes]);
    match values.iter().all(|value| value.is_finite() && *value >= 0.0) {
        true => Ok(()),
        false => Err("must consist of numbers from 0".into()),
    }
}
