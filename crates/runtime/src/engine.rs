use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use millstream_backend::{Backend, Tensor};
use millstream_graph::Graph;
use millstream_schedule::{Assignment, Schedule};

use crate::metrics::{Recorder, StageMetrics};
use crate::packet::{FrameResult, Packet};
use crate::results::Results;
use crate::route::Route;
use crate::worker::{Ready, Worker};
use crate::{FrameError, RuntimeError};

/// How an engine is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineOptions {
    /// How many frames may be between the start of the first stage and the end of the last one. More frames smooth out
    /// uneven stage times, fewer keep each frame's way through the stages short. `None` is one per worker and one more
    /// per hand-over between stages.
    pub frames_in_flight: Option<usize>,
    /// How many frames may be between submission and receipt, those that are done but must wait for an earlier one or
    /// for the receiver included. `None` is 16 per worker: replicas may differ in speed by that much without waiting.
    pub frames_outstanding: Option<usize>,
}

const OUTSTANDING_PER_WORKER: usize = 16;

/// A running schedule. Frames may be submitted and results received from different threads.
pub struct Engine {
    graph: Arc<Graph>,
    route: Route,
    /// `None` only while the engine is being dropped.
    entrance: Option<Sender<Packet>>,
    exit: Receiver<Packet>,
    /// Holds one token per frame between submission and receipt.
    outstanding: (Sender<()>, Receiver<()>),
    submission: Mutex<u64>,
    pub(crate) reception: Mutex<Reception>,
    recorders: Vec<Vec<Arc<Recorder>>>,
    workers: Vec<JoinHandle<()>>,
    warnings: Vec<String>,
}

/// Results that came before their turn.
#[derive(Default)]
pub(crate) struct Reception {
    next: u64,
    early: BTreeMap<u64, Packet>,
}

impl Engine {
    /// Starts the workers of a schedule and waits until all of them are ready. Each stage runs on the first backend that
    /// supports all its operators.
    ///
    /// # Errors
    /// Any [`RuntimeError`] but `Stopped`.
    pub fn new(
        graph: &Arc<Graph>,
        schedule: &Schedule,
        backends: &[Arc<dyn Backend>],
        options: &EngineOptions,
    ) -> Result<Self, RuntimeError> {
        if schedule.stages.is_empty() {
            return Err(RuntimeError::Empty);
        }
        let route = Route::new(graph, schedule)?;
        let worker_count: usize = schedule.stages.iter().map(|stage| stage.replicas.len()).sum();
        let in_flight = options.frames_in_flight.unwrap_or(worker_count + schedule.stages.len() - 1).max(1);
        let outstanding =
            options.frames_outstanding.unwrap_or(worker_count * OUTSTANDING_PER_WORKER).max(2 * in_flight);
        // As many frames wait at the door as may be inside, so that the first stage need not wait for a caller who submits
        // whenever a result comes out.
        let (entrance, mut incoming) = bounded(in_flight);
        // Holds one token per frame in flight.
        let tokens = bounded(in_flight);
        let (ready_sender, ready) = bounded::<Ready>(worker_count);
        let mut recorders = Vec::with_capacity(schedule.stages.len());
        let mut workers = Vec::with_capacity(worker_count);
        for (index, stage) in schedule.stages.iter().enumerate() {
            let is_last = index + 1 == schedule.stages.len();
            let (outgoing, next_incoming) = bounded(if is_last { outstanding } else { in_flight });
            let mut own_recorders = Vec::with_capacity(stage.replicas.len());
            for (replica_index, replica) in stage.replicas.iter().enumerate() {
                let [assignment] = replica.assignments.as_slice() else {
                    let processors = replica.assignments.len();
                    return Err(RuntimeError::SeveralProcessors { stage: index + 1, processors });
                };
                let recorder = Arc::new(Recorder::new());
                own_recorders.push(Arc::clone(&recorder));
                let worker = Worker {
                    stage: index,
                    replica: replica_index,
                    processor: assignment.processor.clone(),
                    backend: select(backends, graph, assignment, index)?,
                    route: route.stages[index].clone(),
                    incoming: incoming.clone(),
                    outgoing: outgoing.clone(),
                    starting: (index == 0).then(|| tokens.0.clone()),
                    finished: is_last.then(|| tokens.1.clone()),
                    recorder,
                };
                let ready_sender = ready_sender.clone();
                let name = format!("stage {}.{}", index + 1, replica_index + 1);
                workers.push(std::thread::Builder::new().name(name).spawn(move || worker.run(&ready_sender))?);
            }
            recorders.push(own_recorders);
            incoming = next_incoming;
        }
        drop(ready_sender);
        let mut warnings = Vec::new();
        for _ in 0..worker_count {
            // On an error the channels are dropped with this function, which ends the other workers.
            warnings.extend(ready.recv().map_err(|_| RuntimeError::Stopped)??);
        }
        Ok(Self {
            graph: Arc::clone(graph),
            route,
            entrance: Some(entrance),
            exit: incoming,
            outstanding: bounded(outstanding),
            submission: Mutex::new(0),
            reception: Mutex::default(),
            recorders,
            workers,
            warnings,
        })
    }

