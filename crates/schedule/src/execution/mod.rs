//! How tasks run on processors: the rules by which every number that is promised comes about. Evaluation, energy,
//! mapping, branch and bound, teams and the simulator go through them; validation asks for an order in which tasks can
//! run.
//!
//! A processor runs its tasks in order, each as soon as the processor is free and the task's inputs have arrived
//! (self-timed). A value that another processor made arrives after a transfer, which all readers there share. A
//! transfer that occupies its sender follows the task that makes the value, to one processor after the other; one that
//! occupies its receiver precedes the first task there that reads the value, and several do so in the order in which
//! their values were made. Any other goes on beside computation.
//!
//! What is kept for each task or each processor comes as a slice, in which the place of a [`TaskId`] or a
//! [`ProcessorId`] is its number.

mod ids;
mod task_graph;
mod transfers;

use millstream_cost::{BlockedEnd, Nanoseconds};

pub use ids::{DependencyId, OutputId, ProcessorId, TaskId};
pub use task_graph::{Deadlock, Dependency, TaskGraph, TransferCost, run_order};
pub use transfers::{Fetch, Recipient, Transfer, recipients};

/// When a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its start, after all that it waits for.
    pub start: Nanoseconds,
    /// Its end.
    pub end: Nanoseconds,
}

/// What has run so far, and when its values are where.
///
/// Its steps are two: a processor has [fetched](Execution::record_fetch) a value, or has [ended](Execution::record_end)
/// a task and sends what that made. [`Execution::next`] tells which of them a processor is to do next. Whoever knows
/// how long all takes goes a task at a time, with [`Execution::run`]; a simulator, in which times depend on what else
/// happens, makes the same steps when they happen. [`Execution::rollback`] takes steps back.
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
}

/// What to undo.
#[derive(Debug, Clone, Copy)]
struct Step {
    done: Done,
    processor: ProcessorId,
    /// When the processor was free before.
    free: Nanoseconds,
    /// How long it had been busy before.
    busy: Nanoseconds,
}

/// What a processor has done.
#[derive(Debug, Clone, Copy)]
enum Done {
    Task(TaskId),
    /// It has fetched the last of this task's transfers.
    FetchFrom(TaskId),
}

