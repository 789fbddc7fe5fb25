use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, ThreadChoice, TransferTimes,
    run_timed,
};
use millstream_board::Processor;
use millstream_files::ScratchFolder;
use millstream_graph::{Family, OperatorId};
use millstream_onnx::Model;

use crate::session::OrtSegment;
use crate::weights::{KeptWeights, Weights};
use crate::{Environment, Preparation, SessionCache, trace};

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

/// How sessions are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// What waiting threads do.
    pub spinning: Spinning,
    /// Whether the session's threads are pinned to the processor's cores.
    pub pinned: bool,
    /// Whether ONNX Runtime may fuse operators and change layouts. Without that, every operator is computed as its definition says,
    /// rounded after each: slow, and good to see how much rounding matters to a network.
    pub optimised: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { spinning: Spinning::WhileRunning, pinned: true, optimised: true }
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
        }
    }

    /// Takes optimised sessions from `cache` and adds those that it lacks. Made for programs that prepare the same segments again and
    /// again: what is prepared once, as for a measurement of every operator, only fills the folder. Sessions that are not optimised, and
    /// those for traces, pass it by.
    #[must_use]
    pub fn with_cache(self, cache: SessionCache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Keeps no more sessions from now on; those that are kept are still found. What is prepared while frames flow should not take
    /// cores and memory from them.
    pub fn stop_storing(&self) {
        self.stores.store(false, Ordering::Relaxed);
    }

    /// How the sessions were made so far.
    pub fn preparation(&self) -> Preparation {
        *self.preparation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept beside the model now.
    pub fn kept_weights(&self) -> KeptWeights {
        self.weights.kept()
    }

    /// Sets how many threads the operators of each family had best use on a cluster. A session that is prepared from now on uses as
    /// many as the family with the most work in it, at the most one per core of its processor.
    pub fn choose_threads(&self, cluster: impl Into<String>, threads: BTreeMap<Family, usize>) {
        self.threads.choose(cluster, threads);
    }
}

impl Backend for OrtBackend {
    fn name(&self) -> &str {
        "onnxruntime"
    }

    fn supports(&self, _operator: OperatorId, processor: &Processor) -> bool {
        !processor.is_accelerator()
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.check_owns(processor)?;
        let graph = self.model.graph();
        let session =
            self.session(segment, processor).map_err(|detail| BackendError::preparing(graph, segment, detail))?;
        let inputs = segment.boundary.inputs.iter().map(|&value| graph.value(value).clone()).collect();
        Ok(Box::new(OrtSegment::new(session, inputs)))
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
        let mut prepared = OrtSegment::new(session, values);
        for _ in 0..WARM_UP_FRAMES {
            prepared.run(inputs)?;
        }
        run_timed(&mut prepared, inputs, go_on)?;
        let profile = prepared.end_profiling()?;
        trace::operator_times(&profile, graph, &segment.operators, WARM_UP_FRAMES).map_err(BackendError::failed)
    }

    /// Cores work in the host's memory.
    fn transfer_times(&self, _: &Processor, _: u64) -> Result<Option<TransferTimes>, BackendError> {
        Ok(None)
    }
}

impl OrtBackend {
    fn check_owns(&self, processor: &Processor) -> Result<(), BackendError> {
        if !processor.is_accelerator() {
            return Ok(());
        }
        let detail = format!("it runs on cores, {processor} has none");
        Err(BackendError::Unavailable { backend: self.name().to_owned(), detail })
    }
}
