//! What runs operators on a board: an engine on its cores, and one on each of its GPUs.
//!
//! The engines are behind cargo features. A file of the same functions stands in for each that is left out.

#[cfg(feature = "ort")]
mod cpu;
#[cfg(not(feature = "ort"))]
#[path = "no_cpu.rs"]
mod cpu;
#[cfg(feature = "wgpu")]
mod gpu;
#[cfg(not(feature = "wgpu"))]
#[path = "no_gpu.rs"]
mod gpu;

use std::sync::Arc;

use millstream_backend::{Backend, Observed, Several};
use millstream_board::{Accelerator, AcceleratorKind, Board, Processor};
use millstream_cost::CostTable;
use millstream_onnx::Model;
use millstream_predict::{Profile, fit, threads_by_family};

use crate::{Control, Error, Machine, Network};
use cpu::Cpu;
use gpu::Gpus;

/// The backends of a board for one model.
pub(crate) struct Backends {
    /// All of them as one.
    pub(crate) all: Arc<dyn Observed>,
    cpu: Cpu,
    gpus: Gpus,
}

impl Backends {
    /// Opens whatever the board has, to try many ways to run the model. `profile` says how threads of GPUs share the work, if it is
    /// known.
    pub(crate) fn open(board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self, Error> {
        Self::with_cpu(Cpu::open(model)?, board, model, profile)
    }

    /// The same to run a network in one way, which is prepared faster the next time. Threads are as the network's profile suggests,
    /// where there is one; its costs come with them.
    pub(crate) fn open_to_run(machine: &Machine, network: &Network) -> Result<(Self, Option<CostTable>), Error> {
        let (board, model) = (machine.board(), network.model());
        let profile = machine.cache.load(network, board);
        let cpu = Cpu::open_cached(model, machine.cache.sessions())?;
        let backends = Self::with_cpu(cpu, board, model, profile.as_ref())?;
        let costs = profile.map(|profile| backends.choose_threads(network, board, &profile)).transpose()?;
        Ok((backends, costs))
    }

    fn with_cpu(cpu: Cpu, board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self, Error> {
        let mut all = vec![cpu.backend()];
        let mut gpus = Gpus::new(model);
        for accelerator in board.accelerators() {
            let is_gpu = matches!(accelerator.kind, AcceleratorKind::Gpu | AcceleratorKind::SoftwareGpu);
            let no_engine = |feature| Error::NoEngine {
                processor: format!("{} ({})", accelerator.label, accelerator.kind),
                board: board.name().to_owned(),
                feature,
            };
            if !is_gpu {
                return Err(no_engine(None));
            }
            if !gpu::IS_BUILT_IN {
                return Err(no_engine(Some("wgpu")));
            }
            all.push(gpus.open(accelerator)?);
        }
        gpus.choose_work(profile);
        Ok(Self { all: Arc::new(Several::new(all)), cpu, gpus })
    }

    /// All of them as one that is not looked at.
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
            let threads = threads_by_family(&table, graph, &cluster.label);
            tracing::info!(cluster = cluster.label, ?threads, "threads by operator family");
            self.cpu.choose_threads(&cluster.label, threads);
        }
        Ok(table)
    }

    /// Keeps no more sessions from now on: what is prepared while frames flow should take neither cores nor memory from them.
    pub(crate) fn stop_keeping(&self) {
        self.cpu.stop_keeping();
    }

    /// Measures how the work of convolutions is best divided among the threads of each GPU, where the profile does not know.
    pub(crate) fn measure_granularity(&self, profile: &mut Profile, control: &Control) -> Result<(), Error> {
        self.gpus.measure_granularity(profile, control)
    }
}

/// The processor on which networks run plainly: the board's first core.
pub(crate) fn first_core(board: &Board) -> Result<Processor, Error> {
    let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
    let core = cluster.cores.first().ok_or(Error::Incomplete { what: "core" })?;
    Ok(Processor { cluster: cluster.label.clone(), cores: vec![core.id] })
}

/// The engine on the cores, computing and rounding each operator by itself.
pub(crate) fn unoptimised(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    cpu::unoptimised(model)
}

/// The engine on the cores, as it comes: threads where the system puts them, spinning.
pub(crate) fn as_it_comes(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    cpu::as_it_comes(model)
}

/// The engine on the cores.
pub(crate) fn on_cores(model: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    Ok(Cpu::open(model)?.backend())
}

/// The graphics devices of this computer.
pub(crate) fn accelerators(has_software_gpus: bool) -> Vec<Accelerator> {
    gpu::accelerators(has_software_gpus)
}
