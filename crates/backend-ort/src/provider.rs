//! Execution providers as a board names them, made ready to be used in sessions.

use std::collections::BTreeSet;
use std::path::{MAIN_SEPARATOR, Path};

use millstream_backend::BackendError;
use millstream_board::Provider;
use ort::device::Device;
use ort::ep::ExecutionProviderDispatch;
use ort::memory::DeviceType;
use ort::session::builder::SessionBuilder;

use crate::built_in_providers::{self as built_in, BuiltIn, ProviderPlace, XNNPACK_THREADS};
use crate::environment::Environment;
use crate::library::VARIABLE;
use crate::whole_library::fault;

/// A provider that the library at hand has, or that a plug-in brought.
pub(crate) struct OpenProvider {
    environment: Environment,
    definition: Provider,
    source: Source,
}

enum Source {
    BuiltIn {
        dispatch: ExecutionProviderDispatch,
        is_on_cores: bool,
    },
    /// The provider's device of this number, among those of the plug-in.
    Plugin {
        device: usize,
        is_on_cores: bool,
    },
}

/// The provider that is told its threads by an option: the session's do not work for it.
const XNNPACK: &str = "XnnpackExecutionProvider";

impl OpenProvider {
    /// # Errors
    /// [`BackendError::Unavailable`] with the engine, what is wrong, and what would help.
    pub(crate) fn open(environment: &Environment, definition: &Provider) -> Result<Self, BackendError> {
        let source = match &definition.library {
            Some(library) => plugin(environment, definition, library),
            None => built_in(environment, definition),
        };
        let open = |source| Self { environment: environment.clone(), definition: definition.clone(), source };
        let detail = match source.map(open) {
            Err(detail) => detail,
            // What its own library or driver lacks shows only now.
            Ok(provider) => match environment.session_builder().and_then(|builder| provider.add_to(builder, 1)) {
                Ok(_) => return Ok(provider),
                Err(said) => format!("ONNX Runtime refuses it: {said}; look at `options`, and at the device's driver"),
            },
        };
        Err(BackendError::Unavailable { backend: name(definition), detail })
    }

    /// The engine with its provider, for messages.
    pub(crate) fn name(&self) -> String {
        name(&self.definition)
    }

    /// What ONNX Runtime calls it.
    pub(crate) fn provider(&self) -> &str {
        self.definition.provider.as_str()
    }

    /// Whether it computes on the cores, in the memory of the host.
    pub(crate) fn is_on_cores(&self) -> bool {
        match self.source {
            Source::BuiltIn { is_on_cores, .. } | Source::Plugin { is_on_cores, .. } => is_on_cores,
        }
    }

    /// The provider, if it may compute on the cores.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if it drives a device.
    pub(crate) fn on_cores(self) -> Result<Self, BackendError> {
        if self.is_on_cores() {
            return Ok(self);
        }
        let detail = "it drives a device: name it as the `engine` of an accelerator, not of a cluster".to_owned();
        Err(BackendError::Unavailable { backend: self.name(), detail })
    }

    /// Has a session use it before ONNX Runtime's own kernels.
    pub(crate) fn add_to(&self, builder: SessionBuilder, threads: usize) -> Result<SessionBuilder, String> {
        let options = &self.definition.options;
        let added = match &self.source {
            Source::Plugin { device, .. } => {
                let prefix = self.provider();
                let options: Vec<_> =
                    options.iter().map(|(key, value)| (format!("{prefix}.{key}"), value.clone())).collect();
                let chosen = devices(&self.environment, prefix).into_iter().nth(*device);
                builder.with_devices(chosen, Some(&options))
            }
            Source::BuiltIn { .. } if self.provider() == XNNPACK && !options.contains_key(XNNPACK_THREADS) => {
                let xnnpack = ort::ep::XNNPACK::default();
                let threads = std::num::NonZeroUsize::new(threads).unwrap_or(std::num::NonZeroUsize::MIN);
                builder
                    .with_execution_providers([xnnpack.with_intra_op_num_threads(threads).build().error_on_failure()])
            }
            Source::BuiltIn { dispatch, .. } => builder.with_execution_providers([dispatch.clone().error_on_failure()]),
        };
        added.map_err(|error| error.to_string())
    }

    /// Says what it runs on.
    pub(crate) fn device(&self) -> Option<String> {
        let Source::Plugin { device, .. } = self.source else { return None };
        devices(&self.environment, self.provider()).get(device).map(described)
    }
}

