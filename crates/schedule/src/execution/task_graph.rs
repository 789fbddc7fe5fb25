//! What execution asks of a task graph, and orders in which tasks can run.

use millstream_cost::{BlockedEnd, Nanoseconds};

use super::{DependencyId, OutputId, ProcessorId, TaskId};

/// A task reads a value that another task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// The task that makes the value.
    pub maker: TaskId,
    /// The task that reads it.
    pub reader: TaskId,
    /// Which of the maker's values it is.
    pub value: OutputId,
    /// What the task graph finds the dependency by.
    pub id: DependencyId,
}

/// The time of moving a value from one processor to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransferCost {
    /// Time until it is there.
    pub time: Nanoseconds,
    /// The end that is occupied for so long.
    pub blocks: Option<BlockedEnd>,
}

/// Tasks with their times on processors, and what moving their values takes.
pub trait TaskGraph {
    /// Number of tasks.
    fn task_count(&self) -> usize;

    /// Number of processors.
    fn processor_count(&self) -> usize;

    /// Time of a task; `None` if the processor can't run it.
    fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds>;

    /// When what a task reads from outside has arrived on a processor.
    fn release(&self, _task: TaskId, _processor: ProcessorId) -> Nanoseconds {
        Nanoseconds::ZERO
    }

    /// What a task reads.
    fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency>;

    /// What reads a task's values.
    fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency>;

    /// What moving a dependency's value takes, between two different processors.
    fn transfer(&self, dependency: Dependency, from: ProcessorId, to: ProcessorId) -> TransferCost;
}

/// A task that can never start, and the one that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// The task.
    pub task: TaskId,
    /// The task that it waits for.
    pub needs: TaskId,
}

/// An order in which all of so many tasks can run when each processor runs its own in the given order; `makers` tells
/// what a task waits for.
///
/// # Errors
/// [`Deadlock`] if a task waits for one that runs after it.
pub fn run_order<I: Iterator<Item = TaskId>>(
    task_count: usize,
    tracks: &[Vec<TaskId>],
    makers: impl Fn(TaskId) -> I,
) -> Result<Vec<TaskId>, Deadlock> {
    let mut order = Vec::with_capacity(task_count);
    let mut is_done = vec![false; task_count];
    let mut next = vec![0; tracks.len()];
    let missing = |task: TaskId, is_done: &[bool]| makers(task).find(|&maker| !is_done[maker.index()]);

    loop {
        let before = order.len();
        for (track, next) in tracks.iter().zip(&mut next) {
            while let Some(&task) = track.get(*next)
                && missing(task, &is_done).is_none()
            {
                is_done[task.index()] = true;
                order.push(task);
                *next += 1;
            }
        }
        if order.len() == before {
            break;
        }
    }

    let stuck = tracks.iter().zip(next).find_map(|(track, next)| {
        let &task = track.get(next)?;
        Some(Deadlock { task, needs: missing(task, &is_done)? })
    });
    stuck.map_or(Ok(order), Err)
}
