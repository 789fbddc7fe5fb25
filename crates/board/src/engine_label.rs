//! Names of a board's own engines, short enough to be stored and copied without allocation.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name that a board file gives an engine of its own: a letter, then letters or digits, at most 24. It is small,
/// and copied with each processor that has the engine.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct EngineLabel {
    pub(crate) bytes: [u8; MOST_BYTES],
    pub(crate) length: u8,
}

/// The longest label.
pub(crate) const MOST_BYTES: usize = 24;

/// What ONNX Runtime's names of providers end with.
const PROVIDER_ENDING: &str = "ExecutionProvider";

impl EngineLabel {
    /// What a provider of ONNX Runtime is called as an engine: its name without `ExecutionProvider`, in small letters.
    /// `None` for names that do not end so, and where what is left is no name of an engine.
    pub fn of_provider(name: &str) -> Option<Self> {
        Self::try_from(name.strip_suffix(PROVIDER_ENDING)?.to_ascii_lowercase()).ok()
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl From<EngineLabel> for String {
    fn from(label: EngineLabel) -> Self {
        label.as_str().to_owned()
    }
}

impl PartialEq for EngineLabel {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for EngineLabel {}

impl Hash for EngineLabel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialOrd for EngineLabel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EngineLabel {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for EngineLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(formatter)
    }
}

impl fmt::Display for EngineLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_label_is_what_stage_configurations_can_say() {
        let longest = "a23456789012345678901234";
        for text in ["a", "xnnpack", "Htp2", longest] {
            assert_eq!(EngineLabel::try_from(text).unwrap().as_str(), text);
        }
        for text in ["", "2", "a-b", "a@b", "ä", "a b", &format!("{longest}5")] {
            let error = EngineLabel::try_from(text).unwrap_err().to_string();
            assert!(error.contains("a letter, then letters or digits"), "{error}");
        }
    }

    #[test]
    fn labels_are_ordered_and_told_apart_by_their_text() {
        let label = |text: &str| EngineLabel::try_from(text).unwrap();
        assert!(label("acl") < label("b") && label("a") < label("aa") && label("a") != label("aa"));
        assert_eq!(serde_json::to_string(&label("acl")).unwrap(), "\"acl\"");
        assert_eq!(serde_json::from_str::<EngineLabel>("\"acl\"").unwrap(), label("acl"));
    }
}
