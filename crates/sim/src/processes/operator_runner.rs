//! The process that runs operators: each starts when its processor and its inputs are there.

use std::rc::Rc;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Next, ProcessorId, Span, TaskId};

use crate::replica_plan::TaskPlan;
use crate::state::board::BoardState;
use crate::state::events::{EventQueue, ReplicaStep};
use crate::state::ids::{BoardProcessorIndex, ReplicaIndex};
use crate::state::noise::Noise;
use crate::state::processor::{Progress, StartedTask};
use crate::state::replica::EndedTask;

/// What the process changes.
pub(crate) struct OperatorRunner<'s> {
    pub(crate) queue: &'s mut EventQueue,
    pub(crate) board: &'s mut BoardState,
    pub(crate) noise: &'s mut Noise,
}

impl OperatorRunner<'_> {
    /// A replica has taken its frame over: its operators may start.
    pub(crate) fn frame_taken_over(&mut self, replica_index: ReplicaIndex) {
        self.board.replicas[replica_index].has_taken_over = true;
        for processor in self.board.replicas[replica_index].processors() {
            self.start_next(replica_index, processor);
        }
    }

    /// Lets a processor of a replica do what is next, if it can.
    pub(crate) fn start_next(&mut self, replica_index: ReplicaIndex, processor: ProcessorId) {
        let replica = &self.board.replicas[replica_index];
        let processor_index = replica.processor_index(processor);
        if !replica.is_at_work() || self.board.processors[processor_index].is_busy {
            return;
        }
        let Some(task) = replica.next_task(processor) else { return };
        let now = self.queue.now();
        match replica.execution.next(&*replica.plan, task, processor) {
            Next::Wait => {}
            Next::Run(at) if at > now => {
                self.schedule(at - now, replica_index, ReplicaStep::InputsArrived(processor));
            }
            Next::Fetch(_) | Next::Run(_) if !self.gets_cores(processor_index) => {}
            Next::Fetch(fetch) => {
                self.board.processors[processor_index].is_busy = true;
                self.board.processors[processor_index].fetch = Some(fetch);
                self.board.record_work(processor_index, fetch.time);
                self.schedule(fetch.time, replica_index, ReplicaStep::Fetched(processor));
            }
            Next::Run(_) => self.start(replica_index, processor, task),
        }
    }

    /// Schedules a step of a replica some time from now.
    fn schedule(&mut self, delay: Nanoseconds, replica_index: ReplicaIndex, step: ReplicaStep) {
        self.queue.after(delay, self.board.event(replica_index, step));
    }

    /// Whether a processor with something to do has its cores now. If not, it waits for them, and whoever begins to
    /// wait later comes after it: otherwise one that needs several cores could wait for ever where others always take
    /// one of them.
    fn gets_cores(&mut self, processor_index: BoardProcessorIndex) -> bool {
        let processors = &mut self.board.processors;
        let since = processors[processor_index].waits_since.unwrap_or(self.queue.now());
        let comes_before = |&rival: &BoardProcessorIndex| {
            let waits_since = processors[rival].waits_since;
            processors[rival].is_busy
                || waits_since.is_some_and(|of_rival| (of_rival, rival) < (since, processor_index))
        };
        let has_to_wait = processors[processor_index].rivals.iter().any(comes_before);
        processors[processor_index].waits_since = has_to_wait.then_some(since);
        !has_to_wait
    }

    /// Starts a processor's next task.
    fn start(&mut self, replica_index: ReplicaIndex, processor: ProcessorId, task: TaskId) {
        let replica = &mut self.board.replicas[replica_index];
        replica.record_start(processor);
        let (processor_index, plan) = (replica.processor_index(processor), Rc::clone(&replica.plan));
        let TaskPlan { time, bytes, .. } = &plan.tasks[task.index()];
        let (time, now) = (self.noise.on(*time), self.queue.now());
        let state = &mut self.board.processors[processor_index];
        state.is_busy = true;
        state.task = Some(StartedTask { task, start: now });
        let version = state.version;

        if self.board.has_changing_speeds() {
            let wanted = *bytes as f64 / (time.0 as f64).max(1.0);
            self.board.add_running(processor_index, Progress { since: now, left: time.0 as f64, rate: 0.0, wanted });
            return;
        }
        self.board.record_work(processor_index, time);
        self.schedule(time, replica_index, ReplicaStep::TaskEnded { processor, version });
    }

    /// A processor has a value that it fetched.
    pub(crate) fn fetched(&mut self, replica_index: ReplicaIndex, processor: ProcessorId) {
        let replica = &mut self.board.replicas[replica_index];
        if let Some(fetch) = self.board.processors[replica.processor_index(processor)].fetch.take() {
            replica.execution.record_fetch(fetch, processor, self.queue.now());
        }
        self.release(replica_index, processor);
    }

    /// A processor has ended its task, and sends what others read of it. `None` if this end is void, because its speed
    /// has changed since.
    pub(crate) fn end(
        &mut self,
        replica_index: ReplicaIndex,
        processor: ProcessorId,
        version: u32,
    ) -> Option<EndedTask> {
        let (now, processor_index) = (self.queue.now(), self.board.replicas[replica_index].processor_index(processor));
        if self.board.processors[processor_index].version != version {
            return None;
        }
        if self.board.has_changing_speeds() {
            self.board.remove_running(processor_index, now);
        }

        let StartedTask { task, start } = self.board.processors[processor_index].task?;
        let replica = &mut self.board.replicas[replica_index];
        let plan = Rc::clone(&replica.plan);
        let TaskPlan { recipients, read_on, .. } = &plan.tasks[task.index()];
        replica.record_end();
        let span = Span { start, end: now };
        replica.execution.record_end(task, processor, span, recipients);
        let sends_until = replica.execution.free()[processor.index()];

        for &reader in read_on {
            self.start_next(replica_index, reader);
        }
        match sends_until - now {
            Nanoseconds::ZERO => self.release(replica_index, processor),
            sending => {
                self.board.record_work(processor_index, sending);
                self.schedule(sending, replica_index, ReplicaStep::Sent(processor));
            }
        }
        Some(EndedTask { task, start, end: now })
    }

    /// A processor is free again: first for other replicas that need its cores.
    pub(crate) fn release(&mut self, replica_index: ReplicaIndex, processor: ProcessorId) {
        let processor_index = self.board.replicas[replica_index].processor_index(processor);
        self.board.processors[processor_index].is_busy = false;
        self.wake_rivals(processor_index);
        self.start_next(replica_index, processor);
    }

    /// Lets others that need a processor's cores start.
    pub(crate) fn wake_rivals(&mut self, processor_index: BoardProcessorIndex) {
        for index in 0..self.board.processors[processor_index].rivals.len() {
            let rival = &self.board.processors[self.board.processors[processor_index].rivals[index]];
            self.start_next(rival.replica_index, rival.number);
        }
    }
}
