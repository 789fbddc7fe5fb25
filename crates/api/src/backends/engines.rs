//! Which engines there are, and which processors use them.

use millstream_board::{Accelerator, Board, EngineName, Provider};

use super::device_report::DeviceReport;
use super::{cpu, gpu, openvino};

/// An engine on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReport {
    /// The engine; `none` for a device that no engine drives.
    pub engine: String,
    /// Its version; why it can't be used, if so.
    pub version: Result<String, String>,
    /// What it runs on here.
    pub device: Option<String>,
    /// Clusters and accelerators of the board that use it there, by their labels.
    pub used_by: Vec<String>,
}

/// The engines that this program was built with, what they run on, and what uses them on a board. Loads their
/// libraries.
pub(crate) fn reports(board: &Board) -> Vec<EngineReport> {
    let mut reports = Vec::new();
    let row = |engine: &str, version: Result<String, String>, device: Option<String>, used_by: Vec<String>| {
        EngineReport { engine: engine.to_owned(), version, device, used_by }
    };

    let onnx_runtime = cpu::version().map_err(|error| error.to_string());
    let used_by = clusters(board, EngineName::OnnxRuntime);
    reports.push(row("onnxruntime", onnx_runtime.clone(), Some("CPU".to_owned()), used_by));
    for name in cpu::providers().unwrap_or_default() {
        let is_named = |provider: &Provider| provider.library.is_none() && provider.provider.as_str() == name;
        if !board.providers().iter().any(is_named) {
            reports.push(row("onnxruntime", onnx_runtime.clone(), Some(name.to_owned()), Vec::new()));
        }
    }
    reports.extend(board.providers().iter().map(|provider| of_provider(board, provider, &onnx_runtime)));

    match openvino::report(board) {
        Err(error) => {
            reports.push(row("openvino", Err(error.to_string()), None, all_with_openvino(board)));
        }
        Ok(devices) => {
            for DeviceReport { engine, device, version, accelerators } in devices {
                let used_by = accelerators.unwrap_or_else(|| clusters(board, engine));
                reports.push(row(engine.name(), version, Some(device), used_by));
            }
        }
    }

    let without_engine = board.accelerators().iter().filter(|accelerator| accelerator.engine.is_none());
    reports.extend(without_engine.map(of_own_device));
    reports
}

/// An accelerator that nothing is said to drive: shaders of our own run on graphics devices.
fn of_own_device(accelerator: &Accelerator) -> EngineReport {
    let (engine, version) = match (accelerator.kind.is_gpu(), gpu::IS_BUILT_IN) {
        (true, true) => {
            ("wgpu", gpu::check(accelerator).map(|()| "built in".to_owned()).map_err(|error| error.to_string()))
        }
        (true, false) => ("wgpu", Err("this program was built without the feature 'wgpu'".to_owned())),
        (false, _) => {
            ("none", Err("no engine drives it; in a board file, `engine` names one, such as a provider".to_owned()))
        }
    };
    let device = accelerator.name.clone().unwrap_or_else(|| accelerator.kind.to_string());
    let used_by = vec![accelerator.label.clone()];
    EngineReport { engine: engine.to_owned(), version, device: Some(device), used_by }
}

/// A provider that the board names, which is as good as the version of ONNX Runtime if it can be used.
fn of_provider(board: &Board, provider: &Provider, onnx_runtime: &Result<String, String>) -> EngineReport {
    let mut used_by = clusters(board, provider.engine());
    let opened = if used_by.is_empty() { cpu::device_of(provider) } else { cpu::device_on_cores(provider) };
    let opened = opened.map_err(|error| error.to_string());
    used_by.extend(accelerators_where(board, |accelerator| accelerator.engine == Some(provider.engine)));
    let name = provider.provider.as_str();
    let device = match &opened {
        Ok(Some(device)) => format!("{name}: {device}"),
        _ => name.to_owned(),
    };
    let version = opened.and_then(|_| onnx_runtime.clone());
    EngineReport { engine: provider.engine.to_string(), version, device: Some(device), used_by }
}

fn clusters(board: &Board, engine: EngineName) -> Vec<String> {
    clusters_where(board, |other| other == engine)
}

/// Clusters, and then accelerators.
fn all_with_openvino(board: &Board) -> Vec<String> {
    let clusters = clusters_where(board, |engine| engine.is_openvino());
    [clusters, accelerators_where(board, Accelerator::is_of_openvino)].concat()
}

fn accelerators_where(board: &Board, is_it: impl Fn(&Accelerator) -> bool) -> Vec<String> {
    board.accelerators().iter().filter(|own| is_it(own)).map(|own| own.label.clone()).collect()
}

fn clusters_where(board: &Board, is_it: impl Fn(EngineName) -> bool) -> Vec<String> {
    let clusters = board.clusters().iter().filter(|cluster| cluster.engines.iter().any(&is_it));
    clusters.map(|cluster| cluster.label.clone()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::path::Path;

    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_device_that_nothing_drives_is_no_gpu() {
        let machine = Machine::read(Path::new("zcu104-2pe")).unwrap();
        let rows = reports(machine.board());
        for accelerator in machine.board().accelerators() {
            let using: Vec<&EngineReport> =
                rows.iter().filter(|row| row.used_by.contains(&accelerator.label)).collect();
            let [row] = using.as_slice() else { unreachable!("{accelerator:?}: {using:?}") };
            assert_eq!(row.engine, "none");
            assert!(row.version.as_ref().unwrap_err().contains("no engine drives it"), "{row:?}");
        }
        assert!(!machine.board().accelerators().is_empty());
    }

    #[test]
    fn what_openvino_drives_is_told_also_where_it_is_missing() {
        let board = millstream_test_support::board("B2@openvino+s1:400+V=gpu+G");
        let mut accelerators = board.accelerators().to_vec();
        accelerators[0].engine = "openvino".to_owned().try_into().ok();
        let board = board.with_accelerators(accelerators).unwrap();
        assert_eq!(all_with_openvino(&board), ["B", "V"]);
    }
}
