//! What runs operators on a board: engines on the cores of each cluster, and one on each accelerator.
//!
//! The engines are behind cargo features. A file of the same functions stands in for each that is left out.

#[cfg(feature = "ort")]
mod cpu;
#[cfg(not(feature = "ort"))]
#[path = "no_cpu.rs"]
mod cpu;
mod engines;
#[cfg(feature = "wgpu")]
mod gpu;
#[cfg(not(feature = "wgpu"))]
#[path = "no_gpu.rs"]
mod gpu;
#[cfg(feature = "openvino")]
mod openvino;
#[cfg(not(feature = "openvino"))]
#[path = "no_openvino.rs"]
mod openvino;
mod with_engine;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use millstream_backend::{Backend, Observed, Several};
use millstream_board::{Accelerator, AcceleratorKind, Board, Cluster, EngineName, EngineSet, Processor};
use millstream_cost::CostTable;
use millstream_graph::{Family, Graph};
use millstream_onnx::Model;
use millstream_predict::{Profile, fit, threads_by_family};

use crate::{Control, Error, Machine, Network};
use cpu::Cpu;
use gpu::Gpus;
use openvino::OpenVino;
use with_engine::WithEngine;

pub use engines::{EngineReport, engines};

/// An engine on cores, for one model.
trait CoreEngine: Send + Sync {
    /// What runs operators.
    fn backend(&self) -> Arc<dyn Observed>;

    /// Sets how many threads the operators of each family had best use on a cluster.
    fn choose_threads(&self, cluster: &str, threads: BTreeMap<Family, usize>);

    /// Keeps no more of what it made for the next start.
    fn stop_keeping(&self) {}
}

/// The backends of a board for one model.
pub(crate) struct Backends {
    /// All of them as one.
    pub(crate) all: Arc<dyn Observed>,
    cores: Vec<(EngineName, Arc<dyn CoreEngine>)>,
    gpus: Gpus,
}

impl Backends {
    /// Opens whatever the board has, to try many ways to run the model. `profile` says how threads of GPUs share the work, if it is
    /// known.
    pub(crate) fn open(board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self, Error> {
        Self::with_sessions(None, board, model, profile)
    }

    /// The same to run a network in one way, which is prepared faster the next time. Threads are as the network's profile suggests,
    /// where there is one; its costs come with them.
    pub(crate) fn open_to_run(machine: &Machine, network: &Network) -> Result<(Self, Option<CostTable>), Error> {
        let (board, model) = (machine.board(), network.model());
        let profile = machine.cache.load(network, board);
        let backends = Self::with_sessions(machine.cache.sessions().as_deref(), board, model, profile.as_ref())?;
        let costs = profile.map(|profile| backends.choose_threads(network, board, &profile)).transpose()?;
        Ok((backends, costs))
    }

    /// `sessions`: a folder for what engines make, to be found by the next start.
    fn with_sessions(
        sessions: Option<&Path>,
        board: &Board,
        model: &Arc<Model>,
        profile: Option<&Profile>,
    ) -> Result<Self, Error> {
        let (mut all, cores) = on_cores_of(board, model, sessions)?;
        let mut gpus = Gpus::new(model);
        for accelerator in board.accelerators() {
            all.push(match accelerator.engine {
                Some(engine) => cpu::on_device(board.provider(engine)?, &accelerator.label, model)?,
                None if openvino::drives(accelerator) => openvino::on_device(accelerator, model)?,
                None => graphics(board, accelerator, &mut gpus)?,
            });
        }
        gpus.choose_work(profile);
        Ok(Self { all: Arc::new(Several::new(all)), cores, gpus })
    }

    /// All backends as one, without tracing.
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.all) as Arc<dyn Backend>
    }

    /// Lets every operator family use as many threads of a cluster as the costs of the network suggest, and returns these costs.
    pub(crate) fn choose_threads(
        &self,
        network: &Network,
        board: &Board,
        profile: &Profile,
    ) -> Result<CostTable, Error> {
        let graph = network.graph();
        let table = fit(profile, board, network.digest(), graph, network.chain())?;
        for cluster in board.clusters().iter().filter(|cluster| cluster.cores.len() > 1) {
            for (name, engine) in self.cores.iter().filter(|(name, _)| cluster.engines.contains(*name)) {
                let threads = threads_by_family(&table, graph, &cluster.label, *name);
                tracing::info!(cluster = cluster.label, engine = %name, ?threads, "threads by operator family");
                engine.choose_threads(&cluster.label, threads);
            }
        }
        Ok(table)
    }

    /// Keeps no more sessions from now on: what is prepared while frames flow should take neither cores nor memory from them.
    pub(crate) fn stop_keeping(&self) {
        self.cores.iter().for_each(|(_, engine)| engine.stop_keeping());
    }

    /// Measures how the work of convolutions is best divided among the threads of each GPU, where the profile does not know.
    pub(crate) fn measure_granularity(&self, profile: &mut Profile, control: &Control) -> Result<(), Error> {
        self.gpus.measure_granularity(profile, control)
    }
}

