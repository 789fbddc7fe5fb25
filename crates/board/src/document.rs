//! Board files, and the checks that make boards of them.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accelerator::{Accelerator, LEAST_LINK_RATE, LONGEST_LINK_LATENCY, Link};
use crate::board::{Board, Memory};
use crate::cluster::{Cluster, OperatingPoint, PowerCoefficients, Thermal};
use crate::error::BoardError;
use crate::provider::Provider;
use crate::reading::{Document, DocumentError, check_header, read_document};
use crate::{label, provider};

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
    /// Execution providers of ONNX Runtime that clusters and accelerators may name as engines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<Provider>,
    /// What is known beforehand of moving data between clusters and accelerators; the rest is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The memory that they share, where its speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// How many cores' time a container may use on all cores together, where that is less than all of it: its threads
    /// wait once they have used it up, so that what is measured is slower than on a core alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cores: Option<f64>,
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
    /// A board of these clusters and nothing else. They are sorted from the fastest to the slowest, by their first
    /// cores where they are equally fast, and labelled in that order: `B`, `m`, `m2` and so on, and `s` for the last.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if there is no cluster, a cluster is impossible, or a core is in two.
    pub fn from_clusters(name: impl Into<String>, mut clusters: Vec<Cluster>) -> Result<Self, BoardError> {
        label::sort_and_label(&mut clusters);
        Self::try_from(BoardDocument {
            format: BOARD_FORMAT.to_owned(),
            version: BOARD_VERSION,
            name: name.into(),
            clusters,
            accelerators: Vec::new(),
            providers: Vec::new(),
            links: Vec::new(),
            memory: None,
            quota_cores: None,
        })
    }

    /// The same board in a container that may use so many cores' time; without a quota if its cores have no more.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if it is not a positive number.
    pub fn with_quota(&self, quota_cores: f64) -> Result<Self, BoardError> {
        Self::try_from(BoardDocument { quota_cores: Some(quota_cores), ..self.to_document() })
    }

    /// The same board with these accelerators.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] if a label is taken, or an engine is none of its providers.
    pub fn with_accelerators(&self, accelerators: Vec<Accelerator>) -> Result<Self, BoardError> {
        Self::try_from(BoardDocument { accelerators, ..self.to_document() })
    }

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
            providers: self.providers.clone(),
            links: self.links.clone(),
            memory: self.memory,
            quota_cores: self.quota_cores,
        }
    }
}

impl TryFrom<BoardDocument> for Board {
    type Error = BoardError;

    fn try_from(document: BoardDocument) -> Result<Self, BoardError> {
        check_header::<BoardDocument>(&document.format, document.version)?;
        let mut labels = HashSet::new();
        check_clusters(&document.clusters, &mut labels)?;
        check_accelerators(&document.accelerators, &mut labels)?;
        provider::check(&document.providers, &document.clusters, &document.accelerators)?;
        check_links(&document.links, &labels)?;
        check_memory(document.memory)?;
        if document.quota_cores.is_some_and(|cores| !is_positive(cores)) {
            return invalid("quota_cores".into(), "must be a positive number");
        }

        let mut clusters = document.clusters;
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.capacity));
        let cores = clusters.iter().map(|cluster| cluster.cores.len()).sum::<usize>();
        let quota_cores = document.quota_cores.filter(|quota| *quota < cores as f64);
        let BoardDocument { name, accelerators, providers, links, memory, .. } = document;
        Ok(Self { name, clusters, accelerators, providers, links, memory, quota_cores })
    }
}

fn invalid<T>(field: String, detail: impl Into<String>) -> Result<T, BoardError> {
    Err(BoardError::Invalid { field, detail: detail.into() })
}

fn check_clusters<'a>(clusters: &'a [Cluster], labels: &mut HashSet<&'a String>) -> Result<(), BoardError> {
    let mut cores = HashSet::new();
    for (index, cluster) in clusters.iter().enumerate() {
        let field = |name: &str| format!("clusters[{index}].{name}");
        check_label(&cluster.label, labels).or_else(|detail| invalid(field("label"), detail))?;
        if cluster.capacity == 0 {
            return invalid(field("capacity"), "is 0, must be at least 1");
        }
        if cluster.cores.is_empty() {
            return invalid(field("cores"), "is empty, a cluster needs a core");
        }
        for core in &cluster.cores {
            if !cores.insert(core.id) {
                return invalid(field("cores"), format!("names core {} a second time", core.id));
            }
            if core.emulated_slowdown.is_some_and(|factor| !(factor.is_finite() && factor >= 1.0)) {
                return invalid(field("cores.emulated_slowdown"), "must be a number from 1");
            }
        }
        check_power(cluster.power.as_ref()).or_else(|detail| invalid(field("power"), detail))?;
        check_points(&cluster.operating_points).or_else(|(name, detail)| invalid(field(name), detail))?;
        check_thermal(cluster.thermal.as_ref()).or_else(|detail| invalid(field("thermal"), detail))?;
    }
    if clusters.is_empty() { invalid("clusters".into(), "is empty, a board needs a cluster") } else { Ok(()) }
}

