//! Engines as somebody asks for them by name.

use std::str::FromStr;

use crate::engine::{EngineName, EngineSet};
use crate::error::BoardError;

/// Engines that somebody asked for. Who names an engine wants it; who says `all` means what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedEngines {
    engines: EngineSet,
    without_openvino: Option<EngineSet>,
}

impl AskedEngines {
    /// All of them.
    pub fn engines(&self) -> &EngineSet {
        &self.engines
    }

    /// Those that are left where OpenVINO is not installed, if it was not named, but meant by `all`.
    pub fn without_openvino(&self) -> Option<&EngineSet> {
        self.without_openvino.as_ref()
    }
}

/// As if each was named, also where they were read from the word `all`.
impl From<EngineSet> for AskedEngines {
    fn from(engines: EngineSet) -> Self {
        Self { engines, without_openvino: None }
    }
}

impl From<EngineName> for AskedEngines {
    fn from(engine: EngineName) -> Self {
        EngineSet::from(engine).into()
    }
}

/// What stands for several engines.
pub(crate) const ALL: &str = "all";

/// Names with commas between them, and spaces where one likes; `all` stands for those of [`EngineSet::all`].
impl FromStr for AskedEngines {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if names.contains(&"") {
            return Err(BoardError::NoEngineName { text: text.to_owned() });
        }
        let (all, named): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.eq_ignore_ascii_case(ALL));
        let named = named.into_iter().map(str::parse).collect::<Result<Vec<EngineName>, _>>()?;
        if all.is_empty() {
            return Ok(EngineSet::try_from(named)?.into());
        }
        if !named.is_empty() {
            EngineSet::try_from(named.clone())?;
        }

        let others = named.iter().copied().filter(|engine| !EngineName::BUILT_IN.contains(engine));
        let engines: Vec<EngineName> = EngineName::BUILT_IN.into_iter().chain(others).collect();
        let left = engines.iter().copied().filter(|engine| *engine != EngineName::OpenVino).collect();
        let without_openvino = (!named.contains(&EngineName::OpenVino)).then_some(EngineSet(left));
        Ok(Self { engines: EngineSet(engines), without_openvino })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn only_all_does_without_openvino() {
        let left = |text: &str| {
            let asked: AskedEngines = text.parse().unwrap();
            (asked.engines().to_string(), asked.without_openvino().map(ToString::to_string))
        };
        let both = "onnxruntime,openvino".to_owned();
        assert_eq!(left("all"), (both.clone(), Some("onnxruntime".to_owned())));
        assert_eq!(left("All, onnxruntime"), left("all"));
        for named in ["onnxruntime,openvino", "all,openvino", "OpenVINO,all"] {
            assert_eq!(left(named), (both.clone(), None), "{named}");
        }
        let with = |engines: &str| format!("{engines},openvinoint8,xnnpack");
        assert_eq!(left("openvinoint8,all,xnnpack"), (with(&both), Some(with("onnxruntime"))));
        assert_eq!(left("openvinoint8"), ("openvinoint8".to_owned(), None));
        assert_eq!(AskedEngines::from(EngineSet::all()).without_openvino(), None);
    }

    #[test]
    fn what_names_no_engines_is_told_as_it_was_written() {
        let error = |text: &str| text.parse::<AskedEngines>().unwrap_err().to_string();
        for text in ["", ",", "openvino,", "all,", " , "] {
            assert_eq!(
                error(text),
                format!("'{text}' leaves out the name of an engine: give at least one, with commas between several")
            );
        }
        for text in ["xnnpack,xnnpack", "all,xnnpack,xnnpack"] {
            assert_eq!(error(text), "engines [xnnpack, xnnpack]: give at least one, and each once");
        }
        let error = error("TensorrtExecutionProvider");
        assert!(
            error.ends_with("at most 24; what ONNX Runtime calls TensorrtExecutionProvider is tensorrt here"),
            "{error}"
        );
    }
}
