//! OpenVINO on cores, and on the devices that it drives.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_backend::{Backend, Observed};
use millstream_backend_openvino as engine;
use millstream_board::{Accelerator, AcceleratorKind, Board, EngineLabel, EngineName, ReducedPrecision};
use millstream_graph::Family;
use millstream_onnx::Model;

use crate::backends::core_engine::{CoreEngine, Plain};
use crate::backends::device_report::DeviceReport;
use crate::backends::free_label::free_label;
use crate::error::Error;

/// Who made the graphics devices that it drives.
const MAKER: &str = "Intel";

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

/// Whether an engine refuses an operator for want of instructions for its precision.
pub(super) fn is_lacking(name: EngineName, reason: &str) -> bool {
    reason == precision(name).missing_instructions()
}

fn library() -> Result<engine::OpenVino, Error> {
    Ok(engine::OpenVino::load().map_err(millstream_backend::BackendError::from)?)
}

/// Its version.
pub(super) fn version() -> Result<String, Error> {
    Ok(library()?.version().to_owned())
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

/// What it runs on here, each with the version of the plug-in that drives it, and the labels of the board's accelerators
/// that it is; the cores once for each precision that they have instructions for. Other devices and precisions that the
/// board names are there as well, each with why it can't be used.
pub(super) fn report(board: &Board) -> Result<Vec<DeviceReport>, Error> {
    let devices = library()?.devices().map_err(millstream_backend::BackendError::from)?;
    let here = devices.iter().flat_map(|device| {
        let device_name = format!("{}: {}", device.id, device.name);
        let with = move |engine, version, accelerators| DeviceReport {
            engine,
            device: device_name.clone(),
            version,
            accelerators,
        };
        let version = || Ok(device.version.clone());
        if !device.is_cpu() {
            return vec![with(EngineName::OpenVino, version(), Some(used_by(board, device)))];
        }
        let of_precision = |reduced| {
            let engine = EngineName::OpenVinoWith(reduced);
            let is_here = device.reduced_precisions.contains(&precision(engine));
            let is_named = board.engines_in_use().any(|own| own == engine);
            let why = || format!("{engine}: {}", precision(engine).missing_instructions());
            let version = if is_here { version() } else { Err(why()) };
            (is_here || is_named).then(|| with(engine, version, None))
        };
        let plain = with(EngineName::OpenVino, version(), None);
        std::iter::once(plain).chain(ReducedPrecision::ALL.into_iter().filter_map(of_precision)).collect()
    });

    let available: Vec<String> = devices.iter().map(|device| device.id.to_string()).collect();
    let is_missing =
        |own: &&Accelerator| own.is_of_openvino() && !devices.iter().any(|device| device.is_called(id(own)));
    let missing = board.accelerators().iter().filter(is_missing).map(|own| {
        let (device, available) = (id(own).to_owned(), available.clone());
        DeviceReport {
            engine: EngineName::OpenVino,
            device: device.clone(),
            version: Err(engine::OpenVinoError::NoDevice { device, available }.to_string()),
            accelerators: Some(vec![own.label.clone()]),
        }
    });
    Ok(here.chain(missing).collect())
}

/// The labels of the accelerators that are a device.
fn used_by(board: &Board, device: &engine::Device) -> Vec<String> {
    let is_it = |own: &&Accelerator| own.is_of_openvino() && device.is_called(id(own));
    board.accelerators().iter().filter(is_it).map(|own| own.label.clone()).collect()
}

/// Its device, for one model.
pub(super) fn on_device(accelerator: &Accelerator, model: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    let (id, label) = (id(accelerator), accelerator.label.clone());
    Ok(Arc::new(engine::OpenVinoBackend::on_device(&library()?, id, label, Arc::clone(model))?))
}

/// What it calls an accelerator: without a number, the only one or the first of its kind.
fn id(accelerator: &Accelerator) -> &str {
    let of_kind = if accelerator.kind.is_gpu() { "GPU" } else { "NPU" };
    accelerator.device.as_deref().unwrap_or(of_kind)
}

/// Its devices beside the cores, as accelerators. One that is known already, driven in another way, is said to be the
/// same: of Intel's graphics devices, one that has memory of its own as well, or has none either. What OpenVINO drives
/// already is left out.
pub(super) fn devices(known: &[Accelerator]) -> Result<Vec<Accelerator>, Error> {
    let all = library()?.devices().map_err(millstream_backend::BackendError::from)?;
    Ok(accelerators(&all, known))
}

fn accelerators(all: &[engine::Device], known: &[Accelerator]) -> Vec<Accelerator> {
    let is_taken = |device: &engine::Device| known.iter().any(|own| own.is_of_openvino() && device.is_called(id(own)));
    let devices: Vec<&engine::Device> = all.iter().filter(|device| !device.is_cpu() && !is_taken(device)).collect();
    let mut found: Vec<Accelerator> = Vec::new();
    for (device, same) in devices.iter().zip(same_devices(&devices, known)) {
        let kind = kind(device);
        let label = free_label(&[known, &found].concat(), if kind == AcceleratorKind::Gpu { "V" } else { "N" });
        found.push(Accelerator {
            name: Some(device.name.clone()),
            engine: EngineLabel::try_from(EngineName::OpenVino.name()).ok(),
            device: Some(device.id.clone()),
            same_device_as: same.map(str::to_owned),
            memory_bytes: device.memory_bytes,
            ..Accelerator::new(label, kind)
        });
    }
    found
}

fn kind(device: &engine::Device) -> AcceleratorKind {
    if device.is_gpu() { AcceleratorKind::Gpu } else { AcceleratorKind::Npu }
}

/// The accelerator, by its label, that each device likely is: no accelerator is two of them. Those that both have memory
/// of their own, or both have none, find each other first.
fn same_devices<'a>(devices: &[&engine::Device], known: &'a [Accelerator]) -> Vec<Option<&'a str>> {
    let mut same: Vec<Option<&str>> = vec![None; devices.len()];
    for must_have_alike_memory in [true, false] {
        for (place, device) in devices.iter().enumerate() {
            let has_alike_memory = |other: &Accelerator| other.memory_bytes.is_some() == device.memory_bytes.is_some();
            let is_free = |other: &&Accelerator| {
                is_likely_the_same(other, kind(device))
                    && !same.contains(&Some(other.label.as_str()))
                    && (!must_have_alike_memory || has_alike_memory(other))
            };
            if same[place].is_none() {
                same[place] = known.iter().find(is_free).map(|other| other.label.as_str());
            }
        }
    }
    same
}

