//! What runs operators on a board: ONNX Runtime on its cores, and a graphics backend on each of its GPUs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use millstream_backend::{Backend, Several};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, Policy, ThreadWork, WgpuBackend, WorkChoice};
use millstream_board::{AcceleratorKind, Board, Processor};
use millstream_cost::CostTable;
use millstream_graph::{Graph, OperatorKind};
use millstream_onnx::Model;
use millstream_predict::{Granularity, GranularityChoice, GranularityRecord, Profile, fit, threads_by_family};
use millstream_profile::measure_granularity;

use crate::interrupt;
use crate::model::Network;

/// Convolutions that the granularity is fitted to.
const GRANULARITY_CONVOLUTIONS: usize = 10;

/// The backends of a board for one model.
pub(crate) struct Backends {
    /// All of them as one.
    pub(crate) all: Arc<dyn Backend>,
    cores: Arc<OrtBackend>,
    gpus: Vec<(String, Arc<WgpuBackend>)>,
    model: Arc<Model>,
}

impl Backends {
    /// Opens whatever the board has. `profile` says how threads of GPUs share the work, if it is known.
    pub(crate) fn open(board: &Board, model: &Arc<Model>, profile: Option<&Profile>) -> Result<Self> {
        let cores = Arc::new(OrtBackend::new(&Environment::load()?, Arc::clone(model)));
        let mut all = vec![Arc::clone(&cores) as Arc<dyn Backend>];
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
            all.push(Arc::clone(&backend) as Arc<dyn Backend>);
            gpus.push((accelerator.label.clone(), backend));
        }
        let backends = Self { all: Arc::new(Several::new(all)), cores, gpus, model: Arc::clone(model) };
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
            let records = profile.granularity.iter().filter(|record| record.accelerator == *label);
            match GranularityChoice::fit(records) {
                Ok(choice) => backend.choose_work(work_by_macs(&choice, self.model.graph())),
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
            let works: Vec<ThreadWork> = policies
                .into_iter()
                .flat_map(|policy| Granularity::ALL.map(|Granularity(outputs)| ThreadWork { outputs, policy }))
                .collect();
            let before = backend.work_choice();
            let samples = measure_granularity(
                self.model.graph(),
                &**backend,
                &Processor::accelerator(label.clone()),
                &works,
                &mut |work| backend.choose_work(WorkChoice::Fixed(work)),
                GRANULARITY_CONVOLUTIONS,
                &mut || !interrupt::requested(),
            );
            backend.choose_work(before);
            let samples = samples?;
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

/// What is fastest for each amount of work that a convolution of the network has.
fn work_by_macs(choice: &GranularityChoice, graph: &Graph) -> WorkChoice {
    let convolutions =
        graph.operators().iter().filter(|operator| matches!(operator.kind, OperatorKind::Convolution(_)));
    let works = convolutions.filter_map(|operator| {
        let (number, Granularity(outputs)) = choice.best(operator.work.macs)?;
        Some((operator.work.macs, ThreadWork { outputs, policy: Policy::of_number(number)? }))
    });
    WorkChoice::ByMacs(works.collect())
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
