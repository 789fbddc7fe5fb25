//! Frames of a program's own through a schedule.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use millstream_backend::Tensor;
use millstream_cost::CostTable;
use millstream_runtime::{Engine, EngineOptions, FrameResult, Received, StageMetrics, TuningEvent};

use crate::backends::needed::Needed;
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::open_to_run;
use crate::plans::clocks;
use crate::run::adaptation::adapt;
use crate::run::report::{LatencySummary, StageReport};
use crate::run::statistics::Latencies;
use crate::run::summary::stages;
use crate::schedules::{Scheduled, engine};
use crate::threads::{SetOnDrop, thread};

/// A schedule that frames flow through. Results come in the order of the frames, whatever overtakes what inside.
///
/// Any number of threads may submit frames and one should take results; frames whose results are not taken fill the
/// pipeline, and [`Stream::submit`] then waits. Nothing is checked: [`run`](crate::run()) compares results with
/// sequential inference.
pub struct Stream<'a> {
    machine: Machine,
    scheduled: Held<'a>,
    engine: Engine,
    costs: Option<CostTable>,
    latencies: Mutex<Latencies>,
    begin: Instant,
    started_in: Duration,
    first_frame: OnceLock<Duration>,
}

/// A schedule that the caller keeps for as long as frames flow, or that is kept with the stream.
enum Held<'a> {
    Borrowed(&'a Scheduled),
    Shared(Arc<Scheduled>),
}

impl Deref for Held<'_> {
    type Target = Scheduled;

    fn deref(&self) -> &Scheduled {
        match self {
            Self::Borrowed(scheduled) => scheduled,
            Self::Shared(scheduled) => scheduled,
        }
    }
}

impl<'a> Stream<'a> {
    /// Starts a worker on every processor of the schedule, and loads its operators there. Processors that work on one
    /// frame take over from each other ([`EngineOptions::takes_over`]) whatever the options say: schedules were tried
    /// like that.
    ///
    /// # Errors
    /// [`Error::NotHere`] if the board is not this computer; whatever keeps an engine from starting.
    pub fn start(machine: &Machine, scheduled: &'a Scheduled, options: &EngineOptions) -> Result<Self, Error> {
        Self::start_held(machine, Held::Borrowed(scheduled), options)
    }

