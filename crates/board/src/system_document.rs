//! System files.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::document::{BoardDocument, check_link_within_a_day};
use crate::error::BoardError;
use crate::reading::{Document, DocumentError, read_document};
use crate::transfer_precision::TransferPrecision;

/// The `format` of system files.
pub const SYSTEM_FORMAT: &str = "millstream-system";
/// The `version` of system files that is read.
pub const SYSTEM_VERSION: u32 = 1;

/// Several boards and what lies between them, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemDocument {
    /// Always `millstream-system`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// What the system is called.
    pub name: String,
    /// Its boards.
    pub hosts: Vec<HostDocument>,
    /// What connects them. Frames go from one host to another only where there is a link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<HostLinkDocument>,
}

/// A board of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDocument {
    /// Its name in the system, such as `rk`: its processors are `rk/B2`, `rk/s4`.
    pub id: String,
    /// What it is.
    pub board: BoardSource,
    /// Labels of the clusters and accelerators that take part, if not all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// Cost models of the board: a path from the folder of this file, or the name of a built-in board; if missing,
    /// those of the built-in board that `board` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Where it is in the network, such as `rk.local`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What a frame costs the first stage where it comes to this host from outside the system, and results the last
    /// stage where they leave from here, however small they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_seconds_per_frame: f64,
    /// What a byte of frames costs the first stage where they come to this host from outside the system, and a byte of
    /// results the last stage where they leave from here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_seconds_per_frame_byte: f64,
    /// How long the last byte of a frame is on its way from outside the system to this host, and that of results from
    /// here to there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub frame_latency_seconds: f64,
    /// Bandwidth of that way, in each direction; if missing, frames and results take no time on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_bytes_per_second: Option<f64>,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Where the board of a host is described.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BoardSource {
    /// A board file, by its path from the folder of the system file, or the name of a built-in board.
    Named(String),
    /// Here.
    Inline(Box<BoardDocument>),
}

/// Either a text or a board, told apart beforehand, so that a mistake in a board is told with its place.
impl<'de> Deserialize<'de> for BoardSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = BoardSource;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the path of a board file, the name of a built-in board, or a board")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<BoardSource, E> {
                Ok(BoardSource::Named(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BoardSource, A::Error> {
                let board = BoardDocument::deserialize(MapAccessDeserializer::new(map))?;
                Ok(BoardSource::Inline(Box::new(board)))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// What connects two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLinkDocument {
    /// The names of the two hosts.
    pub hosts: [String; 2],
    /// From when the last byte of a frame is sent until it is there.
    pub latency_seconds: f64,
    /// Bandwidth, of each way if it is full duplex.
    pub bytes_per_second: f64,
    /// Whether both ways can be used at once.
    #[serde(default)]
    pub duplex: Duplex,
    /// What a byte costs the stage that sends or receives it, by the name of its host; nothing for a host that is not
    /// named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_seconds_per_byte: BTreeMap<String, f64>,
    /// The same for bytes that are sent, by the name of the host, where these cost something else than bytes that are
    /// received.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_seconds_per_sent_byte: BTreeMap<String, f64>,
    /// What a message costs the stage that sends or receives it beside that, however small it is, by the name of its
    /// host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_seconds_per_message: BTreeMap<String, f64>,
    /// What 32-bit floats are sent as: fewer bits take less time, and change results. Other values go as they are.
    #[serde(default, skip_serializing_if = "TransferPrecision::is_full")]
    pub precision: TransferPrecision,
    /// Where the numbers come from, such as `measured 2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Whether a link carries both ways at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// Each way has the whole bandwidth.
    #[default]
    Full,
    /// Both ways share it, as over Wi-Fi.
    Half,
}

impl Document for SystemDocument {
    const FORMAT: &'static str = SYSTEM_FORMAT;
    const VERSION: u32 = SYSTEM_VERSION;
    const NAME: &'static str = "system file";

    fn validate(&self) -> Result<(), DocumentError> {
        let invalid = |field: String, detail: String| Err(DocumentError::invalid::<Self>(field, detail));
        if self.hosts.is_empty() {
            return invalid("hosts".to_owned(), "is empty, a system needs a host".to_owned());
        }
        let mut names = HashSet::new();
        for (index, host) in self.hosts.iter().enumerate() {
            let id = &host.id;
            let field = format!("hosts[{index}].id");
            let is_plain = id.starts_with(|first: char| first.is_ascii_alphabetic())
                && id.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
            if !is_plain {
                return invalid(field, format!("is '{id}', must be a letter and then letters, digits or _"));
            }

            if id == "outside" {
                return invalid(field, "is 'outside', which is where frames come from; give it another".to_owned());
            }
            let costs = [
                ("cpu_seconds_per_frame", host.cpu_seconds_per_frame),
                ("cpu_seconds_per_frame_byte", host.cpu_seconds_per_frame_byte),
                ("frame_latency_seconds", host.frame_latency_seconds),
            ];
            if let Some((name, cost)) = costs.into_iter().find(|(_, cost)| !(cost.is_finite() && *cost >= 0.0)) {
                return invalid(format!("hosts[{index}].{name}"), format!("is {cost}, must be a number from 0"));
            }
            if let Some(bandwidth) = host.frame_bytes_per_second.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                let field = format!("hosts[{index}].frame_bytes_per_second");
                return invalid(field, format!("is {bandwidth}, must be above 0"));
            }
            let bandwidth = host.frame_bytes_per_second.unwrap_or(f64::INFINITY);
            if let Err((name, detail)) = check_link_within_a_day(bandwidth, host.frame_latency_seconds) {
                return invalid(format!("hosts[{index}].frame_{name}"), detail);
            }

            if !names.insert(id.as_str()) {
                return invalid(
                    field,
                    format!("is '{id}', which another host is called as well; give each its own name"),
                );
            }
        }
        Ok(())
    }
}

impl SystemDocument {
    /// Reads a system file.
    ///
    /// # Errors
    /// [`DocumentError`] says which field is wrong.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        read_document(text)
    }
}

