//! How tasks run on processors: the rules that evaluation, validation, energy, mapping, branch and bound, teams and the simulator
//! share.
//!
//! A processor runs its tasks in order, each as soon as the processor is free and the task's inputs have arrived (self-timed). A
//! value that another processor made arrives after a transfer, which all readers there share. A transfer that occupies its sender
//! follows the task that makes the value, to one processor after the other; one that occupies its receiver precedes the first task
//! there that reads the value, and several do so in the order in which their values were made. Any other goes on beside computation.
//!
//! What is kept for each task or each processor comes as a slice, in which the place of a [`TaskId`] or a [`ProcessorId`] is its number.

mod ids;
mod task_graph;

use millstream_cost::{BlockedEnd, Nanoseconds};

pub use ids::{DependencyId, OutputId, ProcessorId, TaskId};
pub use task_graph::{Deadlock, Dependency, TaskGraph, TransferCost, run_order};

/// When a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its start, after all that it waits for.
    pub start: Nanoseconds,
    /// Its end.
    pub end: Nanoseconds,
}

/// A transfer that occupied a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Which of the maker's values.
    pub value: OutputId,
    /// Where it went.
    pub to: ProcessorId,
    /// When it was there.
    pub at: Nanoseconds,
    /// How long the transfer took.
    pub time: Nanoseconds,
    /// The end that it occupied.
    pub blocks: BlockedEnd,
}

/// What has run so far, and when its values are where. [`Execution::run`] goes one task on; [`Execution::rollback`] takes tasks back.
#[derive(Debug, Clone)]
pub struct Execution {
    spans: Vec<Span>,
    /// The processor of each task that has run.
    homes: Vec<ProcessorId>,
    /// When each processor is done with its tasks and transfers.
    free: Vec<Nanoseconds>,
    /// How long each processor has worked and transferred.
    busy: Vec<Nanoseconds>,
    /// Transfers that occupied a processor, by the task that made the value.
    transfers: Vec<Vec<Transfer>>,
    steps: Vec<Step>,
    /// Makers of values that were fetched, step by step.
    fetched: Vec<TaskId>,
}

/// What to undo.
#[derive(Debug, Clone, Copy)]
struct Step {
    task: TaskId,
    free: Nanoseconds,
    busy: Nanoseconds,
    /// How many values had been fetched before it.
    fetched: usize,
}

/// A moment of an [`Execution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(usize);

/// Of tasks that have not run.
const NOWHERE: ProcessorId = ProcessorId::new(usize::MAX);

impl Execution {
    /// Nothing has run.
    pub fn new(graph: &impl TaskGraph) -> Self {
        Self {
            spans: vec![Span::default(); graph.task_count()],
            homes: vec![NOWHERE; graph.task_count()],
            free: vec![Nanoseconds::ZERO; graph.processor_count()],
            busy: vec![Nanoseconds::ZERO; graph.processor_count()],
            transfers: vec![Vec::new(); graph.task_count()],
            steps: Vec::with_capacity(graph.task_count()),
            fetched: Vec::new(),
        }
    }

    /// Forgets everything, and keeps the memory.
    pub fn reset(&mut self) {
        for step in self.steps.drain(..) {
            self.homes[step.task.index()] = NOWHERE;
            self.transfers[step.task.index()].clear();
        }
        self.fetched.clear();
        self.free.fill(Nanoseconds::ZERO);
        self.busy.fill(Nanoseconds::ZERO);
    }

    /// The moment to come back to.
    pub fn mark(&self) -> Mark {
        Mark(self.steps.len())
    }

    /// Takes back all tasks that were run after the mark, the last first.
    pub fn rollback(&mut self, mark: Mark) {
        while self.steps.len() > mark.0 {
            let Some(step) = self.steps.pop() else { return };
            let processor = self.homes[step.task.index()];
            for maker in self.fetched.drain(step.fetched..) {
                self.transfers[maker.index()].pop();
            }
            self.transfers[step.task.index()].clear();
            self.homes[step.task.index()] = NOWHERE;
            self.free[processor.index()] = step.free;
            self.busy[processor.index()] = step.busy;
        }
    }

    /// Runs a task whose inputs are made, and sends its values to all that will read them; `home` has every task's processor, each of
    /// which must be able to run its task.
    pub fn run(&mut self, graph: &impl TaskGraph, task: TaskId, home: &[ProcessorId]) -> Span {
        let processor = home[task.index()];
        let recipients = recipients(graph, task, processor, |reader| std::iter::once(home[reader.index()]));
        self.run_to(graph, task, processor, Nanoseconds::ZERO, &recipients).unwrap_or_default()
    }

    /// Runs a task on a processor, but not before some time, and sends its values to these recipients, in order. `None`, and
    /// nothing happens, as for [`Execution::earliest`].
    pub fn run_to(
        &mut self,
        graph: &impl TaskGraph,
        task: TaskId,
        processor: ProcessorId,
        not_before: Nanoseconds,
        recipients: &[Recipient],
    ) -> Option<Span> {
        let time = graph.time(task, processor)?;
        let (start, fetches) = self.arrival(graph, task, processor)?;
        let start = start.max(not_before);
        let step = Step {
            task,
            free: self.free[processor.index()],
            busy: self.busy[processor.index()],
            fetched: self.fetched.len(),
        };
        self.steps.push(step);

        for fetch in fetches {
            self.busy[processor.index()] += fetch.transfer.time;
            self.transfers[fetch.maker.index()].push(fetch.transfer);
            self.fetched.push(fetch.maker);
        }
        let span = Span { start, end: start + time };
        (self.spans[task.index()], self.homes[task.index()]) = (span, processor);
        self.busy[processor.index()] += time;

        let mut free = span.end;
        for &Recipient { value, to, time } in recipients {
            free += time;
            self.busy[processor.index()] += time;
            self.transfers[task.index()].push(Transfer { value, to, at: free, time, blocks: BlockedEnd::Sender });
        }
        self.free[processor.index()] = free;
        Some(span)
    }

