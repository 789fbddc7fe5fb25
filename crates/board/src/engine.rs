use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BoardError;

/// What computes operators on cores. Processors of the same cores with different engines are different processors to whoever plans: they
/// take other times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EngineName {
    /// ONNX Runtime.
    #[default]
    OnnxRuntime,
    /// OpenVINO.
    OpenVino,
}

impl EngineName {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OnnxRuntime, Self::OpenVino];

    /// As it stands in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnnxRuntime => "onnxruntime",
            Self::OpenVino => "openvino",
        }
    }

    /// Whether it is the one that is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for EngineName {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        Self::ALL.into_iter().find(|engine| engine.name() == text).ok_or_else(|| BoardError::UnknownEngine {
            engine: text.to_owned(),
            engines: Self::ALL.map(|engine| engine.name().to_owned()).to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for engine in EngineName::ALL {
            assert_eq!(engine.name().parse::<EngineName>().unwrap(), engine);
            assert_eq!(serde_json::to_string(&engine).unwrap(), format!("\"{engine}\""));
        }
        let error = "tensorrt".parse::<EngineName>().unwrap_err().to_string();
        assert_eq!(error, "there is no engine 'tensorrt'; there are onnxruntime, openvino");
    }
}