fn check_accelerators<'a>(accelerators: &'a [Accelerator], labels: &mut HashSet<&'a String>) -> Result<(), BoardError> {
    for (index, accelerator) in accelerators.iter().enumerate() {
        let field = |name: &str| format!("accelerators[{index}].{name}");
        check_label(&accelerator.label, labels).or_else(|detail| invalid(field("label"), detail))?;
        check_power(accelerator.power.as_ref()).or_else(|detail| invalid(field("power"), detail))?;
        if accelerator.volts.is_some_and(|volts| !is_positive(volts)) {
            return invalid(field("volts"), "must be a positive number");
        }
        let positive = [
            ("memory_bytes", accelerator.memory_bytes),
            ("processing_elements", accelerator.processing_elements.map(u64::from)),
            ("hertz", accelerator.hertz),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == Some(0)) {
            return invalid(field(name), "is 0, must be positive");
        }
        if let Some(same) = &accelerator.same_device_as {
            let checked = check_same_device(accelerator, same, accelerators);
            checked.or_else(|detail| invalid(field("same_device_as"), detail))?;
        }
    }
    Ok(())
}

/// Whether an accelerator may be the same device as another one.
fn check_same_device(accelerator: &Accelerator, same: &str, all: &[Accelerator]) -> Result<(), String> {
    let Some(other) = all.iter().find(|other| other.label == same) else {
        return Err(format!("is '{same}', which is no accelerator of the board"));
    };
    if accelerator.label == same {
        return Err(format!("is '{same}', the accelerator itself"));
    }
    match &other.same_device_as {
        Some(first) => Err(format!("is '{same}', which is the same device as '{first}': name that one")),
        None => Ok(()),
    }
}

fn check_links(links: &[Link], labels: &HashSet<&String>) -> Result<(), BoardError> {
    for (index, link) in links.iter().enumerate() {
        let field = |name: &str| format!("links[{index}].{name}");
        for (name, label) in [("from", &link.from), ("to", &link.to)] {
            if !labels.contains(label) {
                let detail = format!("is '{label}', which is neither a cluster nor an accelerator of the board");
                return invalid(field(name), detail);
            }
        }
        if link.from == link.to {
            let detail = format!("is '{}', where the link comes from; cores of a cluster need no link", link.to);
            return invalid(field("to"), detail);
        }
        let is_same = |other: &Link| (&other.from, &other.to) == (&link.from, &link.to);
        if links[..index].iter().any(is_same) {
            let detail = format!("is a second link from '{}' to '{}'; one is enough", link.from, link.to);
            return invalid(field("to"), detail);
        }
        if !is_positive(link.bytes_per_second) {
            return invalid(field("bytes_per_second"), "must be a positive number");
        }
        if !(link.latency_seconds.is_finite() && link.latency_seconds >= 0.0) {
            return invalid(field("latency_seconds"), "must be a number from 0");
        }
        if let Err((name, detail)) = check_link_within_a_day(link.bytes_per_second, link.latency_seconds) {
            return invalid(field(name), detail);
        }
    }
    Ok(())
}

/// Whether a link is one that anybody waits for; if not, which number it is, and what is wrong with it.
pub(crate) fn check_link_within_a_day(
    bytes_per_second: f64,
    latency_seconds: f64,
) -> Result<(), (&'static str, String)> {
    if bytes_per_second < LEAST_LINK_RATE {
        let detail = format!("is {bytes_per_second}, must be at least a kilobyte a second ({LEAST_LINK_RATE})");
        return Err(("bytes_per_second", detail));
    }
    if latency_seconds > LONGEST_LINK_LATENCY {
        let detail = format!("is {latency_seconds}, must be a day at the most ({LONGEST_LINK_LATENCY} seconds)");
        return Err(("latency_seconds", detail));
    }
    Ok(())
}

fn check_memory(memory: Option<Memory>) -> Result<(), BoardError> {
    let Some(Memory { bytes_per_second, bytes }) = memory else { return Ok(()) };
    let rate = || "memory.bytes_per_second".to_owned();
    if !is_positive(bytes_per_second) {
        return invalid(rate(), "must be a positive number");
    }
    if bytes_per_second < LEAST_MEMORY_RATE {
        return invalid(rate(), format!("is {bytes_per_second}, must be at least a megabyte a second"));
    }
    match bytes {
        Some(0) => invalid("memory.bytes".into(), "is 0, must be positive"),
        _ => Ok(()),
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
    if points.iter().filter_map(|point| point.volts).all(is_positive) {
        Ok(())
    } else {
        Err(("operating_points.volts", "must be a positive number".into()))
    }
}

fn check_thermal(thermal: Option<&Thermal>) -> Result<(), String> {
    let Some(thermal) = thermal else { return Ok(()) };
    let Thermal { ambient_celsius, limit_celsius, resume_celsius, kelvin_per_watt, time_constant_seconds } = *thermal;
    if !is_positive(kelvin_per_watt) || !is_positive(time_constant_seconds) {
        return Err("must have a positive number of kelvin_per_watt and time_constant_seconds".into());
    }
    if ambient_celsius < resume_celsius && resume_celsius < limit_celsius && limit_celsius.is_finite() {
        Ok(())
    } else {
        Err("must have ambient_celsius < resume_celsius < limit_celsius".into())
    }
}

fn check_power(power: Option<&PowerCoefficients>) -> Result<(), String> {
    let values = power.map_or([0.0; 2], |power| [power.capacitance_farads, power.leakage_amperes]);
    if values.iter().all(|value| value.is_finite() && *value >= 0.0) {
        Ok(())
    } else {
        Err("must consist of numbers from 0".into())
    }
}
