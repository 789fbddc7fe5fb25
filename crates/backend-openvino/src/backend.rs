//! The backend itself: segments prepared for cores, for a device, or for cores that OpenVINO chooses by a hint.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, ThreadChoice, TransferTimes,
    run_timed,
};
use millstream_board::Processor;
use millstream_graph::{Family, Graph, OperatorId, Value};
use millstream_onnx::Model;
use openvino::InferenceError;

use crate::device_ids::CPU;
use crate::devices::{self, DeviceWatch};
use crate::error::said;
use crate::library::OpenVino;
use crate::lock::lock;
use crate::mover::Mover;
use crate::native::{CompiledModel, Port, Request};
use crate::pinning::Pinning;
use crate::pool::Hold;
use crate::refusals::Refusals;
use crate::segment::{OpenVinoSegment, Parts};
use crate::settings::{self, Hint, Precision, Properties};
use crate::shared_models::SharedModels;
use crate::trace::{Counters, operator_times};
use crate::{NAME, places};

/// Frames of a trace that only settle memory and caches.
const WARM_UP_FRAMES: usize = 2;

/// OpenVINO as a [`Backend`] for one model.
pub struct OpenVinoBackend {
    pub(crate) library: OpenVino,
    model: Arc<Model>,
    precision: Precision,
    /// Why it can't be computed with where this runs, if so.
    lacking: Option<String>,
    pub(crate) place: Where,
    threads: ThreadChoice,
    models: SharedModels,
    refusals: Refusals,
}

/// Where it runs.
pub(crate) enum Where {
    /// On the cores of any processor.
    Cores,
    /// On one of OpenVINO's devices, which the board calls `label`.
    Device { label: String, watch: Arc<DeviceWatch>, mover: Mutex<Mover> },
    /// On cores that the library chooses by a hint. All requests are of one compiled model, made with the first.
    Hinted { hint: Hint, compiled: Mutex<Option<Arc<CompiledModel>>> },
}

impl OpenVinoBackend {
    /// A backend for `model` on cores.
    pub fn new(library: &OpenVino, model: Arc<Model>) -> Self {
        Self {
            library: library.clone(),
            models: SharedModels::default(),
            refusals: Refusals::default(),
            model,
            precision: Precision::default(),
            lacking: None,
            place: Where::Cores,
            threads: ThreadChoice::default(),
        }
    }

    /// A backend for `model` on one of OpenVINO's [devices](OpenVino::devices), which the board has as the accelerator
    /// `label`.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if there is no such device.
    pub fn on_device(
        library: &OpenVino,
        device: &str,
        label: impl Into<String>,
        model: Arc<Model>,
    ) -> Result<Self, BackendError> {
        let watch = Arc::new(DeviceWatch::new(library, device)?);
        let mover = Mutex::default();
        Ok(Self { place: Where::Device { label: label.into(), watch, mover }, ..Self::new(library, model) })
    }

    /// OpenVINO as it is used plainly: it chooses threads, streams and their cores by a hint, whatever processors it is
    /// given. Segments that are prepared, which have to be the whole network, are requests of one compiled model, to be
    /// run at the same time.
    pub fn with_hint(library: &OpenVino, model: Arc<Model>, hint: Hint) -> Self {
        let compiled = Mutex::new(None);
        Self { place: Where::Hinted { hint, compiled }, ..Self::new(library, model) }
    }

    /// How many requests the library wants to work on at once: 1 but for [`Hint::Throughput`].
    ///
    /// # Errors
    /// [`BackendError`] if the network can't be compiled.
    pub fn optimal_requests(&self) -> Result<usize, BackendError> {
        let Where::Hinted { hint: Hint::Throughput, compiled } = &self.place else { return Ok(1) };
        let graph = self.model.graph();
        let whole = Segment::new(graph, graph.order().to_vec());
        let bytes = self.models.share(&self.model, &whole);
        let bytes = bytes.map_err(|detail| BackendError::preparing(graph, &whole, detail))?;
        let properties = settings::of_hint(self.precision, Hint::Throughput, may_attend(graph));
        let requests = self.compiled_once(compiled, &bytes, &properties).and_then(|model| model.optimal_requests());
        requests.map_err(|error| BackendError::preparing(graph, &whole, said(&error)))
    }