/// The processor on which a network runs plainly: the board's first core, with the first of its engines that runs all operators.
pub(crate) fn first_core(board: &Board, backend: &dyn Backend, graph: &Graph) -> Result<Processor, Error> {
    let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
    let core = cluster.cores.first().ok_or(Error::Incomplete { what: "core" })?;
    with_able_engine(cluster, cluster.processor([core.id]), backend, graph)
}

/// A processor with the first of its cluster's engines that runs all operators of a network.
pub(crate) fn with_able_engine(
    cluster: &Cluster,
    processor: Processor,
    backend: &dyn Backend,
    graph: &Graph,
) -> Result<Processor, Error> {
    let refused = |own: &Processor| graph.order().iter().copied().find(|&id| !backend.supports(id, own));
    let with_each = || cluster.engines.iter().map(|engine| processor.clone().with_engine(engine));
    if let Some(able) = with_each().find(|own| refused(own).is_none()) {
        return Ok(able);
    }
    let Some(operator) = refused(&processor) else { return Ok(processor) };
    let (engine, operator) = (processor.engine.title(), graph.operator(operator));
    let other = EngineName::BUILT_IN.into_iter().find(|engine| !cluster.engines.contains(*engine));
    let remedy = other
        .map_or(String::new(), |other| format!("; name another engine as well, as in {},{other}", cluster.engines));
    Err(Error::Unfit(format!("{engine} does not run the operator '{}' ({}){remedy}", operator.name, operator.op_type)))
}

/// The engine on the cores, computing and rounding each operator by itself.
pub(crate) fn unoptimised(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    cpu::unoptimised(model)
}

/// A way to use an engine plainly, without a schedule.
pub(crate) struct Plain {
    /// What its users would call it.
    pub(crate) name: String,
    pub(crate) backend: Arc<dyn Backend>,
    /// How many frames it works on at once.
    pub(crate) requests: usize,
}

/// An engine as it comes, on cores that it chooses itself: ONNX Runtime's threads where the system puts them, spinning; OpenVINO by each of
/// its hints.
pub(crate) fn plainly(engine: EngineName, model: &Arc<Model>) -> Result<Vec<Plain>, Error> {
    match engine {
        EngineName::OpenVino => openvino::plainly(model),
        EngineName::OnnxRuntime => Ok(vec![Plain {
            name: "ONNX Runtime, all cores".to_owned(),
            backend: cpu::as_it_comes(model)?,
            requests: 1,
        }]),
        // It is a rival as sessions that are pinned.
        EngineName::Provider(_) => Ok(Vec::new()),
        other => Err(unknown(other)),
    }
}

/// What the threads of a session of ONNX Runtime do while they wait for work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionThreads {
    Spin,
    SpinWhileRunning,
    Sleep,
}

/// ONNX Runtime with sessions whose threads wait in some way, and are pinned or not.
pub(crate) fn session(model: &Arc<Model>, threads: SessionThreads, is_pinned: bool) -> Result<Arc<dyn Backend>, Error> {
    cpu::session(model, threads, is_pinned)
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
        EngineName::OpenVino => Arc::new(OpenVino::open(model)?),
        EngineName::OnnxRuntime => Arc::new(Cpu::open(model, sessions.map(Path::to_owned))?),
        EngineName::Provider(label) => Arc::new(Cpu::with_provider(model, board.provider(label)?)?),
        other => return Err(unknown(other)),
    })
}

fn unknown(engine: EngineName) -> Error {
    Error::Defect(format!("nothing opens the engine {engine}"))
}

/// The engines on the cores.
pub(crate) fn on_cores(board: &Board, model: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    Ok(Arc::new(Several::new(on_cores_of(board, model, None)?.0)))
}

type OnCores = (Vec<Arc<dyn Observed>>, Vec<(EngineName, Arc<dyn CoreEngine>)>);

/// What runs operators on the cores of each cluster, and the engines that do.
fn on_cores_of(board: &Board, model: &Arc<Model>, sessions: Option<&Path>) -> Result<OnCores, Error> {
    let (mut all, mut engines): OnCores = (Vec::new(), Vec::new());
    for name in board.engines_in_use() {
        let engine = opened(board, name, model, sessions)?;
        all.push(Arc::new(WithEngine::new(engine.backend(), name)) as Arc<dyn Observed>);
        engines.push((name, engine));
    }
    Ok((all, engines))
}

/// The engine of a graphics device.
fn graphics(board: &Board, accelerator: &Accelerator, gpus: &mut Gpus) -> Result<Arc<dyn Observed>, Error> {
    let is_gpu = matches!(accelerator.kind, AcceleratorKind::Gpu | AcceleratorKind::SoftwareGpu);
    let no_engine = |feature| Error::NoEngine {
        processor: format!("{} ({})", accelerator.label, accelerator.kind),
        board: board.name().to_owned(),
        feature,
    };
    match (is_gpu, gpu::IS_BUILT_IN) {
        (true, true) => gpus.open(accelerator),
        (true, false) => Err(no_engine(Some("wgpu"))),
        (false, _) => Err(no_engine(None)),
    }
}

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
    let wanted = detected.into_iter().filter(|own| missing.contains(&own.engine()));
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
