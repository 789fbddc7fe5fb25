//! A running schedule: frames in, results out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millstream_backend::{Backend, Tensor};
use millstream_graph::Graph;
use millstream_schedule::Schedule;

use crate::dispatch::Dispatch;
use crate::error::{FrameError, RuntimeError};
use crate::generation::Generation;
use crate::launch::Start;
use crate::metrics::StageMetrics;
use crate::options::EngineOptions;
use crate::packet::{FrameResult, Packet};
use crate::permits::Permits;
use crate::sync::channel::{Receiver, TrySendError, bounded};
use crate::sync::{Mutex, lock, now, try_lock};
use crate::watch::watch;

/// A running schedule. Frames may be submitted and results received from different threads.
pub struct Engine {
    graph: Arc<Graph>,
    backends: Vec<Arc<dyn Backend>>,
    options: EngineOptions,
    dispatch: Arc<Dispatch>,
    exits: Receiver<Packet>,
    /// One permit for each frame between submission and receipt.
    outstanding: Permits,
    submission: Mutex<u64>,
    pub(crate) reorder_buffer: Mutex<ReorderBuffer>,
}

/// Results that came before their turn: the reorder buffer.
#[derive(Default)]
pub(crate) struct ReorderBuffer {
    next: u64,
    early: BTreeMap<u64, Packet>,
}

impl Engine {
    /// Starts the workers of a schedule and waits until all of them are ready. Each processor runs its operators with
    /// the first backend that supports all of them.
    ///
    /// # Errors
    /// Any [`RuntimeError`] but `Stopped`.
    pub fn new(
        graph: &Arc<Graph>,
        schedule: &Schedule,
        backends: &[Arc<dyn Backend>],
        options: &EngineOptions,
    ) -> Result<Self, RuntimeError> {
        Self::start(graph, schedule, None, backends, options)
    }

    /// As [`Engine::new`], with another schedule that waits ready: when a stage has no replica left, because devices
    /// were lost or workers panicked, the frames at hand fail, and all later ones, those on their way included, run
    /// through `fallback`, or through the schedule that [`Engine::reschedule`] has set since.
    ///
    /// # Errors
    /// Any [`RuntimeError`] but `Stopped`.
    pub fn with_fallback(
        graph: &Arc<Graph>,
        schedule: &Schedule,
        fallback: &Schedule,
        backends: &[Arc<dyn Backend>],
        options: &EngineOptions,
    ) -> Result<Self, RuntimeError> {
        Self::start(graph, schedule, Some(fallback), backends, options)
    }

    fn start(
        graph: &Arc<Graph>,
        schedule: &Schedule,
        fallback: Option<&Schedule>,
        backends: &[Arc<dyn Backend>],
        options: &EngineOptions,
    ) -> Result<Self, RuntimeError> {
        let outstanding = options.outstanding(schedule);
        let (exit, exits) = bounded(outstanding);

        // From here on, an error ends what has started.
        let engine = Self {
            graph: Arc::clone(graph),
            backends: backends.to_vec(),
            options: *options,
            dispatch: Dispatch::new(exit),
            exits,
            outstanding: Permits::new(outstanding),
            submission: Mutex::new(0),
            reorder_buffer: Mutex::default(),
        };

        if let Some(fallback) = fallback {
            engine.dispatch.set_fallback(engine.prepare(fallback)?);
        }
        engine.dispatch.set_current(engine.prepare(schedule)?);

        if let Some(limit) = options.time_limit() {
            let dispatch = Arc::clone(&engine.dispatch);
            engine.dispatch.threads.spawn("frame watch", move || watch(&dispatch, limit))?;
        }
        Ok(engine)
    }

    fn prepare(&self, schedule: &Schedule) -> Result<Generation, RuntimeError> {
        let Self { graph, backends, options, dispatch, .. } = self;
        Generation::start(Start { graph, backends, options, dispatch }, schedule)
    }

    /// Replaces the schedule between two frames. The new workers are prepared while the old ones run; frames that were
    /// submitted before finish as they began, and results keep their order.
    ///
    /// # Errors
    /// As [`Engine::new`]; the old schedule then goes on.
    pub fn reschedule(&self, schedule: &Schedule) -> Result<(), RuntimeError> {
        let generation = self.prepare(schedule)?;
        // Whoever waits for room in the old one right now enters that one.
        self.dispatch.set_current(generation);
        Ok(())
    }

    /// The schedule that new frames go to.
    fn generation(&self) -> Result<Arc<Generation>, RuntimeError> {
        self.dispatch.current().ok_or(RuntimeError::Stopped)
    }

