//! Which engines there are, and which processors use them.

use millstream_board::{Accelerator, Board, EngineName, Provider};

use super::{cpu, gpu, openvino};

/// An engine on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReport {
    /// The engine.
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
            reports.push(row("openvino", Err(error.to_string()), None, clusters_with_openvino(board)));
        }
        Ok(devices) => {
            for (device, version, accelerators) in devices {
                let used_by = if device.starts_with("CPU:") { clusters_with_openvino(board) } else { accelerators };
                reports.push(row("openvino", version, Some(device), used_by));
            }
        }
    }

    if gpu::IS_BUILT_IN {
        let is_own = |accelerator: &&Accelerator| accelerator.engine.is_none();
        for accelerator in board.accelerators().iter().filter(is_own) {
            let device = accelerator.name.clone().unwrap_or_else(|| accelerator.kind.to_string());
            let version = gpu::check(accelerator).map(|()| "built in".to_owned()).map_err(|error| error.to_string());
            reports.push(row("wgpu", version, Some(device), vec![accelerator.label.clone()]));
        }
    }
    reports
}

/// A provider that the board names, which is as good as the version of ONNX Runtime if it can be used.
fn of_provider(board: &Board, provider: &Provider, onnx_runtime: &Result<String, String>) -> EngineReport {
    let mut used_by = clusters(board, provider.engine());
    let accelerators = board.accelerators().iter().filter(|accelerator| accelerator.engine == Some(provider.engine));
    used_by.extend(accelerators.map(|accelerator| accelerator.label.clone()));
    let opened = cpu::device_of(provider).map_err(|error| error.to_string());
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

fn clusters_with_openvino(board: &Board) -> Vec<String> {
    clusters_where(board, |engine| engine.is_openvino())
}

fn clusters_where(board: &Board, is_it: impl Fn(EngineName) -> bool) -> Vec<String> {
    let clusters = board.clusters().iter().filter(|cluster| cluster.engines.iter().any(&is_it));
    clusters.map(|cluster| cluster.label.clone()).collect()
}