impl Environment {
    /// The providers that the library was built with, by ONNX Runtime's names, as far as this program knows them; its
    /// own kernels left out.
    pub fn providers(&self) -> impl Iterator<Item = &'static str> {
        built_in::ALL.iter().filter(|provider| provider.is_available()).map(|provider| provider.name)
    }

    /// Those of [`Environment::providers`] that bring other kernels for cores, as engines of a board: `xnnpack`,
    /// `dnnl`, `acl`.
    pub fn core_providers(&self) -> impl Iterator<Item = Provider> {
        built_in::ALL
            .iter()
            .filter(|provider| provider.place == ProviderPlace::Cores && provider.is_available())
            .filter_map(BuiltIn::definition)
    }

    /// What a provider runs on, where it tells.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if it can't be used: with the engine, what is wrong, and what would help.
    pub fn device_of(&self, provider: &Provider) -> Result<Option<String>, BackendError> {
        Ok(OpenProvider::open(self, provider)?.device())
    }

    /// The same of a provider that clusters of cores use.
    ///
    /// # Errors
    /// As [`Environment::device_of`], also if it drives a device.
    pub fn device_on_cores(&self, provider: &Provider) -> Result<Option<String>, BackendError> {
        Ok(OpenProvider::open(self, provider)?.on_cores()?.device())
    }
}

fn name(definition: &Provider) -> String {
    format!("{} ({})", definition.engine, definition.provider)
}

fn built_in(environment: &Environment, definition: &Provider) -> Result<Source, String> {
    let name = definition.provider.as_str();
    if name == built_in::CPU {
        return Err("ONNX Runtime's own kernels are the engine onnxruntime of clusters".to_owned());
    }
    let there: Vec<&str> = environment.providers().collect();
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    let remedy = format!(
        "set {VARIABLE} to a build of ONNX Runtime that has it, or name a plug-in that brings it as `library` of the provider"
    );
    let known: Option<&BuiltIn> = built_in::ALL.iter().find(|provider| provider.name == name);
    let Some(known) = known else {
        let all: Vec<&str> = built_in::ALL.iter().map(|provider| provider.name).collect();
        return Err(format!(
            "no provider of this name is known without a plug-in; known are {}, and this ONNX Runtime has {there}. Correct the \
             name, or name the plug-in that brings it as `library` of the provider",
            all.join(", ")
        ));
    };
    if !known.is_available() {
        let version = environment.version().unwrap_or_default();
        return Err(format!("ONNX Runtime {version} was built without it; this one has {there}. To use it, {remedy}"));
    }
    let dispatch = known.with_options(&definition.options)?;
    Ok(Source::BuiltIn { dispatch, is_on_cores: known.place == ProviderPlace::Cores })
}

fn plugin(environment: &Environment, definition: &Provider, library: &Path) -> Result<Source, String> {
    if library.display().to_string().contains(MAIN_SEPARATOR) {
        if !library.is_file() {
            let path = library.display();
            return Err(format!("there is no file {path}; correct `library` of the provider, or install the plug-in"));
        }
        if let Some(fault) = fault(library) {
            return Err(format!("{fault}; correct `library` of the provider, or install the plug-in again"));
        }
    }
    let provider = definition.provider.as_str();
    environment.register_plugin(provider, library)?;

    let found = devices(environment, provider);
    let path = library.display();
    let number = match (definition.device, found.len()) {
        (_, 0) => return Err(no_device(environment, provider, library)),
        (None, 1) => 0,
        (Some(number), count) if number < count => number,
        (wanted, _) => {
            let all: Vec<String> =
                found.iter().enumerate().map(|(place, device)| format!("{place}: {}", described(device))).collect();
            let wrong = wanted.map_or("several devices".to_owned(), |number| format!("no device {number}"));
            return Err(format!("{path} has {wrong}; choose one with `device` of the provider: {}", all.join(", ")));
        }
    };
    let is_on_cores = found.get(number).is_some_and(|device| device.hardware_device().ty() == DeviceType::CPU);
    Ok(Source::Plugin { device: number, is_on_cores })
}

/// Why a plug-in that was loaded can't be used: it is for other providers, or finds nothing to run on.
fn no_device(environment: &Environment, provider: &str, library: &Path) -> String {
    let path = library.display();
    let others: BTreeSet<&str> = environment.inner.devices().filter_map(|device| device.ep().ok()).collect();
    let others: Vec<&str> = others.into_iter().filter(|name| *name != built_in::CPU).collect();
    match others.as_slice() {
        [] => format!("{path} finds no device to run on; look at the device's driver, or at its permissions"),
        others => format!(
            "{path} brings no device of {provider}; the plug-ins that are loaded have devices of {}. Correct `provider`, or look at the \
             device's driver",
            others.join(", ")
        ),
    }
}

/// A provider's devices, in the order in which its plug-in has them.
fn devices<'e>(environment: &'e Environment, provider: &str) -> Vec<Device<'e>> {
    environment.inner.devices().filter(|device| device.ep().is_ok_and(|name| name == provider)).collect()
}

/// What a device is called.
fn described(device: &Device<'_>) -> String {
    let hardware = device.hardware_device();
    let kind = match hardware.ty() {
        DeviceType::CPU => "CPU",
        DeviceType::GPU => "GPU",
        DeviceType::NPU => "NPU",
        _ => "device",
    };
    format!("{kind} of {}", hardware.vendor().ok().filter(|vendor| !vendor.is_empty()).unwrap_or("an unknown vendor"))
}