    /// The same for as long as somebody likes: the stream holds the schedule itself.
    ///
    /// # Errors
    /// As [`Stream::start`].
    pub fn start_shared(
        machine: &Machine,
        scheduled: Arc<Scheduled>,
        options: &EngineOptions,
    ) -> Result<Stream<'static>, Error> {
        Stream::start_held(machine, Held::Shared(scheduled), options)
    }

    fn start_held(machine: &Machine, scheduled: Held<'a>, options: &EngineOptions) -> Result<Self, Error> {
        let begin = Instant::now();
        machine.check_usable()?;
        let machine = machine.as_planned(&scheduled.document);
        let Scheduled { network, schedule, document, .. } = &*scheduled;
        let (backends, costs) = open_to_run(&machine, network, &Needed::By(schedule), &schedule.accelerators())?;
        let engine = engine::with_fallback(network, machine.board(), schedule, &backends.backend(), *options)?;
        backends.stop_keeping();
        for advice in clocks::unset_clocks(&document.clocks, machine.board()) {
            tracing::warn!("{advice}");
        }
        let latencies = Mutex::new(Latencies::new()?);
        let started_in = begin.elapsed();
        Ok(Self { machine, scheduled, engine, costs, latencies, begin, started_in, first_frame: OnceLock::new() })
    }

    /// Submits a frame: one tensor for each input of the network, in the order of its graph's inputs. Waits for room.
    /// Returns the frame's number, from 0.
    ///
    /// # Errors
    /// [`Error::Runtime`] if the pipeline has stopped.
    pub fn submit(&self, frame: Vec<Tensor>) -> Result<u64, Error> {
        Ok(self.engine.submit(frame)?)
    }

    /// Submits a frame if there is room for it now; gives it back if not.
    ///
    /// # Errors
    /// As [`Stream::submit`].
    pub fn try_submit(&self, frame: Vec<Tensor>) -> Result<Result<u64, Vec<Tensor>>, Error> {
        Ok(self.engine.try_submit(frame)?)
    }

    /// The result of the next frame in order. Waits for it; `None` if all results were taken.
    pub fn recv(&self) -> Option<FrameResult> {
        let result = self.engine.recv()?;
        self.note(&result);
        Some(result)
    }

    /// As [`Stream::recv`], but waits no longer than `limit`, and returns early when a frame comes out before its turn,
    /// since there may be room for another one then. Waits for others that are receiving right now, however long they
    /// take.
    pub fn recv_timeout(&self, limit: Duration) -> Received {
        let received = self.engine.recv_timeout(limit);
        if let Received::Result(result) = &received {
            self.note(result);
        }
        received
    }

    /// Submits frames as there is room, and returns results one by one, in order: those of frames that were submitted
    /// before and whose results that were not taken come first. One caller at a time: two that run share all results
    /// between them.
    pub fn run<I: IntoIterator<Item = Vec<Tensor>>>(&self, frames: I) -> impl Iterator<Item = FrameResult> {
        self.engine.run(frames).inspect(|result| self.note(result))
    }

    fn note(&self, result: &FrameResult) {
        if result.outcome.is_err() {
            return;
        }
        self.first_frame.get_or_init(|| result.received.saturating_duration_since(self.begin));
        let latency = result.received.saturating_duration_since(result.submitted);
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner).record(latency);
    }

    /// Submits frames as there is room and hands their results to `take`, one by one, in order, while the schedule is
    /// adapted as [`Stream::adapt`] says. Returns what was adapted.
    ///
    /// # Errors
    /// As [`Stream::adapt`]; all frames get through first.
    pub fn run_adapting<I: IntoIterator<Item = Vec<Tensor>>>(
        &self,
        frames: I,
        control: &Control,
        take: impl FnMut(FrameResult),
    ) -> Result<Vec<TuningEvent>, Error> {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let adapt = || self.adapt(&|| is_over.load(Ordering::Relaxed), control);
            let adapting = thread("tuner").spawn_scoped(scope, adapt).map_err(Error::no_thread("the tuner"))?;
            // However this ends, or the thread would be waited for in vain.
            let over = SetOnDrop(&is_over);
            self.run(frames).for_each(take);
            drop(over);
            adapting.join().map_err(|_| Error::Defect("the tuner panicked".to_owned()))?
        })
    }

    /// Watches the pipeline until `is_over` says so, and changes its schedule when conditions change: a neighbour keeps
    /// a core busy, or a clock goes down. Frames must flow meanwhile, so call it from a thread of its own.
    ///
    /// # Errors
    /// [`Error::NoProfile`] if the network was never measured on this machine; [`Error::Runtime`] if the pipeline
    /// stops.
    pub fn adapt(&self, is_over: &dyn Fn() -> bool, control: &Control) -> Result<Vec<TuningEvent>, Error> {
        let (scheduled, board) = (&*self.scheduled, self.machine.board());
        let costs = self.costs.as_ref().ok_or_else(|| Error::no_profile(&scheduled.network, board))?;
        let is_over = || is_over() || control.is_cancelled();
        adapt(&self.engine, scheduled, board, costs, &is_over, control)
    }

    /// Times of the frames that got through and whose results were taken, from being submitted to the result, within
    /// 0.1 %.
    pub fn latency(&self) -> LatencySummary {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner).summary()
    }

    /// How long [`Stream::start`] took.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// From the beginning of [`Stream::start`] to the result of the first frame; `None` before it is there.
    pub fn first_frame(&self) -> Option<Duration> {
        self.first_frame.get().copied()
    }

    /// What each stage did so far.
    pub fn metrics(&self) -> Vec<StageMetrics> {
        self.engine.metrics()
    }

    /// What each replica of the schedule at work did so far, beside what was predicted of it. After the schedule was
    /// adapted, predictions are still those of the first one.
    ///
    /// # Errors
    /// [`Error::Runtime`] if the pipeline has stopped.
    pub fn stages(&self) -> Result<Vec<StageReport>, Error> {
        Ok(stages(&self.engine.schedule()?, &self.scheduled.document, &self.metrics()))
    }

    /// What did not go as asked, such as a core that a worker could not be pinned to.
    pub fn warnings(&self) -> Vec<String> {
        self.engine.warnings()
    }

    /// The engine, for what is not here.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
