//! The processors of a replica, working on one frame together.

mod prepared;
mod steps;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Canceller, Tensor};
use millstream_board::Processor;
use millstream_graph::ValueId;
use millstream_schedule::execution::ProcessorId;

use crate::error::{FrameError, RuntimeError};
use crate::joining::Joining;
use crate::memory_release::MemoryRelease;
use crate::packet::StepSpan;
use crate::program::{Program, ProgramSlot, StepId};
use crate::replica_id::ReplicaId;
use crate::sleeper::Sleeper;
use crate::sync::channel::Sender;
use crate::sync::thread::{pin_current_thread, prefer_short_slices};
use crate::sync::{AtomicBool, AtomicU64, MemoryMark, Mutex, MutexGuard, Ordering, lock};
use crate::team_factory::TeamFactory;

pub(crate) use prepared::Prepared;

/// The processor whose thread leads a replica.
pub(crate) const LEADER: ProcessorId = ProcessorId::new(0);

/// What a thread says once it is ready: a warning if it could not be pinned.
pub(crate) type Ready = Result<Option<String>, RuntimeError>;

/// Whether a replica can go on after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Usable,
    /// A thread panicked, or a device is gone.
    Lost,
}

/// Why a frame has no result.
pub(crate) struct Failure {
    pub(crate) error: FrameError,
    /// Of the replica, after it.
    pub(crate) health: Health,
}

/// What the threads of a replica share. The first processor's thread leads: it has the frames.
pub(crate) struct Team {
    id: ReplicaId,
    program: Program,
    /// By [`ProcessorId`].
    members: Vec<Member>,
    /// What is there of the frame at hand, by [`ProgramSlot`].
    values: Vec<Mutex<Option<Tensor>>>,
    /// By [`JoinId`](crate::program::JoinId).
    joinings: Vec<Joining>,
    /// Frames started.
    started: AtomicU64,
    is_over: AtomicBool,
    has_failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// What ends the segments that run; of all that are prepared.
    cancellers: Mutex<Vec<Arc<dyn Canceller>>>,
    /// How long each processor has worked, in nanoseconds.
    busy: Arc<[AtomicU64]>,
    _memory_release: Arc<MemoryRelease>,
    /// What the processors did, if anybody wants to know.
    steps: Option<Mutex<Vec<StepSpan>>>,
    takes_over: bool,
}

/// One processor.
struct Member {
    processor: Processor,
    backend: Arc<dyn Backend>,
    sleeper: Sleeper,
    /// Its steps that were begun since the start, by any thread.
    begun: AtomicU64,
    /// Its steps that were done since the start, by any thread.
    done: AtomicU64,
    /// Frames that its thread is through with.
    frames: AtomicU64,
}

