//! OpenVINO on cores, and on the devices that it drives.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_backend::{Backend, Observed};
use millstream_backend_openvino as engine;
use millstream_board::{Accelerator, AcceleratorKind, EngineName, ReducedPrecision};
use millstream_graph::Family;
use millstream_onnx::Model;

use crate::backends::core_engine::{CoreEngine, Plain};
use crate::error::Error;

/// What the names of its devices begin with.
const PREFIX: &str = "OpenVINO ";

/// The engine on cores, for one model.
pub(super) struct OpenVino {
    backend: Arc<engine::OpenVinoBackend>,
}

impl OpenVino {
    /// Computes with the precision of an engine's name.
    pub(super) fn open(model: &Arc<Model>, name: EngineName) -> Result<Self, Error> {
        let backend = engine::OpenVinoBackend::new(&library()?, Arc::clone(model));
        Ok(Self { backend: Arc::new(backend.with_precision(precision(name))) })
    }
}

impl CoreEngine for OpenVino {
    fn backend(&self) -> Arc<dyn Observed> {
        Arc::clone(&self.backend) as Arc<dyn Observed>
    }

    fn choose_threads(&self, cluster: &str, threads: BTreeMap<Family, usize>) {
        self.backend.choose_threads(cluster.to_owned(), threads);
    }
}

fn precision(name: EngineName) -> engine::Precision {
    match name.reduced_precision() {
        None => engine::Precision::F32,
        Some(ReducedPrecision::Int8) => engine::Precision::Int8,
        Some(ReducedPrecision::F16) => engine::Precision::F16,
        Some(ReducedPrecision::Bf16) => engine::Precision::Bf16,
    }
}

fn library() -> Result<engine::OpenVino, Error> {
    Ok(engine::OpenVino::load().map_err(millstream_backend::BackendError::from)?)
}

/// The engine as it is used plainly, by one of its hints, and how many requests it wants to work on at once.
fn hinted(model: &Arc<Model>, name: EngineName, hint: engine::Hint) -> Result<(Arc<dyn Backend>, usize), Error> {
    let backend = engine::OpenVinoBackend::with_hint(&library()?, Arc::clone(model), hint);
    let backend = backend.with_precision(precision(name));
    let requests = backend.optimal_requests()?;
    Ok((Arc::new(backend), requests))
}

/// Ways to use it plainly, with their names. None with integers alone: by its hints OpenVINO uses them anyway.
pub(super) fn plainly(name: EngineName, model: &Arc<Model>) -> Result<Vec<Plain>, Error> {
    if name.reduced_precision() == Some(ReducedPrecision::Int8) {
        return Ok(Vec::new());
    }
    [engine::Hint::Latency, engine::Hint::Throughput]
        .into_iter()
        .map(|hint| {
            let (backend, requests) = hinted(model, name, hint)?;
            Ok(Plain { name: format!("{}, {}", name.title(), hint.name()), backend, requests, sees_all: true })
        })
        .collect()
}

/// What it runs on here, each with the version of the plug-in that drives it.
pub(super) fn report() -> Result<Vec<(String, String)>, Error> {
    let devices = library()?.devices().map_err(millstream_backend::BackendError::from)?;
    let of = |device: engine::Device| (format!("{}: {}", device.id, device.name), device.version);
    Ok(devices.into_iter().map(of).collect())
}

/// Whether an accelerator is one of its devices.
pub(super) fn drives(accelerator: &Accelerator) -> bool {
    id(accelerator).is_some()
}

/// Its device, for one model.
pub(super) fn on_device(accelerator: &Accelerator, model: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    let (id, label) = (id(accelerator).unwrap_or_default(), accelerator.label.clone());
    Ok(Arc::new(engine::OpenVinoBackend::on_device(&library()?, id, label, Arc::clone(model))?))
}

/// What it calls an accelerator: the name is `OpenVINO NPU: what the device calls itself`.
fn id(accelerator: &Accelerator) -> Option<&str> {
    accelerator.name.as_deref()?.strip_prefix(PREFIX)?.split(':').next()
}

/// Its devices beside the cores, as accelerators; none of a kind of which some are known: these are likely the same.
pub(super) fn devices(known: &[Accelerator]) -> Result<Vec<Accelerator>, Error> {
    let all = library()?.devices().map_err(millstream_backend::BackendError::from)?;
    Ok(accelerators(&all, known))
}

fn accelerators(all: &[engine::Device], known: &[Accelerator]) -> Vec<Accelerator> {
    let (mut gpus, mut npus) = (0, 0);
    let accelerator = |device: &engine::Device| {
        let (kind, letter, count) = if device.is_gpu() {
            (AcceleratorKind::Gpu, "V", &mut gpus)
        } else {
            (AcceleratorKind::Npu, "N", &mut npus)
        };
        *count += 1;
        let label = if *count == 1 { letter.to_owned() } else { format!("{letter}{count}") };
        let name = Some(format!("{PREFIX}{}: {}", device.id, device.name));
        Accelerator { name, memory_bytes: device.memory_bytes, ..Accelerator::new(label, kind) }
    };
    let is_known = |kind: AcceleratorKind| known.iter().any(|accelerator| accelerator.kind == kind);
    let kind = |device: &engine::Device| if device.is_gpu() { AcceleratorKind::Gpu } else { AcceleratorKind::Npu };
    let is_wanted = |device: &&engine::Device| !device.is_cpu() && !is_known(kind(device));
    all.iter().filter(is_wanted).map(accelerator).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_test_support::not_tested;

    use super::*;

    fn device(id: &str, memory_bytes: Option<u64>) -> engine::Device {
        engine::Device { id: id.into(), name: format!("Some {id}"), version: "2026.4.1".into(), memory_bytes }
    }

    #[test]
    fn devices_beside_the_cores_are_accelerators_with_their_memory() {
        let all = [device("CPU", None), device("GPU.0", None), device("GPU.1", Some(8 << 30)), device("NPU", None)];
        let found = accelerators(&all, &[]);
        let of = |own: &Accelerator| (own.label.clone(), own.kind, own.memory_bytes, id(own).map(str::to_owned));
        let (gpu, npu) = (AcceleratorKind::Gpu, AcceleratorKind::Npu);
        let expected = [
            ("V".to_owned(), gpu, None, Some("GPU.0".to_owned())),
            ("V2".to_owned(), gpu, Some(8 << 30), Some("GPU.1".to_owned())),
            ("N".to_owned(), npu, None, Some("NPU".to_owned())),
        ];
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
        assert!(found.iter().all(drives) && !drives(&Accelerator::new("G", gpu)));

        let labels = |kind| {
            let known = [Accelerator::new("X", kind)];
            accelerators(&all, &known).into_iter().map(|own| own.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(gpu), ["N"], "another library drives the graphics devices");
        assert_eq!(labels(npu), ["V", "V2"]);
        assert_eq!(labels(AcceleratorKind::Dsp), ["V", "V2", "N"]);
    }

    #[test]
    fn an_engine_computes_with_the_precision_of_its_name() {
        assert_eq!(precision(EngineName::OpenVino), engine::Precision::F32);
        for reduced in ReducedPrecision::ALL {
            let name = EngineName::OpenVinoWith(reduced);
            assert_eq!(format!("openvino{:?}", precision(name)).to_lowercase(), name.name());
        }

        if library().is_err() {
            return not_tested("OPENVINO", "there is no OpenVINO here");
        }
        let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
        for name in EngineName::known().filter(EngineName::is_openvino) {
            assert_eq!(OpenVino::open(&model, name).unwrap().backend.precision(), precision(name), "{name}");
        }
    }
}