    /// Hands in a frame, one tensor per input of the network, and returns its sequence number. Waits while the first stage
    /// has no room for it or too many results have not been received: some thread must receive results meanwhile.
    ///
    /// A frame that does not fit the network takes its place in the sequence, and its result is the error.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn submit(&self, frame: Vec<Tensor>) -> Result<u64, RuntimeError> {
        self.outstanding.0.send(()).map_err(|_| RuntimeError::Stopped)?;
        let entrance = self.entrance.as_ref().ok_or(RuntimeError::Stopped)?;
        let mut packet = self.packet(frame);
        // Numbering and entering are one step, so that frames enter in the order of their numbers.
        let mut next = self.submission.lock().unwrap_or_else(PoisonError::into_inner);
        packet.sequence = *next;
        entrance.send(packet).map_err(|_| RuntimeError::Stopped)?;
        *next += 1;
        Ok(*next - 1)
    }

    /// As [`Engine::submit`], but gives the frame back where that would wait.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn try_submit(&self, frame: Vec<Tensor>) -> Result<Result<u64, Vec<Tensor>>, RuntimeError> {
        let entrance = self.entrance.as_ref().ok_or(RuntimeError::Stopped)?;
        // Whoever waits in `submit` holds the lock and is next.
        let Ok(mut next) = self.submission.try_lock() else { return Ok(Err(frame)) };
        if entrance.is_full() || self.outstanding.0.try_send(()).is_err() {
            return Ok(Err(frame));
        }
        let mut packet = self.packet(frame);
        packet.sequence = *next;
        // Only the holder of the lock sends, so there still is room.
        entrance.send(packet).map_err(|_| RuntimeError::Stopped)?;
        *next += 1;
        Ok(Ok(*next - 1))
    }

    fn packet(&self, frame: Vec<Tensor>) -> Packet {
        let failure = self.misfit(&frame);
        let mut values = vec![None; self.route.slots];
        if failure.is_none() {
            for (&slot, tensor) in self.route.inputs.iter().zip(frame) {
                values[slot] = Some(tensor);
            }
        }
        let now = Instant::now();
        let spans = Vec::with_capacity(self.recorders.len());
        Packet { sequence: 0, values, failure, submitted: now, queued: now, spans }
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
        let mut reception = self.reception.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = self.take_ready(&mut reception) {
                return Some(result);
            }
            self.await_any(&mut reception)?;
        }
    }

    /// The result whose turn it is, if it is there.
    pub(crate) fn take_ready(&self, reception: &mut Reception) -> Option<FrameResult> {
        let packet = reception.early.remove(&reception.next)?;
        reception.next += 1;
        let _ = self.outstanding.1.try_recv();
        Some(self.finish(packet))
    }

    /// Waits until any frame leaves the last stage; `None` if there is none to wait for.
    pub(crate) fn await_any(&self, reception: &mut Reception) -> Option<()> {
        // Tokens of outstanding frames are taken before frames enter, so this never misses one.
        if self.outstanding.0.len() <= reception.early.len() {
            return None;
        }
        let packet = self.exit.recv().ok()?;
        reception.early.insert(packet.sequence, packet);
        Some(())
    }

    fn finish(&self, mut packet: Packet) -> FrameResult {
        let outcome = match packet.failure {
            Some(failure) => Err(failure),
            None => Ok(self.route.outputs.iter().filter_map(|&slot| packet.values[slot].take()).collect()),
        };
        FrameResult {
            sequence: packet.sequence,
            outcome,
            submitted: packet.submitted,
            received: Instant::now(),
            spans: packet.spans,
        }
    }

    /// Streams frames through the engine: submits while there is room and yields the results in order.
    pub fn run<I: IntoIterator<Item = Vec<Tensor>>>(&self, frames: I) -> Results<'_, I::IntoIter> {
        Results::new(self, frames.into_iter())
    }

    /// How many frames are between submission and receipt.
    pub fn outstanding(&self) -> usize {
        self.outstanding.0.len()
    }

    /// What the stages did since the start or the last reset.
    pub fn metrics(&self) -> Vec<StageMetrics> {
        let stage = |recorders: &Vec<Arc<Recorder>>| StageMetrics {
            replicas: recorders.iter().map(|recorder| recorder.metrics()).collect(),
        };
        self.recorders.iter().map(stage).collect()
    }

    /// Forgets what the stages did, for instance after warming up.
    pub fn reset_metrics(&self) {
        self.recorders.iter().flatten().for_each(|recorder| recorder.reset());
    }

    /// What did not go as asked without keeping the engine from running, such as a refused pin.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Drop for Engine {
    /// Lets the frames in flight finish and joins the workers.
    fn drop(&mut self) {
        self.entrance = None;
        for worker in self.workers.drain(..) {
            // Workers catch panics of backends; nothing else in them panics.
            let _ = worker.join();
        }
    }
}

fn select(
    backends: &[Arc<dyn Backend>],
    graph: &Graph,
    assignment: &Assignment,
    stage: usize,
) -> Result<Arc<dyn Backend>, RuntimeError> {
    let processor = &assignment.processor;
    let runs_all = |backend: &&Arc<dyn Backend>| {
        assignment.operators.iter().all(|&operator| backend.supports(operator, processor))
    };
    backends.iter().find(runs_all).cloned().ok_or_else(|| {
        let runs = |&&operator: &&_| backends.iter().any(|backend| backend.supports(operator, processor));
        let operator = assignment.operators.iter().find(|operator| !runs(operator)).or(assignment.operators.first());
        RuntimeError::NoBackend {
            operator: operator.map_or(String::new(), |&operator| graph.operator(operator).name.clone()),
            stage: stage + 1,
            processor: processor.clone(),
        }
    })
}