impl Team {
    pub(crate) fn new(factory: &TeamFactory) -> Self {
        let TeamFactory { id, replica, backends, graph, options, busy, memory_release } = factory;
        let program = Program::new(replica, graph);

        let member = |(processor, backend): (Processor, &Arc<dyn Backend>)| Member {
            processor,
            backend: Arc::clone(backend),
            sleeper: Sleeper::default(),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            frames: AtomicU64::new(0),
        };

        let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone());
        Self {
            id: *id,
            members: processors.zip(backends).map(member).collect(),
            values: program.values.iter().map(|_| Mutex::default()).collect(),
            joinings: program.joins.iter().filter_map(|join| Joining::new(join, &program, graph)).collect(),
            program,
            started: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            failure: Mutex::default(),
            cancellers: Mutex::default(),
            busy: Arc::clone(busy),
            _memory_release: Arc::clone(memory_release),
            steps: options.keeps_steps.then(Mutex::default),
            takes_over: options.takes_over,
        }
    }

    /// Whether every value that is made in parts can be put together.
    pub(crate) fn is_complete(&self) -> bool {
        self.joinings.len() == self.program.joins.len()
    }

    /// How many processors there are.
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// The processors whose threads follow the leader's.
    pub(crate) fn followers(&self) -> impl Iterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.size()).skip(1)
    }

    fn member(&self, processor: ProcessorId) -> &Member {
        &self.members[processor.index()]
    }

    /// Has the segments that run end soon.
    pub(crate) fn cancel(&self) {
        lock(&self.cancellers).iter().for_each(|canceller| canceller.cancel());
    }

    /// Ends the frame at hand: what runs is cancelled, what was not begun is left out.
    pub(crate) fn abort(&self, failure: FrameError) {
        self.fail(Failure { error: failure, health: Health::Usable });
        self.cancel();
    }

    /// Has the frame at hand fail. The first failure is the answer, and any loss is one.
    fn fail(&self, failure: Failure) {
        let health = failure.health;
        let mut known = lock(&self.failure);
        let first = known.get_or_insert(failure);
        if health == Health::Lost {
            first.health = Health::Lost;
        }
        drop(known);
        self.has_failed.store(true, Ordering::SeqCst);
    }

    /// Pins the calling thread to a processor and prepares its segments on it. `None` if that failed; `ready` is told
    /// why.
    pub(crate) fn prepare(&self, id: ProcessorId, ready: &Sender<Ready>) -> Option<Prepared> {
        let Member { processor, sleeper, .. } = self.member(id);
        sleeper.register();
        let stage = self.id.stage;
        if self.size() > 1 {
            // The others wait for this thread, again and again within a frame. A system that can't help is no reason to
            // warn.
            let _ = prefer_short_slices();
        }
        let core = processor.cores.first().filter(|core| !pin_current_thread(**core));
        let warning = core.map(|core| format!("stage {stage}: the system refused to pin a thread to core {core}"));

        let prepared = catch_unwind(AssertUnwindSafe(|| self.prepare_segments(id)))
            .unwrap_or_else(|panic| Err(BackendError::Failed { detail: message(&*panic) }));
        match prepared {
            Ok(prepared) => {
                lock(&self.cancellers).extend(prepared.cancellers());
                ready.send(Ok(warning)).is_ok().then_some(prepared)
            }
            Err(source) => {
                let error = RuntimeError::Prepare { stage, processor: processor.clone(), source };
                // The engine may have given up already because of another thread.
                let _ = ready.send(Err(error));
                None
            }
        }
    }

    /// Prepares on a processor the segments of its own steps, and of those of others that it may take over.
    fn prepare_segments(&self, id: ProcessorId) -> Result<Prepared, BackendError> {
        let Member { processor, backend, .. } = self.member(id);
        let prepare = |step: StepId| {
            let segment = &self.program.step(step).segment;
            if step.processor == id {
                return backend.prepare(segment, processor).map(Some);
            }
            // What can't be taken over is left to its owner.
            Ok(if self.may_take_over(id, step) { backend.prepare(segment, processor).ok() } else { None })
        };
        let track = |owner: ProcessorId| self.program.steps_of(owner).map(prepare).collect::<Result<Vec<_>, _>>();
        let before = MemoryMark::now();
        let tracks = ProcessorId::all(self.size()).map(track).collect::<Result<Vec<_>, _>>()?;
        // Weights in layouts that kernels want, read for every frame.
        before.move_new_to_huge_pages();
        Ok(Prepared { tracks })
    }

    /// What the threads of all processors but the first do: their part of every frame, until the leader ends.
    pub(crate) fn follow(&self, processor: ProcessorId, mut prepared: Prepared) {
        let is_over = || self.is_over.load(Ordering::SeqCst);
        let sleeper = &self.member(processor).sleeper;
        let mut frame = 0;
        loop {
            sleeper.wait_until(|| is_over() || self.started.load(Ordering::SeqCst) > frame);
            if is_over() {
                return;
            }
            self.run_track(processor, frame, &mut prepared);
            frame += 1;
        }
    }

    /// Lets the followers end.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.members.iter().for_each(|member| member.sleeper.wake());
    }

    /// Works on a frame with all processors, as their leader: `inputs` are the stage's inputs, and the results are
    /// those of `outputs`.
    pub(crate) fn run(
        &self,
        prepared: &mut Prepared,
        inputs: impl Iterator<Item = (ValueId, Tensor)>,
        outputs: &[ValueId],
    ) -> Result<Vec<Tensor>, Failure> {
        for (value, tensor) in inputs {
            if let Some(slot) = self.program.slot(value) {
                *self.value(slot) = Some(tensor);
            }
        }

        self.joinings.iter().for_each(Joining::begin);
        *lock(&self.failure) = None;
        self.has_failed.store(false, Ordering::SeqCst);
        let frame = self.started.fetch_add(1, Ordering::SeqCst);
        self.followers().for_each(|follower| self.member(follower).sleeper.wake());
        self.run_track(LEADER, frame, prepared);
        for follower in self.followers() {
            self.await_track(follower, frame, prepared);
            // What others took over is done as well now, but its owner may not know yet.
            let frames = &self.member(follower).frames;
            self.member(LEADER).sleeper.wait_until(|| frames.load(Ordering::SeqCst) > frame);
        }

        let found = |value: &ValueId| self.program.slot(*value).and_then(|slot| self.value(slot).take());
        let made: Option<Vec<Tensor>> = outputs.iter().map(found).collect();
        self.values.iter().for_each(|value| *lock(value) = None);
        match lock(&self.failure).take() {
            Some(failure) => Err(failure),
            None => made.ok_or_else(|| self.failed(BackendError::failed("the backend did not make every value"))),
        }
    }

    fn value(&self, slot: ProgramSlot) -> MutexGuard<'_, Option<Tensor>> {
        lock(&self.values[slot.index()])
    }

    /// Whether a processor may run another one's step: cores can, with the same backend.
    fn may_take_over(&self, processor: ProcessorId, step: StepId) -> bool {
        let (member, other) = (self.member(processor), self.member(step.processor));
        let operators = &self.program.step(step).segment.operators;
        self.takes_over
            && !member.processor.is_accelerator()
            && Arc::ptr_eq(&member.backend, &other.backend)
            && operators.iter().all(|&operator| member.backend.supports(operator, &member.processor))
    }

    /// What the processors did since this was last asked, by the starts.
    pub(crate) fn take_steps(&self) -> Vec<StepSpan> {
        let Some(steps) = &self.steps else { return Vec::new() };
        let mut steps = std::mem::take(&mut *lock(steps));
        steps.sort_by_key(|step| step.start);
        steps
    }

    fn failed(&self, source: BackendError) -> Failure {
        let health = match source {
            BackendError::DeviceLost { .. } => Health::Lost,
            _ => Health::Usable,
        };
        Failure { error: FrameError::Stage { stage: self.id.stage, source }, health }
    }
}

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
