//! What OpenVINO can run on here.

use std::borrow::Cow;

use millstream_backend::BackendError;
use openvino::{Core, DeviceType, InferenceError, PropertyKey};

use crate::NAME;
use crate::device_ids::CPU;
use crate::error::OpenVinoError;
use crate::library::{OpenVino, no_devices, working_core};
use crate::settings::Precision;

/// The property in which a device says what it can do, with spaces between.
const CAPABILITIES: &str = "OPTIMIZATION_CAPABILITIES";

/// A device of OpenVINO's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What OpenVINO calls it: `CPU`, `GPU`, `GPU.1`, `NPU`.
    pub id: String,
    /// What it calls itself.
    pub name: String,
    /// The version of the plug-in that drives it.
    pub version: String,
    /// Memory of its own; `None` if it shares the computer's, or does not tell.
    pub memory_bytes: Option<u64>,
    /// Of [`Precision::REDUCED`], those that it is used with: of floats, those that it has instructions for.
    pub reduced_precisions: Vec<Precision>,
}

impl Device {
    /// Whether it is the cores of this computer.
    pub fn is_cpu(&self) -> bool {
        self.id == CPU
    }

    /// Whether this name means it. One without a number means number 0, which the only device of a kind may lack.
    pub fn is_called(&self, id: &str) -> bool {
        let numbered = |id: &str| if id.contains('.') { id.to_owned() } else { format!("{id}.0") };
        numbered(&self.id) == numbered(id)
    }

    /// Whether it is a graphics device.
    pub fn is_gpu(&self) -> bool {
        self.id.split('.').next() == Some("GPU")
    }
}

impl OpenVino {
    /// The devices that it finds now.
    ///
    /// # Errors
    /// [`OpenVinoError::Failed`] if it can't tell.
    pub fn devices(&self) -> Result<Vec<Device>, OpenVinoError> {
        all(self)
    }

    /// The device of this name ([`Device::is_called`]).
    ///
    /// # Errors
    /// [`OpenVinoError::NoDevice`] if it is not there, or not any more.
    pub fn device(&self, id: &str) -> Result<Device, OpenVinoError> {
        let all = self.devices()?;
        let ids = || all.iter().map(|device| device.id.clone()).collect();
        let known = all.iter().find(|device| device.is_called(id)).cloned();
        known.ok_or_else(|| OpenVinoError::NoDevice { device: id.to_owned(), available: ids() })
    }
}

/// The devices that there are. A plug-in that can't be used, as where a driver is missing, has none.
pub(crate) fn all(_: &OpenVino) -> Result<Vec<Device>, OpenVinoError> {
    let core = working_core()?;
    let devices = core.available_devices().map_err(|error| no_devices(&error))?;
    devices.iter().map(|device| device_of(&core, device).map_err(|error| no_devices(&error))).collect()
}

/// A device that was there, and may go away.
pub(crate) struct DeviceWatch {
    library: OpenVino,
    id: String,
}

