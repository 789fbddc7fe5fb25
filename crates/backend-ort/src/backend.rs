//! The backend and its settings: sessions on cores, with a provider's kernels, or on a provider's device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, ThreadChoice, TransferTimes,
    run_timed,
};
use millstream_board::{Processor, Provider};
use millstream_files::ScratchFolder;
use millstream_graph::{Family, OperatorId};
use millstream_onnx::Model;

use crate::environment::Environment;
use crate::lock::lock;
use crate::place::{Device, Place};
use crate::preparation::Preparation;
use crate::provider::OpenProvider;
use crate::session::OrtSegment;
use crate::session_cache::SessionCache;
use crate::weights::{KeptWeights, Weights};
use crate::{trace, whole_times};

/// Frames of a trace that only settle memory and caches.
const WARM_UP_FRAMES: usize = 2;

/// What a session's threads do while they wait for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spinning {
    /// They spin while a frame is in the session and sleep otherwise.
    WhileRunning,
    /// They spin for a while after every operator and every frame: ONNX Runtime's own default.
    Always,
    /// They sleep at once.
    Never,
}

/// The threads of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadUse {
    /// One for each of the processor's cores, on it.
    Pinned,
    /// As many, where the system has them run.
    Free,
    /// As ONNX Runtime does unless somebody tells it: one for each physical core that it sees, whatever the processor.
    Default,
}

/// How sessions are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// What waiting threads do.
    pub spinning: Spinning,
    /// How many threads compute, and where.
    pub threads: ThreadUse,
    /// Whether ONNX Runtime may fuse operators and change layouts. Without that, every operator is computed as its
    /// definition says, rounded after each: slow, and good to see how much rounding matters to a network.
    pub optimised: bool,
    /// Whether sums of products of signed and unsigned bytes are exact on x86 processors without instructions for them
    /// (VNNI), where ONNX Runtime cuts off intermediate sums otherwise, which is faster. Only
    /// [`optimised`](Self::optimised) sessions can do it.
    pub exact_integers: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { spinning: Spinning::WhileRunning, threads: ThreadUse::Pinned, optimised: true, exact_integers: false }
    }
}

/// ONNX Runtime as a [`Backend`] for one model.
pub struct OrtBackend {
    pub(crate) environment: Environment,
    pub(crate) model: Arc<Model>,
    pub(crate) settings: SessionSettings,
    pub(crate) cache: Option<SessionCache>,
    /// Whether sessions are still added to the cache.
    pub(crate) stores: AtomicBool,
    pub(crate) preparation: Mutex<Preparation>,
    pub(crate) weights: Weights,
    pub(crate) threads: ThreadChoice,
    pub(crate) place: Place,
}

impl OrtBackend {
    /// A backend for `model`.
    pub fn new(environment: &Environment, model: Arc<Model>) -> Self {
        Self::with_settings(environment, model, SessionSettings::default())
    }

    /// A backend whose sessions are set up in a given way.
    pub fn with_settings(environment: &Environment, model: Arc<Model>, settings: SessionSettings) -> Self {
        Self {
            environment: environment.clone(),
            weights: Weights::new(&model),
            model,
            settings,
            cache: None,
            stores: AtomicBool::new(true),
            preparation: Mutex::default(),
            threads: ThreadChoice::default(),
            place: Place::Cores,
        }
    }

    /// A backend for `model` on cores, with the kernels of an execution provider; what the provider does not take runs
    /// with ONNX Runtime's own.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if the provider can't be used, or drives a device: with the engine, what is wrong,
    /// and what would help.
    pub fn with_provider(
        environment: &Environment,
        model: Arc<Model>,
        provider: &Provider,
    ) -> Result<Self, BackendError> {
        let provider = OpenProvider::open(environment, provider)?.on_cores()?;
        Ok(Self { place: Place::CoresWith(provider), ..Self::new(environment, model) })
    }

