//! Engines as somebody asks for them on a command line.

use std::str::FromStr;

use crate::engine::{EngineName, EngineSet};
use crate::error::BoardError;

/// Engines that somebody asked for, and which of them need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedEngines {
    /// All of them.
    pub engines: EngineSet,
    /// Those that only the word `all` stands for: who names an engine wants it, who says `all` means what there is.
    pub dispensable: Vec<EngineName>,
}

/// What stands for several engines.
pub(crate) const ALL: &str = "all";

/// What the names of ONNX Runtime's execution providers end with.
const PROVIDER: &str = "ExecutionProvider";

/// ONNX Runtime's provider of its own kernels, which is the engine `onnxruntime`.
const OWN_KERNELS: &str = "CPU";

impl AskedEngines {
    /// The engines without those that are not there. The usual one stays: others are compared with it.
    #[must_use]
    pub fn without(&self, is_missing: impl Fn(EngineName) -> bool) -> EngineSet {
        let is_wanted =
            |engine: &EngineName| engine.is_default() || !self.dispensable.contains(engine) || !is_missing(*engine);
        EngineSet(self.engines.iter().filter(is_wanted).collect())
    }
}

impl From<EngineSet> for AskedEngines {
    fn from(engines: EngineSet) -> Self {
        Self { engines, dispensable: Vec::new() }
    }
}

impl From<EngineName> for AskedEngines {
    fn from(engine: EngineName) -> Self {
        EngineSet::from(engine).into()
    }
}

/// Names with commas between them, and spaces where one likes; `all` stands for several. The names that ONNX Runtime
/// gives its providers are taken as well: `XnnpackExecutionProvider` is `xnnpack`.
impl FromStr for AskedEngines {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if names.contains(&"") {
            return Err(BoardError::Engines { engines: vec![text.to_owned()] });
        }
        let (all, named): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| *name == ALL);
        let named = named.into_iter().map(engine).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Ok(EngineSet::try_from(named)?.into());
        }

        let is_built_in = |engine: &EngineName| EngineName::BUILT_IN.contains(engine);
        let others = named.iter().copied().filter(|engine| !is_built_in(engine));
        let engines = EngineSet::try_from(EngineName::BUILT_IN.into_iter().chain(others).collect::<Vec<_>>())?;
        let dispensable = EngineName::BUILT_IN.into_iter().filter(|engine| !named.contains(engine)).collect();
        Ok(Self { engines, dispensable })
    }
}

fn engine(name: &str) -> Result<EngineName, BoardError> {
    match name.strip_suffix(PROVIDER) {
        Some(OWN_KERNELS) => Ok(EngineName::OnnxRuntime),
        Some(provider) if !provider.is_empty() => provider.to_ascii_lowercase().parse(),
        _ => name.parse(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn asked(text: &str) -> AskedEngines {
        text.parse().unwrap()
    }

    #[test]
    fn all_stands_for_what_is_there_and_names_for_themselves() {
        let (ort, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
        let nothing_there = |text: &str| asked(text).without(|_| true).iter().collect::<Vec<_>>();
        assert_eq!(nothing_there("all"), [ort]);
        assert_eq!(nothing_there("openvino"), [openvino]);
        assert_eq!(nothing_there("onnxruntime,openvino"), [ort, openvino]);
        assert_eq!(nothing_there("all,openvino"), [ort, openvino], "it is named as well");
        let int8 = "openvinoint8".parse().unwrap();
        assert_eq!(nothing_there("openvinoint8, all"), [ort, int8]);
        assert_eq!(asked("all").without(|_| false), EngineSet::all());
        assert_eq!(asked("all").without(|engine| engine != openvino), EngineSet::all());
    }

    #[test]
    fn names_of_providers_are_taken_as_onnx_runtime_writes_them() {
        assert_eq!(asked("CPUExecutionProvider,QNNExecutionProvider"), asked("onnxruntime,qnn"));
        assert_eq!(asked("XnnpackExecutionProvider"), asked("xnnpack"));
        let error = "ExecutionProvider".parse::<AskedEngines>().unwrap();
        assert_eq!(error.engines.first().name(), "ExecutionProvider", "no engine has this name, as the board will say");
    }

    #[test]
    fn a_name_that_is_left_out_is_told_as_it_was_written() {
        for text in ["", ",", "openvino,", "all,", " , "] {
            let error = text.parse::<AskedEngines>().unwrap_err().to_string();
            let expected = format!("engines [{text}]: give at least one, and each once, with a comma between two");
            assert_eq!(error, expected);
        }
    }
}