    /// Hands in a frame, one tensor per input of the network, and returns its sequence number. Waits while the first
    /// stage has no room for it or too many results have not been received: some thread must receive results meanwhile.
    ///
    /// A frame that does not fit the network takes its place in the sequence, and its result is the error.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn submit(&self, frame: Vec<Tensor>) -> Result<u64, RuntimeError> {
        self.outstanding.acquire();
        // Numbering and entering are one step, so that frames enter in the order of their numbers.
        let mut next = lock(&self.submission);
        let entered = self.generation().and_then(|generation| self.enter(&generation, frame, &mut next));
        if entered.is_err() {
            // Nobody is to wait for it.
            self.outstanding.release();
        }
        entered
    }

    /// Hands a frame to a schedule, as the next one.
    fn enter(&self, generation: &Generation, frame: Vec<Tensor>, next: &mut u64) -> Result<u64, RuntimeError> {
        let packet = self.packet(generation, frame, *next);
        generation.entrance.send(packet).map_err(|_| RuntimeError::Stopped)?;
        *next += 1;
        Ok(*next - 1)
    }

    fn packet(&self, generation: &Generation, frame: Vec<Tensor>, sequence: u64) -> Packet {
        let failure = self.misfit(&frame);
        Packet { failure, sequence, ..generation.packet(frame) }
    }

    /// As [`Engine::submit`], but gives the frame back where that would wait.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn try_submit(&self, frame: Vec<Tensor>) -> Result<Result<u64, Vec<Tensor>>, RuntimeError> {
        // Whoever waits in `submit` holds the lock and is next.
        let Some(mut next) = try_lock(&self.submission) else { return Ok(Err(frame)) };
        let generation = self.generation()?;
        if generation.entrance.is_full() || !self.outstanding.try_acquire() {
            return Ok(Err(frame));
        }
        let packet = self.packet(&generation, frame.clone(), *next);
        let refused = match generation.entrance.try_send(packet) {
            Ok(()) => {
                *next += 1;
                return Ok(Ok(*next - 1));
            }
            Err(refused) => refused,
        };
        self.outstanding.release();
        match refused {
            // Frames of a schedule that was lost have come between.
            TrySendError::Full(_) => Ok(Err(frame)),
            TrySendError::Disconnected(_) => Err(RuntimeError::Stopped),
        }
    }

    fn misfit(&self, frame: &[Tensor]) -> Option<FrameError> {
        let inputs = self.graph.inputs();
        if inputs.len() != frame.len() {
            return Some(FrameError::InputCount { expected: inputs.len(), found: frame.len() });
        }
        inputs.iter().zip(frame).find_map(|(&id, tensor)| {
            let value = self.graph.value(id);
            let misfit =
                |expected| FrameError::Input { value: value.name.clone(), expected, found: tensor.description() };
            tensor.check_fits(value).err().map(misfit)
        })
    }

    /// The next result in the order of submission; waits for it. `None` if no frame is outstanding.
    pub fn recv(&self) -> Option<FrameResult> {
        let mut buffer = lock(&self.reorder_buffer);
        loop {
            if let Some(result) = self.take_ready(&mut buffer) {
                return Some(result);
            }
            self.await_any(&mut buffer)?;
        }
    }

    /// The result whose turn it is, if it is there.
    pub(crate) fn take_ready(&self, buffer: &mut ReorderBuffer) -> Option<FrameResult> {
        let packet = buffer.early.remove(&buffer.next)?;
        buffer.next += 1;
        self.outstanding.release();
        Some(self.finish(packet))
    }

    /// Waits until any frame leaves the last stage; `None` if there is none to wait for.
    pub(crate) fn await_any(&self, buffer: &mut ReorderBuffer) -> Option<()> {
        if self.is_drained(buffer) {
            return None;
        }
        let packet = self.exits.recv().ok()?;
        buffer.early.insert(packet.sequence, packet);
        Some(())
    }

    /// The same for so long at most; `None` if none came.
    pub(crate) fn await_any_within(&self, buffer: &mut ReorderBuffer, limit: Duration) -> Option<()> {
        let packet = self.exits.recv_timeout(limit).ok()?;
        buffer.early.insert(packet.sequence, packet);
        Some(())
    }

    /// Whether no frame is between submission and the end of the last stage.
    pub(crate) fn is_drained(&self, buffer: &ReorderBuffer) -> bool {
        // Permits of outstanding frames are taken before frames enter, so this never misses one.
        self.outstanding.taken() <= buffer.early.len()
    }

    fn finish(&self, mut packet: Packet) -> FrameResult {
        let outcome = match packet.failure {
            Some(failure) => Err(failure),
            None => Ok(packet.route.outputs.iter().filter_map(|&slot| packet.values[slot.index()].take()).collect()),
        };
        FrameResult {
            sequence: packet.sequence,
            outcome,
            submitted: packet.submitted,
            received: now(),
            spans: packet.spans,
            steps: packet.steps,
        }
    }

    /// How many frames are between submission and receipt.
    pub fn outstanding(&self) -> usize {
        self.outstanding.taken()
    }

    /// The schedule at work.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn schedule(&self) -> Result<Schedule, RuntimeError> {
        Ok(self.generation()?.schedule.clone())
    }

    /// What the stages of the schedule at work did since it began or the last reset.
    pub fn metrics(&self) -> Vec<StageMetrics> {
        self.generation().map(|generation| generation.metrics()).unwrap_or_default()
    }

    /// Forgets what the stages did, for instance after warming up.
    pub fn reset_metrics(&self) {
        if let Ok(generation) = self.generation() {
            generation.reset_metrics();
        }
    }

    /// What did not go as asked without keeping the engine from running, such as a refused pin or a replica that could
    /// not be started again. Each is reported once, and at most 256 are kept.
    pub fn warnings(&self) -> Vec<String> {
        self.dispatch.warnings()
    }
}

impl Drop for Engine {
    /// Ends the workers: frames in flight, whose results can't be received any more, are cancelled. Takes less than a
    /// second, also where a backend is stuck; its thread is then left behind.
    fn drop(&mut self) {
        self.dispatch.shut_down();
    }
}
