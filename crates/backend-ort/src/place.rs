//! Where the sessions of a backend compute, and what they take there.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, OnceLock};

use millstream_backend::BackendError;
use millstream_board::{CoreId, Processor};
use millstream_graph::OperatorId;
use ort::session::Session;
use ort::session::builder::SessionBuilder;

use crate::provider::OpenProvider;

/// Refuses sessions of which a part would run with ONNX Runtime's own kernels.
const NOTHING_ON_CORES: (&str, &str) = ("session.disable_cpu_ep_fallback", "1");
/// What ONNX Runtime says of such sessions.
const PARTLY_ON_CORES: &str = "fallback to CPU EP has been explicitly disabled";

/// Where sessions compute.
pub(crate) enum Place {
    /// On the cores of any processor, with ONNX Runtime's own kernels.
    Cores,
    /// On the cores of any processor, with a provider's kernels, and with ONNX Runtime's own for what it does not take.
    CoresWith(OpenProvider),
    /// On a provider's device.
    Device(Device),
}

/// A provider's device, which the board calls `label`.
pub(crate) struct Device {
    pub(crate) provider: OpenProvider,
    pub(crate) label: String,
    /// The operators that it takes of the model; not known before somebody asks.
    pub(crate) taken: OnceLock<HashSet<OperatorId>>,
    pub(crate) mover: Mutex<Mover>,
}

impl Device {
    pub(crate) fn new(provider: OpenProvider, label: String) -> Self {
        Self { provider, label, taken: OnceLock::new(), mover: Mutex::default() }
    }
}

impl Place {
    /// Whether sessions for a processor are made here; if not, where they are.
    pub(crate) fn check_owns(&self, processor: &Processor, backend: &str) -> Result<(), BackendError> {
        let place = match self {
            Self::Cores | Self::CoresWith(_) if processor.is_accelerator() => "cores",
            Self::Device(device) if !processor.is_accelerator() || processor.cluster != device.label => &device.label,
            _ => return Ok(()),
        };
        let detail = format!("it runs on {place}, not on {processor}");
        Err(BackendError::Unavailable { backend: backend.to_owned(), detail })
    }

    /// The provider that computes, if one does.
    pub(crate) fn provider(&self) -> Option<&OpenProvider> {
        match self {
            Self::Cores => None,
            Self::CoresWith(provider) => Some(provider),
            Self::Device(device) => Some(&device.provider),
        }
    }

    /// The device, if it is one.
    pub(crate) fn device(&self) -> Option<&Device> {
        match self {
            Self::Device(device) => Some(device),
            _ => None,
        }
    }

    /// Adds what computes to a session's settings. A device computes all of it or nothing.
    pub(crate) fn add_to(&self, builder: SessionBuilder, threads: usize) -> Result<SessionBuilder, String> {
        match self {
            Self::Cores => Ok(builder),
            Self::CoresWith(provider) => provider.add_to(builder, threads),
            Self::Device(device) => {
                let (key, value) = NOTHING_ON_CORES;
                let builder = device.provider.add_to(builder, threads)?;
                builder.with_config_entry(key, value).map_err(|error| error.to_string())
            }
        }
    }

    /// Makes a session. A provider's threads inherit where the calling thread may run, which is one core: for so long
    /// it may run on all of the processor's.
    pub(crate) fn make<R>(&self, processor: &Processor, make: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        let _spread = match self {
            Self::CoresWith(_) if processor.cores.len() > 1 => Spread::over(&processor.cores),
            _ => None,
        };
        make().map_err(|said| self.explained(said))
    }

    /// What ONNX Runtime says of a session that it does not make, with the engine and what would help.
    fn explained(&self, said: String) -> String {
        match self.provider() {
            None => said,
            Some(provider) if said.contains(PARTLY_ON_CORES) => format!(
                "the engine {} does not take all of these operators together, and would leave some to the cores; take what has it out \
                 of the board file, or plan for other processors",
                provider.name()
            ),
            Some(provider) => format!("the engine {} refuses it: {said}", provider.name()),
        }
    }
}

/// Lets the calling thread run on more cores until it is dropped.
struct Spread(BTreeSet<CoreId>);

impl Spread {
    /// `None` where the system does not tell or allow it.
    fn over(cores: &[CoreId]) -> Option<Self> {
        let before = millstream_machine::cores_of_current_thread()?;
        millstream_machine::confine_current_thread(&cores.iter().copied().collect()).then_some(Self(before))
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        millstream_machine::confine_current_thread(&self.0);
    }
}

/// A session that does little else than to move values, with the number of its elements; no session if the device takes
/// none of the light operators.
pub(crate) type Mover = Option<(usize, Option<Session>)>;
