//! Machines with the engines that a user asks for.

use std::path::PathBuf;

use millstream_board::{Accelerator, AcceleratorKind, AskedEngines, EngineName, EngineSet, ReducedPrecision};

use crate::error::Error;
use crate::machine::Machine;

impl Machine {
    /// This machine with engines as a user asks for them. The devices of these engines are taken in where the machine is
    /// this computer; NPUs, which have floats of 16 bits, only if an engine with such floats is named as well. Engines
    /// that it does not have are refused. Where OpenVINO is not installed on this computer, as it was detected, and only
    /// `all` stands for it, the rest is used, with a warning in the log; boards of files get what was asked for.
    ///
    /// # Errors
    /// [`Error::Backend`] if `openvino` is asked for and not there, where this computer was detected; [`Error::Board`] if
    /// another engine isn't.
    /// OpenVINO with less precision takes in no devices, and is found missing when something has to compute with it.
    pub fn asked_to_use(self, asked: &AskedEngines) -> Result<Self, Error> {
        let engines = if self.is_here { at_hand(asked) } else { asked.engines() };
        let takes_devices = self.is_here && engines.contains(EngineName::OpenVino);
        let machine =
            if takes_devices { self.with_openvino_devices_where(|own| is_taken_in(own, engines))? } else { self };
        let machine = machine.with_engines(engines.clone());
        match crate::backends::devices::missing_provider(&machine.board, engines) {
            Some(missing) => Err(missing),
            None => {
                machine.board.check_engines(engines)?;
                Ok(machine)
            }
        }
    }

    /// This machine as callers in other languages ask for it: with engines by their names, and a folder for what is
    /// kept for later.
    ///
    /// # Errors
    /// [`Error::Board`] if the names are those of no engines; as [`Machine::asked_to_use`].
    pub fn as_asked(self, engines: Option<&str>, cache_folder: Option<PathBuf>) -> Result<Self, Error> {
        let machine = match engines {
            Some(names) => self.asked_to_use(&names.parse()?)?,
            None => self,
        };
        Ok(match cache_folder {
            Some(folder) => machine.with_cache_folder(folder),
            None => machine,
        })
    }
}

/// What is used of the engines that somebody asked for on this computer.
fn at_hand(asked: &AskedEngines) -> &EngineSet {
    let Some(without) = asked.without_openvino() else { return asked.engines() };
    match crate::backends::missing_openvino() {
        Some(error) => {
            tracing::warn!("'all' goes on without openvino: {error}");
            without
        }
        None => asked.engines(),
    }
}

/// Whether a device of OpenVINO's is meant by these engines: nothing computes with less precision unless somebody asks
/// for less.
fn is_taken_in(device: &Accelerator, engines: &EngineSet) -> bool {
    let has_short_floats =
        |engine: EngineName| matches!(engine.reduced_precision(), Some(ReducedPrecision::F16 | ReducedPrecision::Bf16));
    device.kind != AcceleratorKind::Npu || engines.iter().any(has_short_floats)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn npus_are_taken_in_where_less_precision_is_asked_for() {
        let takes = |kind, engines: &str| is_taken_in(&Accelerator::new("X", kind), &engines.parse().unwrap());
        for engines in ["openvino", "onnxruntime,openvino", "all", "openvino,openvinoint8"] {
            assert!(takes(AcceleratorKind::Gpu, engines) && !takes(AcceleratorKind::Npu, engines), "{engines}");
        }
        assert!(takes(AcceleratorKind::Npu, "openvino,openvinof16"));
    }
}