/// Whether a known accelerator may be a device that OpenVINO drives as one of this kind.
fn is_likely_the_same(known: &Accelerator, kind: AcceleratorKind) -> bool {
    let is_of_maker = || known.name.as_deref().is_some_and(|name| name.contains(MAKER));
    known.kind == kind && known.same_device_as.is_none() && (kind != AcceleratorKind::Gpu || is_of_maker())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_test_support::not_tested;

    use super::*;

    fn device(id: &str, memory_bytes: Option<u64>) -> engine::Device {
        let (name, version) = (format!("Some {id}"), "2026.4.1".into());
        engine::Device { id: id.into(), name, version, memory_bytes, reduced_precisions: Vec::new() }
    }

    #[test]
    fn devices_beside_the_cores_are_accelerators_with_their_memory() {
        let all = [device("CPU", None), device("GPU.0", None), device("GPU.1", Some(8 << 30)), device("NPU", None)];
        let found = accelerators(&all, &[]);
        let of = |own: &Accelerator| (own.label.clone(), own.kind, own.memory_bytes, id(own).to_owned());
        let (gpu, npu) = (AcceleratorKind::Gpu, AcceleratorKind::Npu);
        let expected = [
            ("V".to_owned(), gpu, None, "GPU.0".to_owned()),
            ("V2".to_owned(), gpu, Some(8 << 30), "GPU.1".to_owned()),
            ("N".to_owned(), npu, None, "NPU".to_owned()),
        ];
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
        assert!(found.iter().all(Accelerator::is_of_openvino) && !Accelerator::new("G", gpu).is_of_openvino());
        assert_eq!([gpu, npu].map(|kind| id(&Accelerator::new("X", kind)).to_owned()), ["GPU", "NPU"]);
    }

    #[test]
    fn devices_that_are_driven_in_two_ways_are_said_to_be_one() {
        let all = [device("CPU", None), device("GPU.0", None), device("GPU.1", Some(8 << 30)), device("NPU", None)];
        let known = |label: &str, kind, name: &str, memory_bytes| Accelerator {
            name: Some(name.to_owned()),
            memory_bytes,
            ..Accelerator::new(label, kind)
        };
        let same = |known: &[Accelerator]| {
            let all = accelerators(&all, known).into_iter();
            all.map(|own| own.label + "=" + own.same_device_as.as_deref().unwrap_or("-")).collect::<Vec<_>>()
        };
        let (gpu, npu) = (AcceleratorKind::Gpu, AcceleratorKind::Npu);
        let (arc, iris) =
            (known("G", gpu, "Intel(R) Arc(tm) A370M", Some(4 << 30)), known("G2", gpu, "Intel(R) Iris(R) Xe", None));
        assert_eq!(same(&[]), ["V=-", "V2=-", "N=-"]);
        // Shaders may list them in another order.
        assert_eq!(same(&[arc.clone(), iris.clone()]), ["V=G2", "V2=G", "N=-"]);
        assert_eq!(same(&[arc]), ["V=-", "V2=G", "N=-"]);
        assert_eq!(
            same(&[known("G", gpu, "NVIDIA H200", Some(1 << 37))]),
            ["V=-", "V2=-", "N=-"],
            "it drives no other"
        );
        assert_eq!(same(&[known("N", npu, "Some NPU", None)]), ["V=-", "V2=-", "N2=N"]);
        assert_eq!(same(&[known("V", AcceleratorKind::Dsp, "Some DSP", None)]), ["V2=-", "V3=-", "N=-"]);

        // A board can have them all, and has them once.
        let board = millstream_test_support::board("B1").with_accelerators(vec![iris.clone()]).unwrap();
        let board = board.with_accelerators([&[iris.clone()][..], &accelerators(&all, &[iris])].concat()).unwrap();
        assert_eq!((board.device_of("V"), board.device_of("V2"), board.device_of("G2")), ("G2", "V2", "G2"));
        assert_eq!(accelerators(&all, board.accelerators()), []);
        assert_eq!(
            [0, 1, 2, 3].map(|place: usize| used_by(&board, &all[place])),
            [vec![], vec!["V".to_owned()], vec!["V2".to_owned()], vec!["N".to_owned()]]
        );
    }

    #[test]
    fn a_device_of_the_board_that_is_not_here_is_reported_with_its_label() {
        if library().is_err() {
            return not_tested("OPENVINO", "there is no OpenVINO here");
        }
        let gone = Accelerator {
            engine: EngineLabel::try_from("openvino").ok(),
            device: Some("GPU.7".to_owned()),
            ..Accelerator::new("V", AcceleratorKind::Gpu)
        };
        let board = millstream_test_support::board("B1").with_accelerators(vec![gone]).unwrap();
        let reports = report(&board).unwrap();
        assert!(reports.iter().any(|report| report.device.starts_with("CPU: ") && report.version.is_ok()));
        let gone = reports.iter().find(|report| report.device == "GPU.7").unwrap();
        let reason = gone.version.as_ref().unwrap_err();
        assert!(reason.contains("no device GPU.7 here, only CPU"), "{reason}");
        assert_eq!(gone.accelerators, Some(vec!["V".to_owned()]));
    }

    #[test]
    fn precisions_are_reported_where_there_are_instructions_or_the_board_names_them() {
        let Ok(library) = library() else {
            return not_tested("OPENVINO", "there is no OpenVINO here");
        };
        let here = library.device("CPU").unwrap().reduced_precisions;
        for board in ["B1", "B1@openvinof16", "B1@openvinobf16,openvinoint8"] {
            let board = millstream_test_support::board(board);
            let reports = report(&board).unwrap();
            for reduced in ReducedPrecision::ALL {
                let engine = EngineName::OpenVinoWith(reduced);
                let (is_here, is_named) =
                    (here.contains(&precision(engine)), board.engines_in_use().any(|own| own == engine));
                let found = reports.iter().find(|report| report.engine == engine);
                assert_eq!(found.is_some(), is_here || is_named, "{engine}");
                assert!(found.is_none_or(|found| found.version.is_ok() == is_here), "{found:?}");
            }
        }
    }

    #[test]
    fn a_device_is_found_by_its_name_with_or_without_a_number() {
        for (id, name, is_it) in [
            ("GPU", "GPU", true),
            ("GPU", "GPU.0", true),
            ("GPU.0", "GPU", true),
            ("GPU.1", "GPU", false),
            ("GPU.1", "GPU.1", true),
            ("NPU", "GPU", false),
        ] {
            assert_eq!(device(id, None).is_called(name), is_it, "{id} {name}");
        }
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