/// Whether links are between hosts that there are, and possible.
pub(crate) fn check_links(links: &[HostLinkDocument], hosts: &[&str]) -> Result<(), BoardError> {
    let mut pairs: Vec<[&str; 2]> = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let invalid =
            |name: &str, detail: String| Err(BoardError::Invalid { field: format!("links[{index}].{name}"), detail });
        let [one, other] = [link.hosts[0].as_str(), link.hosts[1].as_str()];
        if let Some(unknown) = [one, other].into_iter().find(|host| !hosts.contains(host)) {
            return invalid("hosts", format!("names '{unknown}', which is no host; there are {}", hosts.join(", ")));
        }
        if one == other {
            return invalid("hosts", format!("names '{one}' twice; a link has two ends"));
        }
        if pairs.contains(&[one, other]) || pairs.contains(&[other, one]) {
            return invalid("hosts", format!("is a second link between '{one}' and '{other}'; one is enough"));
        }
        pairs.push([one, other]);
        check_numbers(link).or_else(|(name, detail)| invalid(&name, detail))?;
    }
    let is_apart = |host: &&&str| !pairs.iter().any(|pair| pair.contains(*host));
    match hosts.iter().find(|host| hosts.len() > 1 && is_apart(host)) {
        Some(host) => Err(BoardError::Invalid {
            field: "links".to_owned(),
            detail: format!(
                "has none to '{host}': nobody has measured how frames get there; add a link, or leave the host out"
            ),
        }),
        None => Ok(()),
    }
}

/// Whether the numbers of a link are possible; if not, of which field that is, and what is wrong.
fn check_numbers(link: &HostLinkDocument) -> Result<(), (String, String)> {
    if !(link.bytes_per_second.is_finite() && link.bytes_per_second > 0.0) {
        return Err(("bytes_per_second".to_owned(), format!("is {}, must be above 0", link.bytes_per_second)));
    }
    if !(link.latency_seconds.is_finite() && link.latency_seconds >= 0.0) {
        return Err(("latency_seconds".to_owned(), format!("is {}, must be a number from 0", link.latency_seconds)));
    }
    check_link_within_a_day(link.bytes_per_second, link.latency_seconds)
        .map_err(|(name, detail)| (name.to_owned(), detail))?;
    let named = [
        ("cpu_seconds_per_byte", &link.cpu_seconds_per_byte),
        ("cpu_seconds_per_sent_byte", &link.cpu_seconds_per_sent_byte),
        ("cpu_seconds_per_message", &link.cpu_seconds_per_message),
    ];
    for (name, (host, &seconds)) in
        named.into_iter().flat_map(|(name, costs)| costs.iter().map(move |cost| (name, cost)))
    {
        let field = format!("{name}.{host}");
        if !link.hosts.contains(host) {
            return Err((field, format!("is of '{host}', which is none of the link's ends")));
        }
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err((field, format!("is {seconds}, must be a number from 0")));
        }
    }
    Ok(())
}