    fn compiled_once(
        &self,
        compiled: &Mutex<Option<Arc<CompiledModel>>>,
        bytes: &[u8],
        properties: &Properties,
    ) -> Result<Arc<CompiledModel>, InferenceError> {
        let mut known = lock(compiled);
        if let Some(known) = known.as_ref() {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(CompiledModel::new(&self.library, bytes, CPU, properties)?);
        *known = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Computes with less precision than the model says, if that is asked for: faster where the processor has
    /// instructions for it. Cores without these run no operator. Quantised networks are then computed with integers.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        let lacking = if self.device().is_none() { devices::why_cores_lack(precision) } else { None };
        Self { precision, lacking, ..self }
    }

    /// What floats are computed with.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Sets how many threads the operators of each family had best use on a cluster. A segment of a part of
    /// the network that is prepared from now on uses as many as the family with the most work in it, at the most one per
    /// core of its processor. The whole network uses one per core.
    pub fn choose_threads(&self, cluster: impl Into<String>, threads: BTreeMap<Family, usize>) {
        self.threads.choose(cluster, threads);
    }

    fn owns(&self, processor: &Processor) -> bool {
        match &self.place {
            Where::Cores | Where::Hinted { .. } => !processor.is_accelerator(),
            Where::Device { label, .. } => processor.is_accelerator() && processor.cluster == *label,
        }
    }

    /// The error for a processor that this does not run on.
    fn misplaced(&self, processor: &Processor) -> BackendError {
        let place = match &self.place {
            Where::Cores | Where::Hinted { .. } => "cores",
            Where::Device { label, .. } => label,
        };
        let detail = format!("it runs on {place}, not on {processor}");
        BackendError::Unavailable { backend: NAME.to_owned(), detail }
    }

    /// The segment, compiled, with a request for it; `is_timed`: one that tells what its nodes take.
    fn prepared(
        &self,
        segment: &Segment,
        processor: &Processor,
        is_timed: bool,
    ) -> Result<OpenVinoSegment, BackendError> {
        if !self.owns(processor) {
            return Err(self.misplaced(processor));
        }

        let graph = self.model.graph();
        let failed = |detail: String| BackendError::preparing(graph, segment, detail);
        if let Some(detail) = segment.operators.iter().find_map(|&id| self.refusal(id)) {
            return Err(failed(detail));
        }

        let (device, properties, pinning, hold) = match &self.place {
            Where::Cores => {
                let threads = self.threads.threads(graph, segment, processor);
                let hold = (threads > 1).then(|| Hold::new(&self.library, processor.cores.iter().copied()));
                let properties = settings::of_cores(self.precision, threads, may_attend(graph), is_timed);
                (CPU, properties, Some(Pinning::of_current_thread(processor)), hold)
            }
            Where::Device { watch, .. } => {
                (watch.id(), settings::of_device(watch.id(), self.precision, is_timed), None, None)
            }
            Where::Hinted { hint, .. } => {
                if segment.operators.len() != graph.operators().len() {
                    return Err(failed("it is left to a hint, and runs the whole network only".to_owned()));
                }
                // Its threads may be on all of these, also while others confine theirs.
                let hold = Hold::new(&self.library, processor.cores.iter().copied());
                (CPU, settings::of_hint(self.precision, *hint, may_attend(graph)), None, Some(hold))
            }
        };

        let bytes = self.models.share(&self.model, segment).map_err(failed)?;
        let refused = |error: InferenceError| self.lost().unwrap_or_else(|| failed(said(&error)));
        let compiled = match &self.place {
            Where::Hinted { compiled, .. } => self.compiled_once(compiled, &bytes, &properties),
            _ => CompiledModel::new(&self.library, &bytes, device, &properties).map(Arc::new),
        };
        let compiled = compiled.map_err(refused)?;

        let boundary = &segment.boundary;
        let (ports, outputs) = (compiled.inputs().map_err(refused)?, compiled.outputs().map_err(refused)?);
        if outputs.len() != boundary.outputs.len() {
            let (made, wanted) = (outputs.len(), boundary.outputs.len());
            return Err(failed(format!("OpenVINO makes {made} values of it, not {wanted}")));
        }

        let inputs: Vec<Value> = boundary.inputs.iter().map(|&value| graph.value(value).clone()).collect();
        let read = read_inputs(&ports, &inputs).map_err(failed)?;
        let places =
            boundary.outputs.iter().zip(&outputs).map(|(&value, port)| places::of(graph, value, port)).collect();
        let request = Request::new(compiled, ports.len(), places).map_err(refused)?;
        Ok(OpenVinoSegment::new(Parts { device: self.device(), request, inputs, read, outputs, pinning, _hold: hold }))
    }

    fn refusal(&self, operator: OperatorId) -> Option<String> {
        if self.lacking.is_some() {
            return self.lacking.clone();
        }
        self.refusals.of(&self.library, &self.model, operator)
    }

    /// The device, where it is none of the cores and may go away.
    fn device(&self) -> Option<Arc<DeviceWatch>> {
        match &self.place {
            Where::Cores | Where::Hinted { .. } => None,
            Where::Device { watch, .. } => Some(Arc::clone(watch)),
        }
    }

    /// The error of a device that has gone; `None` if it is still there.
    fn lost(&self) -> Option<BackendError> {
        self.device()?.lost()
    }
}

impl Backend for OpenVinoBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.owns(processor) && self.refusal(operator).is_none()
    }

    fn why_refused(&self, operator: OperatorId, processor: &Processor) -> Option<String> {
        if self.owns(processor) { self.refusal(operator) } else { None }
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(self.prepared(segment, processor, false)?))
    }
}

