//! Execution providers of ONNX Runtime in board files, and checks of how a board uses them.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accelerator::Accelerator;
use crate::asked_engines::ALL;
use crate::cluster::Cluster;
use crate::engine::EngineName;
use crate::engine_label::EngineLabel;
use crate::error::BoardError;

/// An execution provider of ONNX Runtime as an engine: of clusters, where it brings other kernels for their cores, or
/// of an accelerator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The engine's name in this file: a letter, then letters or digits, at most 24.
    pub engine: EngineLabel,
    /// What ONNX Runtime calls the provider, such as `QNNExecutionProvider`.
    pub provider: ProviderName,
    /// The provider's options, as its documentation has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The file of a plug-in that brings the provider; missing if ONNX Runtime was built with it. In a board file, a path
    /// with a folder counts from the folder of that file; a name alone is looked for where the system has libraries.
    /// With a plug-in elsewhere, it is another board: what was measured with it is not known of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
    /// Which of a plug-in's devices, counted from 0; missing if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<usize>,
}

impl Provider {
    /// The engine's name.
    pub fn engine(&self) -> EngineName {
        EngineName::Provider(self.engine)
    }
}

/// What ONNX Runtime calls an execution provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ProviderName(String);

impl ProviderName {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProviderName {
    type Error = BoardError;

    fn try_from(name: String) -> Result<Self, BoardError> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (1..=MOST_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_part) {
            Ok(Self(name))
        } else {
            Err(BoardError::ProviderName { name })
        }
    }
}

impl From<ProviderName> for String {
    fn from(name: ProviderName) -> Self {
        name.0
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// No provider has a longer name: what hands it to ONNX Runtime has room for so much.
const MOST_NAME_BYTES: usize = 100;

/// Checks providers, and that clusters and accelerators name no others.
pub(crate) fn check(
    providers: &[Provider],
    clusters: &[Cluster],
    accelerators: &[Accelerator],
) -> Result<(), BoardError> {
    let mut engines = HashSet::new();
    for (index, provider) in providers.iter().enumerate() {
        let field = |name: &str| format!("providers[{index}].{name}");
        if !engines.insert(provider.engine) {
            return invalid(field("engine"), format!("is '{}' a second time", provider.engine));
        }
        if provider.engine.as_str().eq_ignore_ascii_case(ALL) {
            return invalid(field("engine"), format!("is '{ALL}', which means several: a provider needs another name"));
        }
        if is_on_every_board(provider.engine) {
            let detail = format!("is '{}', which every board has: a provider needs another name", provider.engine);
            return invalid(field("engine"), detail);
        }

        if let Some((key, _)) = provider.options.iter().find(|(key, value)| !is_option(key, value)) {
            let detail = format!("has '{}': options have a name, and no control characters", key.escape_default());
            return invalid(field("options"), detail);
        }
        let path = provider.library.as_deref().map(|library| library.to_string_lossy());
        if path.is_some_and(|path| path.is_empty() || path.contains(char::is_control)) {
            return invalid(field("library"), "must be the path of a plug-in's file");
        }
        if provider.device.is_some() && provider.library.is_none() {
            return invalid(
                field("device"),
                "is for plug-ins, which have a library; others choose it by their options",
            );
        }
    }
    check_uses(providers, clusters, accelerators)
}

fn check_uses(providers: &[Provider], clusters: &[Cluster], accelerators: &[Accelerator]) -> Result<(), BoardError> {
    let all = || EngineName::known().chain(providers.iter().map(Provider::engine));
    for (index, cluster) in clusters.iter().enumerate() {
        if let Some(unknown) = cluster.engines.iter().find(|engine| all().all(|known| known != *engine)) {
            let detail = format!("names '{unknown}'; {}", there_are(providers));
            return invalid(format!("clusters[{index}].engines"), detail);
        }
    }
    for (index, accelerator) in accelerators.iter().enumerate() {
        if accelerator.device.is_some() && !accelerator.is_of_openvino() {
            let detail = "is for accelerators with the engine openvino; a provider's options choose its device";
            return invalid(format!("accelerators[{index}].device"), detail);
        }
        if accelerator.device.as_deref().is_some_and(|device| device.split('.').next() == Some("CPU")) {
            let detail = "is the cores, which are no accelerator: name openvino in `engines` of a cluster";
            return invalid(format!("accelerators[{index}].device"), detail);
        }
        let Some(engine) = accelerator.engine.filter(|_| !accelerator.is_of_openvino()) else { continue };
        if providers.iter().all(|provider| provider.engine != engine) {
            let detail = if is_on_every_board(engine) {
                format!("is '{engine}', which is for cores: an accelerator has openvino, or a provider")
            } else {
                format!("is '{engine}', which is neither openvino nor one of `providers`: {}", labels(providers))
            };
            return invalid(format!("accelerators[{index}].engine"), detail);
        }
    }
    Ok(())
}

/// Whether boards have an engine of this name without naming it as a provider.
fn is_on_every_board(engine: EngineLabel) -> bool {
    EngineName::known().any(|known| known.name() == engine.as_str())
}

/// The engines that a board may name, for messages.
fn there_are(providers: &[Provider]) -> String {
    let names: Vec<String> = EngineName::known().map(|engine| engine.to_string()).collect();
    format!("clusters may have {}, and what stands in `providers`: {}", names.join(", "), labels(providers))
}

fn labels(providers: &[Provider]) -> String {
    let labels: Vec<&str> = providers.iter().map(|provider| provider.engine.as_str()).collect();
    if labels.is_empty() { "there are none".to_owned() } else { labels.join(", ") }
}

fn is_option(key: &str, value: &str) -> bool {
    !key.is_empty() && !key.chars().chain(value.chars()).any(char::is_control)
}

fn invalid<T>(field: String, detail: impl Into<String>) -> Result<T, BoardError> {
    Err(BoardError::Invalid { field, detail: detail.into() })
}
