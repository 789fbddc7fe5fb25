//! A tiny backend for the suite's own tests: it computes plainly, and wrongly where it is told to.

mod kernels;
mod memory;
mod prepared;

pub(crate) use kernels::is_known;

use prepared::Prepared;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::Processor;
use millstream_graph::{Along, OperatorId};
use millstream_onnx::Model;

/// What the backend does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    SwapsInputs,
    SwapsOutputs,
    IgnoresPadding,
    WrongShape,
    SupportsNothing,
    SpoilsTheEndOfParts,
    IgnoresTheRange,
    IgnoresRows,
    AcceptsAnyRange,
    WritesTooLittle,
    WritesOldResults,
    AcceptsAnyRoom,
    AddsUpFrames,
    FirstFrameForever,
    ReusesMemory,
    SharesScratchInOrder,
    SharesScratchBetweenThreads,
    AcceptsAnyCount,
    AcceptsAnyShape,
    BlamesTheOperator,
    BreaksAfterMisfit,
    SupportsWhatItCanNot,
    PreparesWhatItDoesNotSupport,
    RunsOnForeignProcessors,
    OkAfterLoss,
    OtherErrorAfterLoss,
    PreparesAfterLoss,
    HangsAfterLoss,
    PanicsAfterLoss,
    WrongWhereSegmentsMeet,
    TraceLeavesOut,
    TraceCountsTwice,
    TraceTakesTooLong,
    TraceIgnoresGoOn,
    NoTimeForTransfers,
    TransfersElsewhere,
}

/// The processor that it runs on.
pub(crate) fn first_core() -> Processor {
    Processor::new("B", [0])
}

pub(crate) struct Plain {
    model: Arc<Model>,
    fault: Fault,
    pub(crate) is_lost: Arc<AtomicBool>,
    scratch: Arc<Mutex<Vec<Tensor>>>,
    prepared: AtomicUsize,
}

impl Plain {
    pub(crate) fn new(model: &Arc<Model>, fault: Fault) -> Self {
        let (is_lost, scratch) = (Arc::default(), Arc::default());
        Self { model: Arc::clone(model), fault, is_lost, scratch, prepared: AtomicUsize::new(0) }
    }

    fn can_compute(&self, id: OperatorId) -> bool {
        kernels::is_known(&self.model, id)
    }

    fn check(&self, segment: &Segment, processor: &Processor) -> Result<(), BackendError> {
        let refused = |detail: &str| BackendError::Prepare {
            first: String::new(),
            last: String::new(),
            detail: detail.to_owned(),
        };
        let is_foreign = processor.is_accelerator() && self.fault != Fault::RunsOnForeignProcessors;
        let is_unknown = segment.operators.iter().any(|&id| !self.can_compute(id));
        if is_foreign || is_unknown && self.fault != Fault::PreparesWhatItDoesNotSupport {
            return Err(refused("not supported"));
        }
        let has_rows = segment.portion.as_ref().is_some_and(|portion| portion.along == Along::Rows);
        if has_rows && self.fault != Fault::IgnoresRows {
            return Err(refused("no tiles"));
        }
        let Some(channels) = segment.channels().filter(|_| self.fault != Fault::AcceptsAnyRange) else {
            return Ok(());
        };
        let graph = self.model.graph();
        let units = segment.operators.first().and_then(|&head| graph.channel_units(head));
        let fits = units.is_some_and(|units| {
            let is_cut = [channels.start, channels.end].iter().any(|end| !end.is_multiple_of(units.unit));
            !channels.is_empty() && channels.end <= units.channels && !is_cut
        });
        if fits && graph.can_divide_together(segment.operators[0], &segment.operators[1..]) {
            Ok(())
        } else {
            Err(refused("no such part"))
        }
    }

    fn lost() -> BackendError {
        BackendError::DeviceLost { backend: "plain".to_owned(), detail: "unplugged".to_owned() }
    }
}

impl Backend for Plain {
    fn name(&self) -> &str {
        "plain"
    }

    fn supports(&self, id: OperatorId, processor: &Processor) -> bool {
        match self.fault {
            Fault::SupportsNothing => false,
            Fault::SupportsWhatItCanNot => !processor.is_accelerator(),
            Fault::RunsOnForeignProcessors => self.can_compute(id),
            _ => !processor.is_accelerator() && self.can_compute(id),
        }
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        if self.is_lost.load(Ordering::SeqCst) && self.fault != Fault::PreparesAfterLoss {
            return Err(Self::lost());
        }
        self.check(segment, processor)?;
        Ok(Box::new(Prepared {
            model: Arc::clone(&self.model),
            segment: segment.clone(),
            fault: self.fault,
            is_lost: Arc::clone(&self.is_lost),
            scratch: Arc::clone(&self.scratch),
            place: self.prepared.fetch_add(1, Ordering::SeqCst),
            before: Vec::new(),
            is_broken: false,
        }))
    }
}

impl Observed for Plain {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        let mut prepared = self.prepare(segment, processor)?;
        let mut seconds = Vec::new();
        loop {
            let start = Instant::now();
            prepared.run(inputs)?;
            let time = start.elapsed();
            let share = time.as_secs_f64() / segment.operators.len() as f64;
            seconds.push(if self.fault == Fault::TraceTakesTooLong { 2.0 * share } else { share });
            if !go_on(time) {
                break;
            }
            if self.fault == Fault::TraceIgnoresGoOn {
                seconds.push(share);
            }
        }

        let times = |&id: &OperatorId| OperatorTimes { operators: vec![id], seconds: seconds.clone() };
        let mut times: Vec<OperatorTimes> = segment.operators.iter().map(times).collect();
        match self.fault {
            Fault::TraceLeavesOut => drop(times.pop()),
            Fault::TraceCountsTwice => times[0].operators.push(segment.operators[1]),
            _ => {}
        }
        Ok(times)
    }

    fn transfer_times(&self, processor: &Processor, _: u64) -> Result<Option<TransferTimes>, BackendError> {
        let times = |nanoseconds| {
            let time = Duration::from_nanos(nanoseconds);
            TransferTimes { upload: time, download: time }
        };
        Ok(match self.fault {
            Fault::NoTimeForTransfers => (!processor.is_accelerator()).then(|| times(0)),
            Fault::TransfersElsewhere => Some(times(1)),
            _ => None,
        })
    }
}