impl Observed for OpenVinoBackend {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        let mut prepared = self.prepared(segment, processor, true)?;
        for _ in 0..WARM_UP_FRAMES {
            prepared.run(inputs)?;
        }
        let before = Counters { frames: WARM_UP_FRAMES, nodes: prepared.node_times()? };
        let times = run_timed(&mut prepared, inputs, go_on)?;
        let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
        let after = Counters { frames: WARM_UP_FRAMES + seconds.len(), nodes: prepared.node_times()? };
        Ok(operator_times(self.model.graph(), &segment.operators, &before, &after, &seconds))
    }

    /// OpenVINO moves what a device needs while it computes, and does not tell how long that takes: half of what a model
    /// takes that does little else.
    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        let one_way = if self.owns(processor) { self.one_way(bytes) } else { None };
        Ok(one_way.map(|one_way| TransferTimes { upload: one_way, download: one_way }))
    }
}

/// Whether a network may have attention: products with what a softmax makes. Of the whole network, so that each of its
/// segments is computed by the same kernels as the whole.
fn may_attend(graph: &Graph) -> bool {
    let has = |op_type: &str| graph.operators().iter().any(|operator| operator.op_type == op_type);
    has("Attention") || (has("Softmax") && (has("MatMul") || has("Einsum")))
}

/// Which of a segment's inputs each of a compiled model is. It has all of them in their order, but for those that
/// turned out not to matter, as one of which only the type is looked at.
fn read_inputs(ports: &[Port], inputs: &[Value]) -> Result<Vec<usize>, String> {
    if ports.len() == inputs.len() {
        return Ok((0..inputs.len()).collect());
    }
    let find = |port: &Port| inputs.iter().position(|input| input.name == port.name);
    let found: Option<Vec<usize>> = ports.iter().map(find).collect();
    found.ok_or_else(|| format!("OpenVINO reads {} inputs of {}, by other names", ports.len(), inputs.len()))
}
