//! The processors of a replica, working on one frame together.

mod steps;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Canceller, PreparedSegment, Tensor};
use millstream_board::Processor;
use millstream_graph::ValueId;

use crate::joining::Joining;
use crate::memory_release::MemoryRelease;
use crate::program::{Program, Step};
use crate::sleeper::Sleeper;
use crate::sync::channel::Sender;
use crate::sync::thread::{pin_current_thread, prefer_short_slices};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, lock};
use crate::team_factory::TeamFactory;
use crate::{FrameError, RuntimeError, StepSpan};

/// What a thread says once it is ready: a warning if it could not be pinned.
pub(crate) type Ready = Result<Option<String>, RuntimeError>;

/// Whether a replica can go on after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Usable,
    /// A thread panicked, or a device is gone.
    Lost,
}

/// What the threads of a replica share. The first processor's thread leads: it has the frames.
pub(crate) struct Team {
    stage: usize,
    replica: usize,
    program: Program,
    members: Vec<Member>,
    values: Vec<Mutex<Option<Tensor>>>,
    joinings: Vec<Joining>,
    /// Frames started.
    started: AtomicU64,
    is_over: AtomicBool,
    has_failed: AtomicBool,
    failure: Mutex<Option<(FrameError, Health)>>,
    /// What ends the segments that run; of all that are prepared.
    cancellers: Mutex<Vec<Arc<dyn Canceller>>>,
    /// How long each processor has worked.
    busy: Arc<[AtomicU64]>,
    _memory_release: Arc<MemoryRelease>,
    /// What the processors did, if anybody wants to know.
    steps: Option<Mutex<Vec<StepSpan>>>,
    takes_over: bool,
}

/// Segments that are ready on a processor: its own, and those of others that it may take over; track by track.
pub(crate) struct Prepared(Vec<Vec<Option<Box<dyn PreparedSegment>>>>);

/// One processor.
struct Member {
    processor: Processor,
    backend: Arc<dyn Backend>,
    sleeper: Sleeper,
    /// Segments begun since the start, whoever began them.
    begun: AtomicU64,
    /// Segments done since the start.
    done: AtomicU64,
    /// Frames that its thread is through with.
    frames: AtomicU64,
}

impl Team {
    pub(crate) fn new(factory: &TeamFactory) -> Self {
        let TeamFactory { place: (stage, replica_index), replica, backends, graph, options, busy, memory_release } =
            factory;
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
            stage: *stage,
            replica: *replica_index,
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

    /// Has the segments that run end soon.
    pub(crate) fn cancel(&self) {
        lock(&self.cancellers).iter().for_each(|canceller| canceller.cancel());
    }

    /// Ends the frame at hand: what runs is cancelled, what was not begun is left out.
    pub(crate) fn abort(&self, failure: FrameError) {
        self.fail((failure, Health::Usable));
        self.cancel();
    }

    /// Has the frame at hand fail. The first failure is the answer, and any loss is one.
    fn fail(&self, failure: (FrameError, Health)) {
        let (error, health) = failure;
        let mut known = lock(&self.failure);
        let (_, worst) = known.get_or_insert((error, health));
        if health == Health::Lost {
            *worst = Health::Lost;
        }
        drop(known);
        self.has_failed.store(true, Ordering::SeqCst);
    }

    /// Pins the calling thread to a processor and prepares its segments on it.
    pub(crate) fn prepare(&self, position: usize, ready: &Sender<Ready>) -> Option<Prepared> {
        let Member { processor, backend, sleeper, .. } = &self.members[position];
        sleeper.register();
        let stage = self.stage + 1;
        if self.size() > 1 {
            // The others wait for this thread, again and again within a frame. A system that can't help is no reason to warn.
            let _ = prefer_short_slices();
        }

        let core = processor.cores.first().filter(|core| !pin_current_thread(**core));
        let warning = core.map(|core| format!("stage {stage}: the system refused to pin a thread to core {core}"));

        let prepare = || {
            let track = |(owner, steps): (usize, &Vec<Step>)| {
                let prepare = |step: &Step| {
                    if owner == position {
                        return backend.prepare(&step.segment, processor).map(Some);
                    }
                    // What can't be taken over is left to its owner.
                    let may_run = self.may_take_over(position, owner, step);
                    Ok(if may_run { backend.prepare(&step.segment, processor).ok() } else { None })
                };
                steps.iter().map(prepare).collect::<Result<Vec<_>, _>>()
            };
            self.program.tracks.iter().enumerate().map(track).collect::<Result<Vec<_>, _>>().map(Prepared)
        };

        let prepared = catch_unwind(AssertUnwindSafe(prepare))
            .unwrap_or_else(|panic| Err(BackendError::Failed { detail: message(&*panic) }));
        match prepared {
            Ok(segments) => {
                let own = segments.0.iter().flatten().flatten().filter_map(|segment| segment.canceller());
                lock(&self.cancellers).extend(own);
                ready.send(Ok(warning)).is_ok().then_some(segments)
            }
            Err(source) => {
                let error = RuntimeError::Prepare { stage, processor: processor.clone(), source };
                // The engine may have given up already because of another thread.
                let _ = ready.send(Err(error));
                None
            }
        }
    }

    /// What the threads of all processors but the first do: their part of every frame, until the leader ends.
    pub(crate) fn follow(&self, position: usize, mut segments: Prepared) {
        let mut frame = 0;
        loop {
            let is_over = || self.is_over.load(Ordering::SeqCst);
            let sleeper = &self.members[position].sleeper;
            sleeper.wait_until(|| is_over() || self.started.load(Ordering::SeqCst) > frame);
            if is_over() {
                return;
            }
            self.run_track(position, frame, &mut segments);
            frame += 1;
        }
    }

    /// Lets the followers end.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.members.iter().for_each(|member| member.sleeper.wake());
    }

