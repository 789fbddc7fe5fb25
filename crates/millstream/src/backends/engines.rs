//! Which engines there are, and which processors use them.

use millstream_board::{Board, EngineName};

use super::{cpu, gpu, openvino};
use crate::Machine;

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

/// The engines that this program was built with, what they run on, and what uses them on a machine. Loads their libraries.
pub fn engines(machine: &Machine) -> Vec<EngineReport> {
    let board = machine.board();
    let mut reports = Vec::new();
    let row = |engine: &str, version: Result<String, String>, device: Option<String>, used_by: Vec<String>| {
        EngineReport { engine: engine.to_owned(), version, device, used_by }
    };
    let onnx_runtime = cpu::version().map_err(|error| error.to_string());
    reports.push(row("onnxruntime", onnx_runtime, Some("CPU".to_owned()), clusters(board, EngineName::OnnxRuntime)));
    match openvino::report() {
        Err(error) => {
            reports.push(row("openvino", Err(error.to_string()), None, clusters(board, EngineName::OpenVino)));
        }
        Ok((version, devices)) => {
            for device in devices {
                let used_by = match device.starts_with("CPU:") {
                    true => clusters(board, EngineName::OpenVino),
                    false => accelerators(board, |name| name.is_some_and(|name| name.ends_with(&device))),
                };
                reports.push(row("openvino", Ok(version.clone()), Some(device), used_by));
            }
        }
    }
    if gpu::IS_BUILT_IN {
        for accelerator in board.accelerators().iter().filter(|accelerator| !openvino::drives(accelerator)) {
            let device = accelerator.name.clone().unwrap_or_else(|| accelerator.kind.to_string());
            reports.push(row("wgpu", Ok("built in".to_owned()), Some(device), vec![accelerator.label.clone()]));
        }
    }
    reports
}

fn clusters(board: &Board, engine: EngineName) -> Vec<String> {
    let own = board.clusters().iter().filter(|cluster| cluster.engines.contains(engine));
    own.map(|cluster| cluster.label.clone()).collect()
}

fn accelerators(board: &Board, is_it: impl Fn(Option<&str>) -> bool) -> Vec<String> {
    let own = board.accelerators().iter().filter(|accelerator| is_it(accelerator.name.as_deref()));
    own.map(|accelerator| accelerator.label.clone()).collect()
}
