//! What runs operators on a board: engines on the cores of each cluster, and one on each accelerator.
//!
//! The engines are behind cargo features. A file of the same functions stands in for each that is left out.

pub(crate) mod core_engine;
#[cfg(feature = "ort")]
mod cpu;
#[cfg(not(feature = "ort"))]
#[path = "no_cpu.rs"]
mod cpu;
mod device_report;
pub(crate) mod devices;
pub(crate) mod engines;
pub(crate) mod first_core;
mod free_label;
#[cfg(feature = "wgpu")]
mod gpu;
#[cfg(not(feature = "wgpu"))]
#[path = "no_gpu.rs"]
mod gpu;
pub(crate) mod library_versions;
pub(crate) mod needed;
#[cfg(feature = "openvino")]
mod openvino;
#[cfg(not(feature = "openvino"))]
#[path = "no_openvino.rs"]
mod openvino;
mod with_engine;

use std::path::Path;
use std::sync::Arc;

use millstream_backend::{Backend, Observed, Several};
use millstream_board::{Accelerator, Board, EngineName, ProcessorClass};
use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_onnx::Model;
use millstream_predict::{Profile, threads_by_family};

use crate::backends::core_engine::{CoreEngine, Plain, SessionThreads};
use crate::control::Control;
use crate::error::Error;
use cpu::Cpu;
use gpu::Gpus;
use needed::Needed;
use openvino::OpenVino;
use with_engine::WithEngine;

pub use engines::EngineReport;

/// The backends of a board for one model.
pub(crate) struct Backends {
    /// All of them as one.
    pub(crate) all: Arc<dyn Observed>,
    cores: Vec<OnCores>,
    /// The labels of the accelerators that are there.
    devices: Vec<String>,
    gpus: Gpus,
}

impl Backends {
    /// Opens whatever the board has, to try many ways to run the model. `profile` says how threads of GPUs share the
    /// work, if it is known.
    pub(crate) fn open(board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self, Error> {
        Self::open_for(None, board, model, profile, &Needed::All)
    }

    /// The same to run the model in one way: `sessions` is a folder for what engines make, to be found by the next
    /// start. What is not needed may be missing.
    pub(crate) fn open_for(
        sessions: Option<&Path>,
        board: &Board,
        model: &Arc<Model>,
        profile: Option<&Profile>,
        needed: &Needed<'_>,
    ) -> Result<Self, Error> {
        let cores = on_cores_of(board, model, sessions, needed)?;
        let mut all: Vec<Arc<dyn Observed>> = cores.iter().map(OnCores::backend).collect();
        let (mut devices, mut gpus) = (Vec::new(), Gpus::new(model));
        for accelerator in board.accelerators() {
            let open = || match accelerator.engine {
                Some(_) if accelerator.is_of_openvino() => openvino::on_device(accelerator, model),
                Some(engine) => cpu::on_device(board.provider(engine)?, &accelerator.label, model),
                None => graphics(board, accelerator, &mut gpus),
            };
            let Some(backend) = needed.device(&accelerator.label, open)? else { continue };
            all.push(backend);
            devices.push(accelerator.label.clone());
        }
        gpus.choose_work(profile);
        Ok(Self { all: Arc::new(Several::new(all)), cores, devices, gpus })
    }

    /// All backends as one, without tracing.
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.all) as Arc<dyn Backend>
    }

    /// Lets every operator family use as many threads of a cluster as the costs of the network suggest.
    pub(crate) fn choose_threads(&self, graph: &Graph, board: &Board, costs: &CostTable) {
        for cluster in board.clusters().iter().filter(|cluster| cluster.cores.len() > 1) {
            for OnCores { name, engine } in self.cores.iter().filter(|on_cores| cluster.engines.contains(on_cores.name))
            {
                let threads = threads_by_family(costs, graph, &cluster.label, *name);
                tracing::info!(cluster = cluster.label, engine = %name, ?threads, "threads by operator family");
                engine.choose_threads(&cluster.label, threads);
            }
        }
    }

    /// Takes the costs of what is not there out of a table, so that nobody plans with it.
    pub(crate) fn clear_missing(&self, board: &Board, costs: &mut CostTable) {
        let is_device = |label: &str| board.accelerators().iter().any(|accelerator| accelerator.label == label);
        for class in costs.class_ids() {
            let ProcessorClass { cluster, engine, .. } = &costs.classes()[class.index()];
            let is_there = if is_device(cluster) {
                self.devices.contains(cluster)
            } else {
                self.cores.iter().any(|on_cores| on_cores.name == *engine)
            };
            if !is_there {
                costs.clear(class);
            }
        }
    }

    /// Keeps no more sessions from now on: what is prepared while frames flow should take neither cores nor memory from
    /// them.
    pub(crate) fn stop_keeping(&self) {
        self.cores.iter().for_each(|on_cores| on_cores.engine.stop_keeping());
    }

    /// Measures how the work of convolutions is best divided among the threads of each GPU, where the profile does not
    /// know.
    pub(crate) fn measure_granularity(&self, profile: &mut Profile, control: &Control) -> Result<(), Error> {
        self.gpus.measure_granularity(profile, control)
    }
}