    /// When a task whose inputs are made could start on a processor; `None` if it needs a value that should have been sent there.
    pub fn earliest(&self, graph: &impl TaskGraph, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        self.arrival(graph, task, processor).map(|(start, _)| start)
    }

    /// When a task could start, and what its processor fetches before; `None` as for [`Execution::earliest`].
    fn arrival(
        &self,
        graph: &impl TaskGraph,
        task: TaskId,
        processor: ProcessorId,
    ) -> Option<(Nanoseconds, Vec<Fetch>)> {
        let mut arrival = graph.release(task, processor);
        let mut fetches: Vec<Fetch> = Vec::new();
        for dependency in graph.inputs(task) {
            let Dependency { maker, value, .. } = dependency;
            let (from, made) = (self.homes[maker.index()], self.spans[maker.index()].end);
            if from == processor {
                arrival = arrival.max(made);
                continue;
            }

            let TransferCost { time, blocks } = graph.transfer(dependency, from, processor);
            let Some(blocks) = blocks else {
                arrival = arrival.max(made + time);
                continue;
            };
            match (self.arrived(maker, value, processor), blocks) {
                (Some(at), _) => arrival = arrival.max(at),
                (None, BlockedEnd::Sender) => return None,
                (None, BlockedEnd::Receiver) => {
                    let is_known = fetches.iter().any(|fetch| (fetch.maker, fetch.transfer.value) == (maker, value));
                    if !is_known {
                        let transfer = Transfer { value, to: processor, at: made, time, blocks };
                        fetches.push(Fetch { made, maker, transfer });
                    }
                }
            }
        }

        fetches.sort_unstable_by_key(|fetch| (fetch.made, fetch.maker, fetch.transfer.value));
        let mut begin = self.free[processor.index()];
        for fetch in &mut fetches {
            begin = begin.max(fetch.made) + fetch.transfer.time;
            fetch.transfer.at = begin;
        }
        Some((begin.max(arrival), fetches))
    }

    /// When a value is on another processor, as far as one of the two has seen to it.
    fn arrived(&self, maker: TaskId, value: OutputId, to: ProcessorId) -> Option<Nanoseconds> {
        let mut transfers = self.transfers[maker.index()].iter();
        transfers.find(|transfer| transfer.value == value && transfer.to == to).map(|transfer| transfer.at)
    }

    /// When a task that has run did.
    pub fn span(&self, task: TaskId) -> Span {
        self.spans[task.index()]
    }

    /// The processor of a task that has run.
    pub fn home(&self, task: TaskId) -> Option<ProcessorId> {
        self.homes.get(task.index()).copied().filter(|&home| home != NOWHERE)
    }

    /// When each processor is done with its tasks and transfers.
    pub fn free(&self) -> &[Nanoseconds] {
        &self.free
    }

    /// How long each processor has worked, transfers that occupied it included.
    pub fn busy(&self) -> &[Nanoseconds] {
        &self.busy
    }

    /// The transfers of a task's values that occupied a processor: first those that its own processor made, in that order.
    pub fn transfers(&self, maker: TaskId) -> &[Transfer] {
        &self.transfers[maker.index()]
    }

    /// When the last task that has run ended.
    pub fn makespan(&self) -> Nanoseconds {
        self.steps.iter().map(|step| self.spans[step.task.index()].end).max().unwrap_or_default()
    }
}

/// A value that a processor fetches.
#[derive(Debug, Clone, Copy)]
struct Fetch {
    made: Nanoseconds,
    maker: TaskId,
    transfer: Transfer,
}

/// A processor that a value is sent to, by a transfer that occupies the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient {
    /// Which of the task's values.
    pub value: OutputId,
    /// The processor.
    pub to: ProcessorId,
    /// What the transfer takes.
    pub time: Nanoseconds,
}

/// Where a task's values are sent from a processor by transfers that occupy it, in the order in which that happens: value by value,
/// processor by processor. `places` tells on which processors a reader is, or could be.
pub fn recipients<I: Iterator<Item = ProcessorId>>(
    graph: &impl TaskGraph,
    task: TaskId,
    from: ProcessorId,
    places: impl Fn(TaskId) -> I,
) -> Vec<Recipient> {
    let mut recipients = Vec::new();
    for dependency in graph.readers(task) {
        for to in places(dependency.reader).filter(|&to| to != from) {
            if let TransferCost { time, blocks: Some(BlockedEnd::Sender) } = graph.transfer(dependency, from, to) {
                recipients.push(Recipient { value: dependency.value, to, time });
            }
        }
    }
    recipients.sort_unstable();
    recipients.dedup_by_key(|recipient| (recipient.value, recipient.to));
    recipients
}
