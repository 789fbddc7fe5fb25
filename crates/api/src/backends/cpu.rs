//! ONNX Runtime on the cores.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_backend::{Backend, Observed};
use millstream_backend_ort::{Environment, OrtBackend, SessionCache, SessionSettings, Spinning, ThreadUse};
use millstream_board::{AcceleratorKind, EngineLabel, Provider};
use millstream_graph::Family;
use millstream_onnx::Model;

use crate::backends::core_engine::{CoreEngine, SessionThreads};
use crate::error::Error;

/// The engine on the cores, for one model.
pub(super) struct Cpu {
    backend: Arc<OrtBackend>,
}

impl Cpu {
    /// `sessions`: a folder where sessions are kept from one start to the next.
    pub(super) fn open(model: &Arc<Model>, sessions: Option<PathBuf>) -> Result<Self, Error> {
        let backend = OrtBackend::new(&Environment::load()?, Arc::clone(model));
        let backend = match sessions {
            Some(folder) => backend.with_cache(SessionCache::new(folder)),
            None => backend,
        };
        Ok(Self { backend: Arc::new(backend) })
    }

    /// With the kernels of a provider.
    pub(super) fn with_provider(model: &Arc<Model>, provider: &Provider) -> Result<Self, Error> {
        let backend = OrtBackend::with_provider(&Environment::load()?, Arc::clone(model), provider)?;
        Ok(Self { backend: Arc::new(backend) })
    }
}

impl CoreEngine for Cpu {
    fn backend(&self) -> Arc<dyn Observed> {
        Arc::clone(&self.backend) as Arc<dyn Observed>
    }

    fn choose_threads(&self, cluster: &str, threads: BTreeMap<Family, usize>) {
        self.backend.choose_threads(cluster.to_owned(), threads);
    }

    fn stop_keeping(&self) {
        self.backend.stop_storing();
    }
}

/// The engine's version.
pub(super) fn version() -> Result<String, Error> {
    Ok(Environment::load()?.version().unwrap_or_else(|| "unknown".to_owned()))
}

/// The providers that it was built with.
pub(super) fn providers() -> Result<Vec<&'static str>, Error> {
    Ok(Environment::load()?.providers().collect())
}

/// The providers that bring other kernels for cores.
pub(super) fn core_providers() -> Result<Vec<Provider>, Error> {
    Ok(Environment::load()?.core_providers().collect())
}

/// Why a provider that ONNX Runtime may be built with is no engine of cores here; `None` if it is none of these, or can be
/// used.
pub(super) fn missing_provider(engine: EngineLabel) -> Option<Error> {
    let provider = Environment::built_in_provider(engine)?;
    device_of(&provider).err()
}

/// The providers for devices, with what these are; none if the library is not there.
pub(super) fn device_providers() -> Vec<(Provider, AcceleratorKind)> {
    Environment::load().map(|environment| environment.device_providers().collect()).unwrap_or_default()
}

/// Whether the device that a provider is for is here.
pub(super) fn drives_a_device(provider: &Provider) -> bool {
    Environment::load().is_ok_and(|environment| environment.drives_a_device(provider))
}

/// What a provider runs on, where it says so.
pub(super) fn device_of(provider: &Provider) -> Result<Option<String>, Error> {
    Ok(Environment::load()?.device_of(provider)?)
}

/// The same of a provider that clusters use.
pub(super) fn device_on_cores(provider: &Provider) -> Result<Option<String>, Error> {
    Ok(Environment::load()?.device_on_cores(provider)?)
}

/// A provider's device, which the board calls `label`, for one model.
pub(super) fn on_device(provider: &Provider, label: &str, model: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    Ok(Arc::new(OrtBackend::on_device(&Environment::load()?, Arc::clone(model), provider, label)?))
}

pub(super) fn unoptimised(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    with_settings(model, SessionSettings { optimised: false, ..SessionSettings::default() })
}

pub(super) fn on_all_cores(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    with_settings(
        model,
        SessionSettings { spinning: Spinning::Always, threads: ThreadUse::Free, ..SessionSettings::default() },
    )
}

/// With the settings that a session has unless somebody changes them.
pub(super) fn by_default(model: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    with_settings(
        model,
        SessionSettings { spinning: Spinning::Always, threads: ThreadUse::Default, ..SessionSettings::default() },
    )
}

pub(super) fn session(model: &Arc<Model>, threads: SessionThreads, pinned: bool) -> Result<Arc<dyn Backend>, Error> {
    let spinning = match threads {
        SessionThreads::Spin => Spinning::Always,
        SessionThreads::SpinWhileRunning => Spinning::WhileRunning,
        SessionThreads::Sleep => Spinning::Never,
    };
    let threads = if pinned { ThreadUse::Pinned } else { ThreadUse::Free };
    with_settings(model, SessionSettings { spinning, threads, ..SessionSettings::default() })
}

fn with_settings(model: &Arc<Model>, settings: SessionSettings) -> Result<Arc<dyn Backend>, Error> {
    Ok(Arc::new(OrtBackend::with_settings(&Environment::load()?, Arc::clone(model), settings)))
}