/// The next step of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It fetches a value.
    Fetch(Fetch),
    /// It runs the task, whose inputs are all there at this time.
    Run(Nanoseconds),
    /// It waits until another task has ended.
    Wait,
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
        }
    }

    /// Forgets everything, and keeps the memory.
    pub fn reset(&mut self) {
        for step in self.steps.drain(..) {
            if let Done::Task(task) = step.done {
                self.homes[task.index()] = NOWHERE;
                self.transfers[task.index()].clear();
            }
        }
        self.free.fill(Nanoseconds::ZERO);
        self.busy.fill(Nanoseconds::ZERO);
    }

    /// The moment to come back to.
    pub fn mark(&self) -> Mark {
        Mark(self.steps.len())
    }

    /// Takes back all that was done after the mark, the last first.
    pub fn rollback(&mut self, mark: Mark) {
        while self.steps.len() > mark.0 {
            let Some(step) = self.steps.pop() else { return };
            match step.done {
                Done::Task(task) => {
                    self.transfers[task.index()].clear();
                    self.homes[task.index()] = NOWHERE;
                }
                Done::FetchFrom(maker) => {
                    self.transfers[maker.index()].pop();
                }
            }
            self.free[step.processor.index()] = step.free;
            self.busy[step.processor.index()] = step.busy;
        }
    }

    /// Runs a task whose inputs are made, and sends its values to all that will read them; `home` has every task's
    /// processor, each of which must be able to run its task. Otherwise nothing happens.
    pub fn run(&mut self, graph: &impl TaskGraph, task: TaskId, home: &[ProcessorId]) -> Span {
        let processor = home[task.index()];
        let recipients = recipients(graph, task, processor, |reader| std::iter::once(home[reader.index()]));
        let span = self.run_to(graph, task, processor, Nanoseconds::ZERO, &recipients);
        debug_assert!(span.is_some(), "{task:?} can't run on {processor:?} yet, or at all");
        span.unwrap_or_default()
    }

    /// Runs a task on a processor, but not before some time, and sends its values to these recipients, in order.
    /// `None`, and nothing happens, as for [`Execution::earliest`].
    pub fn run_to(
        &mut self,
        graph: &impl TaskGraph,
        task: TaskId,
        processor: ProcessorId,
        not_before: Nanoseconds,
        recipients: &[Recipient],
    ) -> Option<Span> {
        let time = graph.time(task, processor)?;
        let Needs { arrival, fetches } = self.needs(graph, task, processor);
        let arrival = arrival?;
        for fetch in fetches {
            self.record_fetch(fetch, processor, fetch.end(self.free[processor.index()]));
        }

        let start = self.free[processor.index()].max(arrival).max(not_before);
        let span = Span { start, end: start + time };
        self.record_end(task, processor, span, recipients);
        Some(span)
    }

    /// What a processor whose next task is this one is to do, as far as what has been done by now tells. Values are
    /// fetched in the order in which they were made, while others are still being made.
    pub fn next(&self, graph: &impl TaskGraph, task: TaskId, processor: ProcessorId) -> Next {
        let Needs { arrival, fetches } = self.needs(graph, task, processor);
        match (fetches.first(), arrival) {
            (Some(&fetch), _) => Next::Fetch(fetch),
            (None, Some(arrival)) => Next::Run(arrival),
            (None, None) => Next::Wait,
        }
    }

    /// A processor has fetched a value at this time.
    pub fn record_fetch(&mut self, fetch: Fetch, processor: ProcessorId, at: Nanoseconds) {
        let Fetch { maker, value, time, .. } = fetch;
        let transfer = Transfer { value, to: processor, at, time, blocks: BlockedEnd::Receiver };
        self.transfers[maker.index()].push(transfer);
        self.step(Done::FetchFrom(maker), processor, at, time);
    }

    /// A processor has run a task, and sends its values to these recipients, one after the other.
    pub fn record_end(&mut self, task: TaskId, processor: ProcessorId, span: Span, recipients: &[Recipient]) {
        (self.spans[task.index()], self.homes[task.index()]) = (span, processor);
        let mut free = span.end;
        for &Recipient { value, to, time } in recipients {
            free += time;
            self.transfers[task.index()].push(Transfer { value, to, at: free, time, blocks: BlockedEnd::Sender });
        }
        self.step(Done::Task(task), processor, free, free - span.start);
    }

    /// Notes what a processor has done, until when, and how long it was busy with it.
    fn step(&mut self, done: Done, processor: ProcessorId, until: Nanoseconds, time: Nanoseconds) {
        let (free, busy) = (&mut self.free[processor.index()], &mut self.busy[processor.index()]);
        self.steps.push(Step { done, processor, free: *free, busy: *busy });
        *free = until;
        *busy += time;
    }

    /// When a task could start on a processor; `None` if a task has not run whose value it needs, or has not sent it
    /// there.
    pub fn earliest(&self, graph: &impl TaskGraph, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        let Needs { arrival, fetches } = self.needs(graph, task, processor);
        let free = fetches.iter().fold(self.free[processor.index()], |free, fetch| fetch.end(free));
        arrival.map(|arrival| arrival.max(free))
    }

    /// What a task waits for on a processor.
    fn needs(&self, graph: &impl TaskGraph, task: TaskId, processor: ProcessorId) -> Needs {
        let mut arrival = Some(graph.release(task, processor));
        let mut fetches: Vec<Fetch> = Vec::new();
        for dependency in graph.inputs(task) {
            let Dependency { maker, value, .. } = dependency;
            let (from, made) = (self.homes[maker.index()], self.spans[maker.index()].end);
            let at = if from == NOWHERE {
                None
            } else if from == processor {
                Some(made)
            } else {
                let TransferCost { time, blocks } = graph.transfer(dependency, from, processor);
                let arrived = || self.arrived(maker, value, processor);
                match blocks {
                    None => Some(made + time),
                    Some(BlockedEnd::Sender) => arrived(),
                    Some(BlockedEnd::Receiver) => arrived().or_else(|| {
                        let is_known = fetches.iter().any(|fetch| (fetch.maker, fetch.value) == (maker, value));
                        if !is_known {
                            fetches.push(Fetch { made, maker, value, time });
                        }
                        Some(made)
                    }),
                }
            };
            arrival = arrival.zip(at).map(|(arrival, at)| arrival.max(at));
        }

        fetches.sort_unstable_by_key(|fetch| (fetch.made, fetch.maker, fetch.value));
        Needs { arrival, fetches }
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

    /// The transfers of a task's values that occupied a processor: first those that its own processor made, in that
    /// order.
    pub fn transfers(&self, maker: TaskId) -> &[Transfer] {
        &self.transfers[maker.index()]
    }

    /// When the last task that has run ended.
    pub fn makespan(&self) -> Nanoseconds {
        let end = |step: &Step| match step.done {
            Done::Task(task) => Some(self.spans[task.index()].end),
            Done::FetchFrom(_) => None,
        };
        self.steps.iter().filter_map(end).max().unwrap_or_default()
    }
}

/// What a task waits for on a processor.
struct Needs {
    /// When all values that need no fetching have arrived; `None` if it is not known yet.
    arrival: Option<Nanoseconds>,
    /// What the processor fetches before, in order.
    fetches: Vec<Fetch>,
}
