use millstream_cost::{BlockedEnd, Nanoseconds};

/// A task reads a value that another task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// The task that makes the value.
    pub maker: usize,
    /// The task that reads it.
    pub reader: usize,
    /// Which of the maker's values it is, counted from 0.
    pub value: usize,
    /// What the task graph knows the dependency by.
    pub index: usize,
}

/// What moving a value from one processor to another takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransferCost {
    /// Time until it is there.
    pub time: Nanoseconds,
    /// The end that is occupied for so long.
    pub blocks: Option<BlockedEnd>,
}

/// Tasks with their times on processors, and what moving their values takes. Tasks and processors are counted from 0.
pub trait TaskGraph {
    /// Number of tasks.
    fn tasks(&self) -> usize;

    /// Number of processors.
    fn processors(&self) -> usize;

    /// Time of a task; `None` if the processor can't run it.
    fn time(&self, task: usize, processor: usize) -> Option<Nanoseconds>;

    /// When what a task reads from outside has arrived on a processor.
    fn release(&self, _task: usize, _processor: usize) -> Nanoseconds {
        Nanoseconds::ZERO
    }

    /// What a task reads.
    fn inputs(&self, task: usize) -> impl Iterator<Item = Dependency>;

    /// What reads a task's values.
    fn readers(&self, task: usize) -> impl Iterator<Item = Dependency>;

    /// What moving a dependency's value takes, between two different processors.
    fn transfer(&self, dependency: Dependency, from: usize, to: usize) -> TransferCost;
}

/// A task that can never start, and the one that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// The task.
    pub task: usize,
    /// The task that it waits for.
    pub needs: usize,
}

/// An order in which all of so many tasks can run when each processor runs its own in the given order; `makers` tells what a task
/// waits for.
///
/// # Errors
/// [`Deadlock`] if a task waits for one that runs after it.
pub fn run_order<I: Iterator<Item = usize>>(
    tasks: usize,
    tracks: &[Vec<usize>],
    makers: impl Fn(usize) -> I,
) -> Result<Vec<usize>, Deadlock> {
    let mut order = Vec::with_capacity(tasks);
    let mut is_done = vec![false; tasks];
    let mut next = vec![0; tracks.len()];
    let missing = |task: usize, is_done: &[bool]| makers(task).find(|&maker| !is_done[maker]);
    loop {
        let before = order.len();
        for (track, next) in tracks.iter().zip(&mut next) {
            while let Some(&task) = track.get(*next)
                && missing(task, &is_done).is_none()
            {
                is_done[task] = true;
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
