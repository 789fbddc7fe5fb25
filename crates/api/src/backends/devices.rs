//! Devices beside the cores that engines drive here.

use millstream_board::{Accelerator, Board, EngineName, EngineSet};

use crate::backends::{cpu, gpu, openvino};
use crate::error::Error;

/// The board with those of these engines that it lacks and that ONNX Runtime here was built with, for cores.
pub(crate) fn with_providers_for<'a>(board: Board, engines: impl Iterator<Item = &'a EngineSet>) -> Board {
    let is_missing = |engine: &EngineName| match engine {
        EngineName::Provider(label) => board.provider(*label).is_err(),
        _ => false,
    };
    let missing: Vec<EngineName> = engines.flat_map(EngineSet::iter).filter(is_missing).collect();
    if missing.is_empty() {
        return board;
    }
    let detected = cpu::core_providers().unwrap_or_default();
    let wanted = detected.into_iter().filter(|device| missing.contains(&device.engine()));
    wanted.fold(board, Board::with_provider)
}

/// The graphics devices of this computer.
pub(crate) fn accelerators(has_software_gpus: bool) -> Vec<Accelerator> {
    gpu::accelerators(has_software_gpus)
}

/// The devices of this computer that OpenVINO drives, beside those that are known already.
pub(crate) fn openvino_devices(known: &[Accelerator]) -> Result<Vec<Accelerator>, Error> {
    openvino::devices(known)
}