/// The engine on the cores, computing and rounding each operator by itself.
pub(crate) fn unoptimised(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    cpu::unoptimised(model)
}

/// An engine as it comes, on cores that it chooses itself: ONNX Runtime's threads where the system puts them, spinning;
/// OpenVINO by each of its hints.
pub(crate) fn plainly(engine: EngineName, model: &Arc<Model>) -> Result<Vec<Plain>, Error> {
    match engine {
        EngineName::OpenVino | EngineName::OpenVinoWith(_) => openvino::plainly(engine, model),
        EngineName::OnnxRuntime => {
            let plain = |name: &str, backend, sees_all| Plain {
                name: format!("ONNX Runtime, {name}"),
                backend,
                requests: 1,
                sees_all,
            };
            let (default, on_all) = (cpu::by_default(model)?, cpu::on_all_cores(model)?);
            Ok(vec![plain("default", default, true), plain("all cores", on_all, false)])
        }
        // It is a rival as sessions that are pinned.
        EngineName::Provider(_) => Ok(Vec::new()),
        other => Err(unknown(other)),
    }
}

/// ONNX Runtime with sessions whose threads wait in some way, and are pinned or not.
pub(crate) fn session(model: &Arc<Model>, threads: SessionThreads, is_pinned: bool) -> Result<Arc<dyn Backend>, Error> {
    cpu::session(model, threads, is_pinned)
}

/// Why OpenVINO can't be used here, if it can't.
pub(crate) fn missing_openvino() -> Option<Error> {
    openvino::version().err()
}

/// An engine on the cores of a board's processors.
pub(crate) fn pinned(board: &Board, engine: EngineName, model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    Ok(opened(board, engine, model, None)?.backend() as Arc<dyn Backend>)
}

fn opened(
    board: &Board,
    engine: EngineName,
    model: &Arc<Model>,
    sessions: Option<&Path>,
) -> Result<Arc<dyn CoreEngine>, Error> {
    Ok(match engine {
        EngineName::OpenVino | EngineName::OpenVinoWith(_) => Arc::new(OpenVino::open(model, engine)?),
        EngineName::OnnxRuntime => Arc::new(Cpu::open(model, sessions.map(Path::to_owned))?),
        EngineName::Provider(label) => Arc::new(Cpu::with_provider(model, board.provider(label)?)?),
        other => return Err(unknown(other)),
    })
}

fn unknown(engine: EngineName) -> Error {
    Error::Defect(format!("nothing opens the engine {engine}"))
}

/// An engine on the cores that use it.
struct OnCores {
    name: EngineName,
    engine: Arc<dyn CoreEngine>,
}

impl OnCores {
    /// What runs operators on these cores, and on no others.
    fn backend(&self) -> Arc<dyn Observed> {
        Arc::new(WithEngine::new(self.engine.backend(), self.name))
    }
}

/// The engines on the cores of each cluster. `sessions`: a folder for what they make, to be found by the next start.
fn on_cores_of(
    board: &Board,
    model: &Arc<Model>,
    sessions: Option<&Path>,
    needed: &Needed<'_>,
) -> Result<Vec<OnCores>, Error> {
    let on_cores = |name| {
        let engine = needed.engine(name, board, || opened(board, name, model, sessions));
        engine.map(|engine| engine.map(|engine| OnCores { name, engine }))
    };
    board.engines_in_use().filter_map(|name| on_cores(name).transpose()).collect()
}

/// The engine of a graphics device.
fn graphics(board: &Board, accelerator: &Accelerator, gpus: &mut Gpus) -> Result<Arc<dyn Observed>, Error> {
    let no_engine = |feature| Error::NoEngine {
        processor: format!("{} ({})", accelerator.label, accelerator.kind),
        board: board.name().to_owned(),
        feature,
    };
    match (accelerator.kind.is_gpu(), gpu::IS_BUILT_IN) {
        (true, true) => gpus.open(accelerator),
        (true, false) => Err(no_engine(Some("wgpu"))),
        (false, _) => Err(no_engine(None)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::Processor;
    use millstream_test_support::{board, uniform_table};

    use super::*;

    #[test]
    fn nobody_plans_with_what_is_missing() {
        let model = Arc::new(millstream_zoo::build("tiny-darknet").unwrap());
        let board = board("B1+G");
        for there in ["B", "G"] {
            let engine = || opened(&board, EngineName::OnnxRuntime, &model, None).unwrap();
            let cores = (there == "B").then(|| OnCores { name: EngineName::OnnxRuntime, engine: engine() });
            let devices = (there == "G").then(|| "G".to_owned());
            let (cores, devices) = (cores.into_iter().collect(), devices.into_iter().collect());
            let all: Arc<dyn Observed> = Arc::new(Several::new(Vec::<Arc<dyn Observed>>::new()));
            let backends = Backends { all, cores, devices, gpus: Gpus::new(&model) };

            let mut costs = uniform_table(model.graph(), &board, [100, 100]);
            backends.clear_missing(&board, &mut costs);
            for class in [board.core_classes().next().unwrap(), Processor::accelerator("G").class()] {
                assert_eq!(costs.runs_something(&class), class.cluster == there, "{class:?} where there is {there}");
            }
        }
    }
}