    /// Works on a frame with all processors, as their leader: `inputs` are the stage's inputs, and the results are those of
    /// `outputs`.
    pub(crate) fn run(
        &self,
        segments: &mut Prepared,
        inputs: impl Iterator<Item = (ValueId, Tensor)>,
        outputs: &[ValueId],
    ) -> Result<Vec<Tensor>, (FrameError, Health)> {
        for (value, tensor) in inputs {
            if let Some(place) = self.program.place(value) {
                *self.value(place) = Some(tensor);
            }
        }

        self.joinings.iter().for_each(Joining::begin);
        *lock(&self.failure) = None;
        self.has_failed.store(false, Ordering::SeqCst);
        let frame = self.started.fetch_add(1, Ordering::SeqCst);
        self.members[1..].iter().for_each(|member| member.sleeper.wake());
        self.run_track(0, frame, segments);
        for (position, member) in self.members.iter().enumerate().skip(1) {
            self.await_steps(0, position, self.program.tracks[position].len(), frame, segments);
            // What others took over is done as well now, but its owner may not know yet.
            let all = frame + 1;
            self.members[0].sleeper.wait_until(|| member.frames.load(Ordering::SeqCst) >= all);
        }

        let found = |value: &ValueId| self.program.place(*value).and_then(|place| self.value(place).take());
        let made: Option<Vec<Tensor>> = outputs.iter().map(found).collect();
        (0..self.values.len()).for_each(|place| *self.value(place) = None);
        match lock(&self.failure).take() {
            Some(failure) => Err(failure),
            None => made.ok_or_else(|| self.failed(BackendError::failed("the backend did not make every value"))),
        }
    }

    fn value(&self, place: usize) -> MutexGuard<'_, Option<Tensor>> {
        lock(&self.values[place])
    }

    /// Whether a processor may run another one's segment: cores can, with the same backend.
    fn may_take_over(&self, position: usize, owner: usize, step: &Step) -> bool {
        let (own, other) = (&self.members[position], &self.members[owner]);
        self.takes_over
            && !own.processor.is_accelerator()
            && Arc::ptr_eq(&own.backend, &other.backend)
            && step.segment.operators.iter().all(|&operator| own.backend.supports(operator, &own.processor))
    }

    /// What the processors did since this was last asked, by the starts.
    pub(crate) fn take_steps(&self) -> Vec<StepSpan> {
        let Some(steps) = &self.steps else { return Vec::new() };
        let mut steps = std::mem::take(&mut *lock(steps));
        steps.sort_by_key(|step| step.start);
        steps
    }

    fn failed(&self, source: BackendError) -> (FrameError, Health) {
        let health = match source {
            BackendError::DeviceLost { .. } => Health::Lost,
            _ => Health::Usable,
        };
        (FrameError::Stage { stage: self.stage + 1, source }, health)
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
