//! What runs operators on a board: ONNX Runtime on its cores, and a graphics backend on each of its GPUs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use millstream_backend::{Backend, Observed, Several};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, Policy, ThreadWork, WgpuBackend, WorkChoice};
use millstream_board::{AcceleratorKind, Board};
use millstream_cost::{CostTable, GranularityRecord, Profile, fit, threads_by_family};
use millstream_onnx::Model;

use crate::interrupt;
use crate::model::Network;

/// Convolutions that the granularity is fitted to.
const GRANULARITY_CONVOLUTIONS: usize = 10;

/// The backends of a board for one model.
pub(crate) struct Backends {
    /// All of them as one.
    pub(crate) all: Arc<dyn Backend>,
    /// The same, to look at while they work.
    pub(crate) observed: Arc<dyn Observed>,
    cores: Arc<OrtBackend>,
    gpus: Vec<(String, Arc<WgpuBackend>)>,
}

impl Backends {
    /// Opens whatever the board has. `profile` says how threads of GPUs share the work, if it is known.
    pub(crate) fn open(board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self> {
        let cores = Arc::new(OrtBackend::new(&Environment::load()?, Arc::clone(model)));
        let mut all = vec![Arc::clone(&cores) as Arc<dyn Observed>];
        let mut gpus = Vec::new();
        for accelerator in board.accelerators() {
            if !matches!(accelerator.kind, AcceleratorKind::Gpu | AcceleratorKind::SoftwareGpu) {
                bail!(
                    "nothing here runs operators on {} ({}) of board '{}'; simulate the schedule with `cargo xtask simulate`, \
                     or take the accelerator out of the board file",
                    accelerator.label,
                    accelerator.kind,
                    board.name()
                );
            }
            let gpu = opened(accelerator.name.as_deref())?;
            let backend = Arc::new(WgpuBackend::new(&gpu, accelerator.label.clone(), Arc::clone(model)));
            all.push(Arc::clone(&backend) as Arc<dyn Observed>);
            gpus.push((accelerator.label.clone(), backend));
        }
        let observed = Arc::new(Several::new(all));
        let backends = Self { all: observed.clone(), observed, cores, gpus };
        if let Some(profile) = profile {
            backends.choose_work(profile);
        }
        Ok(backends)
    }

    /// Lets every operator family use as many threads of a cluster as the costs of the network suggest, and returns these costs.
    pub(crate) fn choose_threads(&self, network: &Network, board: &Board, profile: &Profile) -> Result<CostTable> {
        let graph = network.model.graph();
        let table = fit(profile, board, network.model.digest(), graph, &network.chain)?;
        for cluster in board.clusters().iter().filter(|cluster| cluster.cores.len() > 1) {
            let threads = threads_by_family(&table, graph, &cluster.label);
            tracing::info!(cluster = cluster.label, ?threads, "threads by operator family");
            self.cores.choose_threads(cluster.label.clone(), threads);
        }
        Ok(table)
    }

    /// Lets the threads of each GPU share the work as its measurements suggest.
    fn choose_work(&self, profile: &Profile) {
        for (label, backend) in &self.gpus {
            let policy = |number: u32| Policy::ALL.into_iter().find(|policy| policy.number() == number);
            let own = profile.granularity.iter().filter(|record| record.accelerator == *label);
            let samples: Vec<(ThreadWork, u64, f64)> = own
                .filter_map(|record| {
                    let work = ThreadWork { outputs: record.granularity, policy: policy(record.policy)? };
                    Some((work, record.macs, record.seconds))
                })
                .collect();
            match WorkChoice::fit(&samples) {
                Ok(choice) => backend.choose_work(choice),
                Err(error) => tracing::debug!(label, "the granularity is not fitted: {error}"),
            }
        }
    }

    /// Measures how the work of convolutions is best divided among the threads of each GPU, where the profile does not know.
    pub(crate) fn measure_granularity(&self, profile: &mut Profile) -> Result<()> {
        for (label, backend) in &self.gpus {
            if profile.granularity.iter().any(|record| record.accelerator == *label) {
                continue;
            }
            let policies = [Policy::NeighbouringPixels, Policy::SamePixel];
            let samples = backend.sweep(&policies, GRANULARITY_CONVOLUTIONS, &mut || !interrupt::requested())?;
            profile.granularity.extend(samples.into_iter().map(|sample| GranularityRecord {
                accelerator: label.clone(),
                policy: sample.work.policy.number(),
                granularity: sample.work.outputs,
                macs: sample.macs,
                seconds: sample.seconds,
            }));
        }
        self.choose_work(profile);
        Ok(())
    }
}

/// The device of this name, opened once per process.
fn opened(name: Option<&str>) -> Result<Gpu> {
    static OPENED: Mutex<Option<HashMap<String, Gpu>>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = opened.get_or_insert_default();
    let key = name.unwrap_or_default();
    if let Some(gpu) = known.get(key) {
        return Ok(gpu.clone());
    }
    let gpu = Gpu::open(name)?;
    known.insert(key.to_owned(), gpu.clone());
    Ok(gpu)
}