    /// A backend for `model` on the device of an execution provider, which the board has as the accelerator `label`. It
    /// runs the operators that the provider takes, and none of them partly on cores; results are in the host's memory.
    ///
    /// # Errors
    /// As [`OrtBackend::with_provider`].
    pub fn on_device(
        environment: &Environment,
        model: Arc<Model>,
        provider: &Provider,
        label: impl Into<String>,
    ) -> Result<Self, BackendError> {
        let place = Place::Device(Device::new(OpenProvider::open(environment, provider)?, label.into()));
        Ok(Self { place, ..Self::new(environment, model) })
    }

    /// Takes optimised sessions from `cache` and adds those that it lacks. Made for programs that prepare the same
    /// segments again and again: what is prepared once, as for a measurement of every operator, only fills the folder.
    /// Sessions that are not optimised, those for traces, and those of execution providers pass it by.
    #[must_use]
    pub fn with_cache(self, cache: SessionCache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Keeps no more sessions from now on; those that are kept are still found. What is prepared while frames flow
    /// should not take cores and memory from them.
    pub fn stop_storing(&self) {
        self.stores.store(false, Ordering::Relaxed);
    }

    /// How the sessions were made so far.
    pub fn preparation(&self) -> Preparation {
        *lock(&self.preparation)
    }

    /// What is kept beside the model now.
    pub fn kept_weights(&self) -> KeptWeights {
        self.weights.kept()
    }

    /// Sets how many threads the operators of each family had best use on a cluster. A session of a part of
    /// the network that is prepared from now on uses as many as the family with the most work in it, at the most one per
    /// core of its processor. The whole network uses one per core.
    pub fn choose_threads(&self, cluster: impl Into<String>, threads: BTreeMap<Family, usize>) {
        self.threads.choose(cluster, threads);
    }
}

impl Backend for OrtBackend {
    fn name(&self) -> &str {
        "onnxruntime"
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.check_owns(processor).is_ok() && self.place.device().is_none_or(|device| self.takes(device, operator))
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.check_owns(processor)?;
        let graph = self.model.graph();
        let session =
            self.session(segment, processor).map_err(|detail| BackendError::preparing(graph, segment, detail))?;
        let inputs = segment.boundary.inputs.iter().map(|&value| graph.value(value).clone()).collect();
        Ok(Box::new(OrtSegment::new(session, inputs, self.device_name())))
    }

    fn begin_schedule(&self) {
        self.weights.begin_schedule();
    }
}

impl Observed for OrtBackend {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        self.check_owns(processor)?;
        let graph = self.model.graph();
        let failed = |error: std::io::Error| BackendError::failed(format!("a folder for the profile: {error}"));
        let folder = ScratchFolder::new().map_err(failed)?;
        let session = self.profiled_session(segment, processor, folder.path());
        let session = session.map_err(|detail| BackendError::preparing(graph, segment, detail))?;
        let values = segment.boundary.inputs.iter().map(|&value| graph.value(value).clone()).collect();
        let mut prepared = OrtSegment::new(session, values, self.device_name());
        for _ in 0..WARM_UP_FRAMES {
            prepared.run(inputs)?;
        }
        let frames = run_timed(&mut prepared, inputs, go_on)?;
        let profile = prepared.end_profiling()?;
        let read = match self.place {
            Place::Cores => trace::operator_times(&profile, graph, &segment.operators, WARM_UP_FRAMES),
            _ => whole_times::operator_times(&profile, graph, segment, WARM_UP_FRAMES, &frames, self.moving(segment)),
        };
        read.map_err(BackendError::failed)
    }

    /// Cores work in the host's memory, as do some devices.
    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        match self.check_owns(processor) {
            Ok(()) => Ok(self.moved(bytes)),
            Err(_) => Ok(None),
        }
    }
}

impl OrtBackend {
    fn check_owns(&self, processor: &Processor) -> Result<(), BackendError> {
        self.place.check_owns(processor, self.name())
    }

    /// What a device that may go away is called.
    fn device_name(&self) -> Option<String> {
        self.place.device().map(|device| device.provider.name())
    }
}
