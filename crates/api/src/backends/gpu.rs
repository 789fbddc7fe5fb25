//! Graphics devices, each with a backend of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_backend::Observed;
use millstream_backend_wgpu::{Gpu, Policy, ThreadWork, WgpuBackend, WorkChoice};
use millstream_board::{Accelerator, Processor};
use millstream_graph::{Graph, OperatorKind};
use millstream_onnx::Model;
use millstream_predict::published::Granularity;
use millstream_predict::samples::GranularityRecord;
use millstream_predict::{GranularityChoice, Profile};
use millstream_profile::measure_granularity;

use crate::control::Control;
use crate::error::Error;

/// Whether graphics devices can be used.
pub(super) const IS_BUILT_IN: bool = true;
/// Convolutions that the granularity is fitted to.
const GRANULARITY_CONVOLUTIONS: usize = 10;
/// Those that did best on devices that were measured.
const POLICIES: [Policy; 2] = [Policy::NeighbouringPixels, Policy::SamePixel];

/// The devices of a board, for one model.
pub(super) struct Gpus {
    model: Arc<Model>,
    /// By label.
    devices: Vec<(String, Arc<WgpuBackend>)>,
}

impl Gpus {
    pub(super) fn new(model: &Arc<Model>) -> Self {
        Self { model: Arc::clone(model), devices: Vec::new() }
    }

    pub(super) fn open(&mut self, accelerator: &Accelerator) -> Result<Arc<dyn Observed>, Error> {
        let gpu = opened(accelerator.name.as_deref())?;
        let backend = Arc::new(WgpuBackend::new(&gpu, accelerator.label.clone(), Arc::clone(&self.model)));
        self.devices.push((accelerator.label.clone(), Arc::clone(&backend)));
        Ok(backend)
    }

    /// Lets the threads of each device share the work as its measurements suggest.
    pub(super) fn choose_work(&self, profile: Option<&Profile>) {
        let Some(profile) = profile else { return };
        for (label, backend) in &self.devices {
            let records = profile.granularity.iter().filter(|record| record.accelerator == *label);
            match GranularityChoice::fit(records) {
                Ok(choice) => backend.choose_work(work_by_macs(&choice, self.model.graph())),
                Err(error) => tracing::debug!(label, "the granularity is not fitted: {error}"),
            }
        }
    }

    pub(super) fn measure_granularity(&self, profile: &mut Profile, control: &Control) -> Result<(), Error> {
        let works: Vec<ThreadWork> = POLICIES
            .into_iter()
            .flat_map(|policy| Granularity::ALL.map(|Granularity(outputs)| ThreadWork { outputs, policy }))
            .collect();

        for (label, backend) in &self.devices {
            if profile.granularity.iter().any(|record| record.accelerator == *label) {
                continue;
            }
            let before = backend.work_choice();
            let samples = measure_granularity(
                self.model.graph(),
                &**backend,
                &Processor::accelerator(label.clone()),
                &works,
                &mut |work| backend.choose_work(WorkChoice::Fixed(work)),
                GRANULARITY_CONVOLUTIONS,
                &mut || !control.is_cancelled(),
            );
            backend.choose_work(before);
            profile.granularity.extend(samples?.into_iter().map(|sample| GranularityRecord {
                accelerator: label.clone(),
                policy: sample.work.policy.number(),
                granularity: sample.work.outputs,
                macs: sample.macs,
                seconds: sample.seconds,
            }));
        }

        self.choose_work(Some(profile));
        Ok(())
    }
}

pub(super) fn accelerators(has_software_gpus: bool) -> Vec<Accelerator> {
    millstream_backend_wgpu::detect(has_software_gpus)
}

/// Whether an accelerator's device is here.
pub(super) fn check(accelerator: &Accelerator) -> Result<(), Error> {
    opened(accelerator.name.as_deref()).map(drop)
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
fn opened(name: Option<&str>) -> Result<Gpu, Error> {
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
