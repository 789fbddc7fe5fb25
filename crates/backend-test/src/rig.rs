//! A backend opened for a model, and what all points do with it.

use std::sync::Arc;

use millstream_backend::{Backend, PreparedSegment, Segment, Tensor, WholeNetwork};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId, Portion};
use millstream_onnx::{Model, OnnxError};
use millstream_zoo::ZooError;

use crate::subject::Subject;

/// A backend, its model, and the processor that it runs on.
pub(crate) struct Rig {
    pub(crate) model: Arc<Model>,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) processor: Processor,
}

impl Rig {
    /// The backend under test, for this model.
    pub(crate) fn of(subject: &Subject, model: &Arc<Model>) -> Result<Self, String> {
        let backend: Box<dyn Backend> = (subject.open)(model).map_err(failed("opening the backend"))?;
        Ok(Self { model: Arc::clone(model), backend, processor: subject.processor.clone() })
    }

    /// What it is compared with, if there is such a thing.
    pub(crate) fn reference(subject: &Subject, model: &Arc<Model>) -> Result<Option<Self>, String> {
        let Some((open, processor)) = &subject.reference else { return Ok(None) };
        let backend = open(model).map_err(failed("opening the reference"))?;
        Ok(Some(Self { model: Arc::clone(model), backend, processor: processor.clone() }))
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.model.graph()
    }

    pub(crate) fn supports(&self, id: OperatorId) -> bool {
        self.backend.supports(id, &self.processor)
    }

    pub(crate) fn prepare(&self, segment: &Segment) -> Result<Box<dyn PreparedSegment>, String> {
        let what = format!("preparing {}", description(self.graph(), segment));
        self.backend.prepare(segment, &self.processor).map_err(failed(&what))
    }

    /// Prepares and runs one frame.
    pub(crate) fn run(&self, segment: &Segment, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let what = format!("running {}", description(self.graph(), segment));
        self.prepare(segment)?.run(inputs).map_err(failed(&what))
    }

    /// Runs the whole network, with inputs and outputs as it declares them.
    pub(crate) fn run_network(&self, frame: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let network = WholeNetwork::prepare(self.graph(), &*self.backend, &self.processor);
        network.and_then(|mut network| network.run(frame)).map_err(failed("running the network"))
    }
}

/// An error with what was being done.
pub(crate) fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

/// A segment by its operators.
pub(crate) fn description(graph: &Graph, segment: &Segment) -> String {
    let name = |id: Option<&OperatorId>| id.map_or("nothing", |&id| graph.operator(id).name.as_str());
    let portion = segment
        .portion
        .as_ref()
        .map_or(String::new(), |Portion { along, range }| format!(" {} {range:?} of", along.name()));
    let operators = &segment.operators;
    format!("{}:{portion} '{}' to '{}'", graph.name(), name(operators.first()), name(operators.last()))
}

/// A model of the suite itself.
pub(crate) fn of_suite(model: Result<Model, OnnxError>) -> Result<Arc<Model>, String> {
    model.map(Arc::new).map_err(failed("a model of the suite"))
}

/// A network of the zoo.
pub(crate) fn zoo(name: &str) -> Result<Arc<Model>, String> {
    let model: Result<Model, ZooError> = millstream_zoo::build(name);
    model.map(Arc::new).map_err(failed(name))
}
