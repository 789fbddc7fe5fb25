//! A replica of a stage while frames flow, and the frame that it works on.

use std::rc::Rc;

use millstream_cost::Nanoseconds;
use millstream_schedule::StageId;
use millstream_schedule::execution::{Execution, ProcessorId, TaskId};

use crate::outcome::OperatorSpan;
use crate::replica_plan::ReplicaPlan;
use crate::state::ids::{BoardProcessorIndex, FrameId, StreamId};
use crate::state::numbered::{Consecutive, Number};

/// A replica of a stream's stage, and the frame that it works on.
pub(crate) struct ReplicaState {
    pub(crate) stream: StreamId,
    pub(crate) stage: StageId,
    /// Its number within the stage.
    number: usize,
    pub(crate) plan: Rc<ReplicaPlan>,
    pub(crate) processor_indices: Consecutive<BoardProcessorIndex>,
    pub(crate) frame: Option<FrameId>,
    /// When it took the frame.
    begun: Nanoseconds,
    /// Before this time it takes no frame.
    pub(crate) begins_at: Nanoseconds,
    /// What it has done for frames before this one.
    served: Served,
    /// How often it has been stopped: events that were scheduled before are void.
    pub(crate) epoch: u32,
    pub(crate) is_lost: bool,
    /// Whether it has taken the frame over, so that its operators may start.
    pub(crate) has_taken_over: bool,
    /// Tasks of the frame that have not ended.
    tasks_left: usize,
    /// Per processor, how many of its tasks have started.
    started: Vec<usize>,
    /// What has been done for the frame.
    pub(crate) execution: Execution,
}

/// On how many frames a replica has worked, and for how long.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    frames: u64,
    time: Nanoseconds,
}

/// A frame that a replica is through with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServedFrame {
    pub(crate) frame: FrameId,
    /// How long the replica has worked on it.
    pub(crate) time: Nanoseconds,
}

/// A task that a processor has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedTask {
    pub(crate) task: TaskId,
    pub(crate) start: Nanoseconds,
    pub(crate) end: Nanoseconds,
}

impl ReplicaState {
    /// An idle replica with its processors.
    pub(crate) fn new(
        stream: StreamId,
        stage: StageId,
        number: usize,
        plan: ReplicaPlan,
        processor_indices: Consecutive<BoardProcessorIndex>,
    ) -> Self {
        Self {
            stream,
            stage,
            number,
            processor_indices,
            frame: None,
            begun: Nanoseconds::ZERO,
            begins_at: Nanoseconds::ZERO,
            served: Served::default(),
            epoch: 0,
            is_lost: false,
            has_taken_over: false,
            tasks_left: 0,
            started: vec![0; plan.orders.len()],
            execution: Execution::new(&plan),
            plan: Rc::new(plan),
        }
    }

    /// Takes a frame.
    pub(crate) fn begin(&mut self, frame: FrameId, now: Nanoseconds) {
        self.frame = Some(frame);
        self.begun = now;
        self.has_taken_over = false;
        self.tasks_left = self.plan.tasks.len();
        self.started.fill(0);
        self.execution.reset();
    }

    /// Gives out its frame if all tasks of it have ended. It is idle then.
    pub(crate) fn finish(&mut self, now: Nanoseconds) -> Option<ServedFrame> {
        let frame = self.frame.filter(|_| self.tasks_left == 0 && self.has_taken_over)?;
        self.frame = None;
        let time = now - self.begun;
        self.served.frames += 1;
        self.served.time += time;
        Some(ServedFrame { frame, time })
    }

    /// Mean time that it worked on a frame; `None` if it took none.
    pub(crate) fn mean_time(&self) -> Option<Nanoseconds> {
        self.served.time.0.checked_div(self.served.frames).map(Nanoseconds)
    }

    /// One of its processors among all of the board.
    pub(crate) fn processor_index(&self, processor: ProcessorId) -> BoardProcessorIndex {
        self.processor_indices.at(processor.index())
    }

    /// Its processors, as its plan numbers them.
    pub(crate) fn processors(&self) -> impl Iterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.processor_indices.len())
    }

    /// Whether its operators may run.
    pub(crate) fn is_at_work(&self) -> bool {
        self.frame.is_some() && self.has_taken_over && !self.is_lost
    }

    /// The task that a processor has to start next; `None` if it has started all.
    pub(crate) fn next_task(&self, processor: ProcessorId) -> Option<TaskId> {
        self.plan.orders[processor.index()].get(self.started[processor.index()]).copied()
    }

    /// A processor has started its next task.
    pub(crate) fn record_start(&mut self, processor: ProcessorId) {
        self.started[processor.index()] += 1;
    }

    /// One of its tasks has ended.
    pub(crate) fn record_end(&mut self) {
        self.tasks_left -= 1;
    }

    /// What a processor did for a frame.
    pub(crate) fn span(&self, processor: ProcessorId, frame: FrameId, ended: EndedTask) -> OperatorSpan {
        OperatorSpan {
            stage: self.stage,
            replica: self.number,
            processor: processor.index(),
            operator: self.plan.tasks[ended.task.index()].operator,
            frame: frame.index(),
            start: ended.start,
            end: ended.end,
        }
    }
}
