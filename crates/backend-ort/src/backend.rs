use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::{Model, WeightStorage};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, PrepackedWeights, SessionBuilder};
use ort::value::DynValue;

use crate::Environment;
use crate::convert::weight_value;
use crate::session::OrtSegment;

/// What a session's threads do while they wait for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spinning {
    /// They spin while a frame is in the session and sleep otherwise.
    WhileRunning,
    /// They spin for a while after every operator and every frame: ONNX Runtime's own default.
    Always,
}

/// How sessions are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// What waiting threads do.
    pub spinning: Spinning,
    /// Whether the session's threads are pinned to the processor's cores.
    pub pinned: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { spinning: Spinning::WhileRunning, pinned: true }
    }
}

/// ONNX Runtime as a [`Backend`] for one model.
pub struct OrtBackend {
    environment: Environment,
    model: Arc<Model>,
    settings: SessionSettings,
    weights: Mutex<HashMap<String, Arc<DynValue>>>,
    prepacked: PrepackedWeights,
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
            model,
            settings,
            weights: Mutex::new(HashMap::new()),
            prepacked: PrepackedWeights::new(),
        }
    }

    /// The weight as ONNX Runtime sees it, made when a segment first needs it.
    fn weight(&self, name: &str) -> Result<Arc<DynValue>, String> {
        let mut weights = self.weights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = weights.get(name) {
            return Ok(Arc::clone(value));
        }
        let weight = self.model.weights().get(name).ok_or_else(|| format!("the model has no weight '{name}'"))?;
        let value = Arc::new(weight_value(weight)?);
        weights.insert(name.to_owned(), Arc::clone(&value));
        Ok(value)
    }

    fn session(&self, segment: &Segment, processor: &Processor) -> Result<Session, String> {
        let sub_model =
            self.model.segment(&segment.operators, WeightStorage::External).map_err(|error| error.to_string())?;
        let text = |error: ort::Error<SessionBuilder>| error.to_string();
        let mut builder = Session::builder(&self.environment.inner).map_err(|error| error.to_string())?;
        builder = builder.with_optimization_level(GraphOptimizationLevel::All).map_err(text)?;
        builder = builder.with_intra_threads(processor.cores.len()).map_err(text)?;
        builder = builder.with_inter_threads(1).map_err(text)?;
        builder = builder.with_prepacked_weights(&self.prepacked).map_err(text)?;
        if self.settings.spinning == Spinning::WhileRunning {
            builder = builder.with_config_entry("session.force_spinning_stop", "1").map_err(text)?;
        }
        if let Some(affinities) = self.affinities(processor) {
            builder = builder.with_config_entry("session.intra_op_thread_affinities", affinities).map_err(text)?;
        }
        for name in &sub_model.external_weights {
            builder = builder.with_external_initializer(name, self.weight(name)?).map_err(text)?;
        }
        builder.commit_from_memory(&sub_model.bytes).map_err(|error| error.to_string())
    }

    /// One entry per pool thread, CPUs counted from 1; the calling thread is not among them.
    fn affinities(&self, processor: &Processor) -> Option<String> {
        let pool = processor.cores.get(1..).filter(|pool| self.settings.pinned && !pool.is_empty())?;
        Some(pool.iter().map(|core| (core.0 + 1).to_string()).collect::<Vec<_>>().join(";"))
    }
}

impl Backend for OrtBackend {
    fn name(&self) -> &str {
        "onnxruntime"
    }

    fn supports(&self, _operator: OperatorId, _processor: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let graph = self.model.graph();
        let name = |id: Option<&OperatorId>| id.map_or(String::new(), |&id| graph.operator(id).name.clone());
        let session = self.session(segment, processor).map_err(|detail| BackendError::Prepare {
            first: name(segment.operators.first()),
            last: name(segment.operators.last()),
            detail,
        })?;
        let inputs = segment.boundary.inputs.iter().map(|&value| graph.value(value).clone()).collect();
        Ok(Box::new(OrtSegment::new(session, inputs)))
    }
}