impl DeviceWatch {
    pub(crate) fn new(library: &OpenVino, id: &str) -> Result<Self, OpenVinoError> {
        Ok(Self { library: library.clone(), id: library.device(id)?.id })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The error of a device that is not there any more; `None` if it is.
    pub(crate) fn lost(&self) -> Option<BackendError> {
        let error = self.library.device(&self.id).err()?;
        Some(BackendError::DeviceLost { backend: NAME.to_owned(), detail: error.to_string() })
    }
}

fn device_of(core: &Core, device: &DeviceType<'_>) -> Result<Device, InferenceError> {
    let name = core.get_property(device, &PropertyKey::DeviceFullName)?;
    let plugin = device.as_ref().split('.').next().unwrap_or_default();
    let versions = core.versions(plugin)?;
    let version = versions.first().map(|(_, version)| version.build_number.clone()).unwrap_or_default();
    let version = Cow::from(version.split('-').next().unwrap_or_default());
    let told = |key: &'static str| core.get_property(device, &PropertyKey::Other(key.into())).ok();
    Ok(Device {
        id: device.as_ref().to_owned(),
        name: name.trim().to_owned(),
        version: version.into_owned(),
        memory_bytes: own_memory(told("DEVICE_TYPE").as_deref(), told("GPU_DEVICE_TOTAL_MEM_SIZE").as_deref()),
        reduced_precisions: reduced_precisions(&told(CAPABILITIES).unwrap_or_default()),
    })
}

/// Of the reduced precisions, those that a device with such capabilities is used with.
fn reduced_precisions(capabilities: &str) -> Vec<Precision> {
    let is_named = |name: &str| capabilities.split_whitespace().any(|own| own == name);
    let is_there = |precision: &Precision| precision.capability().is_none_or(is_named);
    Precision::REDUCED.into_iter().filter(is_there).collect()
}

/// Why the cores of this computer can't compute with a precision; `None` if they can, or nobody knows. OpenVINO would
/// compute with another one and not say so, or imitate it slowly.
pub(crate) fn why_cores_lack(precision: Precision) -> Option<String> {
    precision.capability()?;
    let core = Core::new().ok()?;
    let capabilities = core.get_property(&DeviceType::CPU, &PropertyKey::Other(CAPABILITIES.into())).ok()?;
    let is_there = reduced_precisions(&capabilities).contains(&precision);
    (!is_there).then(|| precision.missing_instructions())
}

/// The memory of a device that says what type it is, and how much memory it can use: a discrete one has it to itself, an
/// integrated one means the computer's.
fn own_memory(device_type: Option<&str>, total_memory: Option<&str>) -> Option<u64> {
    total_memory?.trim().parse().ok().filter(|&bytes| bytes > 0 && device_type == Some("discrete"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::{Arc, Mutex};

    use millstream_backend::{Backend, Segment};
    use millstream_board::Processor;

    use super::{BackendError, DeviceWatch, own_memory, reduced_precisions, why_cores_lack};
    use crate::backend::{OpenVinoBackend, Where};
    use crate::library::OpenVino;
    use crate::settings::Precision;

    #[test]
    fn a_precision_needs_instructions_for_it() {
        assert_eq!(reduced_precisions("BF16 WINOGRAD FP32 INT8 BIN"), [Precision::Int8, Precision::Bf16]);
        assert_eq!(reduced_precisions("FP16 FP32"), [Precision::Int8, Precision::F16]);
        assert_eq!(reduced_precisions("FP32 FP16X"), [Precision::Int8]);

        let Ok(library) = OpenVino::load() else {
            return millstream_test_support::not_tested("OPENVINO", "there is no OpenVINO here");
        };
        let cores = library.device("CPU").unwrap().reduced_precisions;
        assert_eq!(why_cores_lack(Precision::F32), None);
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        {
            let known = std::fs::read_to_string("/proc/cpuinfo").unwrap();
            let has = |flag: &str| known.split_whitespace().any(|own| own == flag);
            assert!(!has("avx512_bf16") || cores.contains(&Precision::Bf16), "{cores:?}");
            let has_halves = ["avx512_fp16", "amx_fp16", "avx_ne_convert"].map(has).contains(&true);
            assert!(has_halves || !cores.contains(&Precision::F16), "{cores:?}");
        }
        for precision in Precision::REDUCED {
            let why = why_cores_lack(precision);
            assert_eq!(why.is_none(), cores.contains(&precision), "{precision:?}: {why:?}");
            assert!(why.is_none_or(|why| why == precision.missing_instructions()));
        }
    }

    #[test]
    fn a_device_that_is_not_there_any_more_is_lost() {
        let Ok(library) = OpenVino::load() else {
            return millstream_test_support::not_tested("OPENVINO", "there is no OpenVINO here");
        };
        let watch = |id: &str| DeviceWatch { library: library.clone(), id: id.to_owned() };
        assert!(watch("CPU").lost().is_none());
        let Some(BackendError::DeviceLost { backend, detail }) = watch("GPU.7").lost() else {
            panic!("GPU.7 was unplugged");
        };
        assert_eq!(backend, "openvino");
        assert!(detail.contains("no device GPU.7") && detail.contains("CPU"), "{detail}");
    }

    #[test]
    fn nothing_is_prepared_on_a_device_that_is_gone() {
        let Ok(library) = OpenVino::load() else {
            return millstream_test_support::not_tested("OPENVINO", "there is no OpenVINO here");
        };
        let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
        let watch = Arc::new(DeviceWatch { library: library.clone(), id: "GPU.7".to_owned() });
        let mut backend = OpenVinoBackend::on_device(&library, "CPU", "V", Arc::clone(&model)).unwrap();
        backend.place = Where::Device { label: "V".to_owned(), watch, mover: Mutex::default() };
        let error = backend.prepare(&Segment::whole(model.graph()), &Processor::accelerator("V")).err().unwrap();
        assert!(matches!(error, BackendError::DeviceLost { .. }), "{error}");
    }

    #[test]
    fn only_a_discrete_device_has_memory_to_itself() {
        assert_eq!(own_memory(Some("discrete"), Some("8589934592")), Some(8 << 30));
        for (device_type, memory) in [
            (Some("integrated"), Some("8589934592")),
            (None, Some("8589934592")),
            (Some("discrete"), None),
            (Some("discrete"), Some("0")),
            (Some("discrete"), Some("a lot")),
        ] {
            assert_eq!(own_memory(device_type, memory), None, "{device_type:?} {memory:?}");
        }
    }
}
