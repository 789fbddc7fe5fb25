//! Engines, such as ONNX Runtime and OpenVINO, and the sets of them that clusters may compute with.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine_label::EngineLabel;

/// What computes operators on cores. The same cores with another engine are another processor to searches: they
/// take other times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
#[non_exhaustive]
pub enum EngineName {
    /// ONNX Runtime.
    #[default]
    OnnxRuntime,
    /// OpenVINO.
    OpenVino,
    /// OpenVINO on cores, with less precision than the model says.
    OpenVinoWith(ReducedPrecision),
    /// An execution provider of ONNX Runtime, as a board file names it.
    Provider(EngineLabel),
}

/// What an engine computes with where that is less than the model says: quicker on processors that have instructions for
/// it, and other results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReducedPrecision {
    /// Integers of 8 bits, in quantised networks; roundings are no longer where the model says.
    Int8,
    /// Floats of 16 bits, and integers in quantised networks.
    F16,
    /// Floats of 16 bits with the range of 32, and integers in quantised networks.
    Bf16,
}

impl ReducedPrecision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Int8, Self::F16, Self::Bf16];
}

impl EngineName {
    /// Those that every board may have, and that compute what the model says.
    pub const BUILT_IN: [Self; 2] = [Self::OnnxRuntime, Self::OpenVino];

    /// Those that every board may have: the ones with less precision too, which are used where somebody asks for them by
    /// name.
    pub fn known() -> impl Iterator<Item = Self> + Clone {
        Self::BUILT_IN.into_iter().chain(ReducedPrecision::ALL.map(Self::OpenVinoWith))
    }

    /// As it stands in files.
    pub fn name(&self) -> &str {
        match self {
            Self::OnnxRuntime => "onnxruntime",
            Self::OpenVino => "openvino",
            Self::OpenVinoWith(ReducedPrecision::Int8) => "openvinoint8",
            Self::OpenVinoWith(ReducedPrecision::F16) => "openvinof16",
            Self::OpenVinoWith(ReducedPrecision::Bf16) => "openvinobf16",
            Self::Provider(label) => label.as_str(),
        }
    }

    /// As people call it.
    pub fn title(&self) -> &str {
        match self {
            Self::OnnxRuntime => "ONNX Runtime",
            Self::OpenVino => "OpenVINO",
            Self::OpenVinoWith(ReducedPrecision::Int8) => "OpenVINO int8",
            Self::OpenVinoWith(ReducedPrecision::F16) => "OpenVINO f16",
            Self::OpenVinoWith(ReducedPrecision::Bf16) => "OpenVINO bf16",
            Self::Provider(label) => label.as_str(),
        }
    }

    /// Whether it is the one that is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What it computes with, if that is less than the model says.
    pub fn reduced_precision(&self) -> Option<ReducedPrecision> {
        match self {
            Self::OpenVinoWith(reduced) => Some(*reduced),
            Self::OnnxRuntime | Self::OpenVino | Self::Provider(_) => None,
        }
    }

    /// Whether OpenVINO computes, with whatever precision.
    pub fn is_openvino(&self) -> bool {
        matches!(self, Self::OpenVino | Self::OpenVinoWith(_))
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// Engines that the cores of a cluster may compute with: at least one, each once. The first is used where nothing was
/// planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<EngineName>", into = "Vec<EngineName>")]
#[schemars(with = "Vec<EngineName>")]
pub struct EngineSet(pub(crate) Vec<EngineName>);

impl EngineSet {
    /// All engines that every board may have and that compute what the model says.
    pub fn all() -> Self {
        Self(EngineName::BUILT_IN.to_vec())
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

impl From<EngineSet> for Vec<EngineName> {
    fn from(engines: EngineSet) -> Self {
        engines.0
    }
}

/// As it stands on command lines: names with commas between them.
impl fmt::Display for EngineSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(EngineName::name).collect();
        formatter.pad(&names.join(","))
    }
}

impl From<EngineName> for String {
    fn from(engine: EngineName) -> Self {
        engine.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for engine in EngineName::known() {
            assert_eq!(engine.name().parse::<EngineName>().unwrap(), engine);
            assert_eq!(serde_json::to_string(&engine).unwrap(), format!("\"{engine}\""));
        }
        let other: EngineName = "tensorrt".parse().unwrap();
        assert!(matches!(other, EngineName::Provider(label) if label.as_str() == "tensorrt"));
        assert_eq!(serde_json::to_string(&other).unwrap(), "\"tensorrt\"");
        let error = "tensor-rt".parse::<EngineName>().unwrap_err().to_string();
        assert!(error.starts_with("'tensor-rt' can't be the name of an engine"), "{error}");
    }

    #[test]
    fn a_set_has_each_engine_once_and_is_never_empty() {
        let both: EngineSet = "openvino,onnxruntime".parse().unwrap();
        assert_eq!((both.first(), both.iter().len()), (EngineName::OpenVino, 2));
        assert_eq!(both.to_string(), "openvino,onnxruntime");
        let reduced: EngineSet = "onnxruntime,openvinobf16".parse().unwrap();
        assert!(reduced.contains(EngineName::OpenVinoWith(ReducedPrecision::Bf16)));
        let names = |text: &str| text.parse::<EngineSet>().unwrap().iter().collect::<Vec<_>>();
        assert_eq!([names("all"), names("all,openvino"), names("openvino,all")], [EngineName::BUILT_IN; 3]);
        let int8 = EngineName::OpenVinoWith(ReducedPrecision::Int8);
        assert_eq!(names("all,openvinoint8"), [&EngineName::BUILT_IN[..], &[int8]].concat());
        assert!("openvino,openvino".parse::<EngineSet>().is_err());
        assert_eq!(names("OpenVINO, onnxruntime"), names("openvino,onnxruntime"));
        assert_eq!(serde_json::from_str::<EngineSet>(r#"["openvino"]"#).unwrap(), EngineName::OpenVino.into());
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"["openvino","onnxruntime"]"#);
        assert!("openvino,".parse::<EngineSet>().is_err());
        let error = "openvino,openvino".parse::<EngineSet>().unwrap_err().to_string();
        assert_eq!(error, "engines [openvino, openvino]: give at least one, and each once");
        assert!(serde_json::from_str::<EngineSet>("[]").unwrap_err().to_string().contains("at least one"));
    }
}
