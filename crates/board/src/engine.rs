use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BoardError;

/// What computes operators on cores. The same cores with another engine are another processor to whoever plans: they take other times.
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

    /// As people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::OnnxRuntime => "ONNX Runtime",
            Self::OpenVino => "OpenVINO",
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

/// Engines that the cores of a cluster may compute with: at least one, each once. The first is used where nothing was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<EngineName>", into = "Vec<EngineName>")]
#[schemars(with = "Vec<EngineName>")]
pub struct EngineSet(Vec<EngineName>);

impl EngineSet {
    /// All engines.
    pub fn all() -> Self {
        Self(EngineName::ALL.to_vec())
    }

    /// The one that is used where nothing was planned.
    pub fn first(&self) -> EngineName {
        self.0.first().copied().unwrap_or_default()
    }

    /// All of them, the first one first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EngineName> {
        self.0.iter().copied()
    }

    /// Whether an engine is among them.
    pub fn contains(&self, engine: EngineName) -> bool {
        self.0.contains(&engine)
    }

    /// Whether they are what is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for EngineSet {
    fn default() -> Self {
        Self::from(EngineName::default())
    }
}

impl From<EngineName> for EngineSet {
    fn from(engine: EngineName) -> Self {
        Self(vec![engine])
    }
}

impl TryFrom<Vec<EngineName>> for EngineSet {
    type Error = BoardError;

    fn try_from(engines: Vec<EngineName>) -> Result<Self, BoardError> {
        let is_repeated = |(place, engine): (usize, &EngineName)| engines[..place].contains(engine);
        if engines.is_empty() || engines.iter().enumerate().any(is_repeated) {
            let engines = engines.iter().map(ToString::to_string).collect();
            return Err(BoardError::Engines { engines });
        }
        Ok(Self(engines))
    }
}

impl From<EngineSet> for Vec<EngineName> {
    fn from(engines: EngineSet) -> Self {
        engines.0
    }
}

/// As it stands on command lines: names with commas between them.
impl fmt::Display for EngineSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|engine| engine.name()).collect();
        formatter.pad(&names.join(","))
    }
}

/// Names with commas between them, or `all`.
impl FromStr for EngineSet {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        match text {
            "all" => Ok(Self::all()),
            names => Self::try_from(names.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?),
        }
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

    #[test]
    fn a_set_has_each_engine_once_and_is_never_empty() {
        let both: EngineSet = "openvino,onnxruntime".parse().unwrap();
        assert_eq!((both.first(), both.iter().len()), (EngineName::OpenVino, 2));
        assert_eq!(both.to_string(), "openvino,onnxruntime");
        assert_eq!("all".parse::<EngineSet>().unwrap().iter().collect::<Vec<_>>(), EngineName::ALL);
        assert_eq!(serde_json::from_str::<EngineSet>(r#"["openvino"]"#).unwrap(), EngineName::OpenVino.into());
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"["openvino","onnxruntime"]"#);
        assert!("openvino,".parse::<EngineSet>().is_err());
        let error = "openvino,openvino".parse::<EngineSet>().unwrap_err().to_string();
        assert_eq!(error, "engines [openvino, openvino]: give at least one, and each once");
        assert!(serde_json::from_str::<EngineSet>("[]").unwrap_err().to_string().contains("at least one"));
    }
}
