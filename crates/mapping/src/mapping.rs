use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, ProcessorId, TaskId, run_order};

use crate::{MappingError, MappingProblem};

/// Why a mapper stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is shorter: the makespan equals the lower bound.
    Optimal,
    /// The gap is as small as was asked for.
    GapReached,
    /// It has taken all steps that it was allowed, or there is nothing left that it could try.
    StepLimit,
    /// The caller asked to stop.
    Cancelled,
    /// It is a heuristic, and has made its one mapping.
    Heuristic,
}

/// Where and in which order nodes run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Processor of each node.
    pub placement: Vec<ProcessorId>,
    /// Nodes of each processor, in the order in which it runs them.
    pub order: Vec<Vec<TaskId>>,
    /// Time until everything is done, under the execution rules: processors start an operator as soon as its inputs are there, and transfers
    /// run beside computation, but for ends of them that occupy a processor.
    pub makespan: Nanoseconds,
    /// No mapping is shorter than this.
    pub lower_bound: Nanoseconds,
    /// Why the mapper stopped.
    pub outcome: Outcome,
    /// Steps that it took.
    pub steps: u64,
}

/// The processor of each of so many nodes, from the nodes of each processor.
pub(crate) fn placement_of(node_count: usize, order: &[Vec<TaskId>]) -> Vec<ProcessorId> {
    let mut placement = vec![ProcessorId::new(0); node_count];
    for (processor, nodes) in ProcessorId::all(order.len()).zip(order) {
        nodes.iter().for_each(|node| placement[node.index()] = processor);
    }
    placement
}

impl Mapping {
    /// The processor of a node.
    pub fn processor_of(&self, node: TaskId) -> ProcessorId {
        self.placement[node.index()]
    }

    /// How much longer this may be than the best, relative to the lower bound.
    pub fn gap(&self) -> f64 {
        self.makespan.0.saturating_sub(self.lower_bound.0) as f64 / self.lower_bound.0.max(1) as f64
    }
}

/// About how many steps a core goes in a second.
pub const STEPS_PER_SECOND: u64 = 10_000_000;

/// When a mapper should stop.
#[derive(Debug, Clone, Copy)]
pub struct MapperLimits<'a> {
    /// Steps for one problem. A step is about what starting one node takes; it is counted, not measured, so that the result is the same on
    /// every machine, however busy. There are some [`STEPS_PER_SECOND`].
    pub steps: u64,
    /// Wall-clock time for the published integer programs, where they are asked for by themselves: their solver knows no steps. Nothing
    /// else looks at the clock.
    pub program_time: Duration,
    /// A relative gap that is small enough.
    pub gap: f64,
    /// A gap that is small enough whatever the makespan: shorter than what anybody can measure.
    pub slack: Nanoseconds,
    /// Set by the caller to stop early.
    pub cancelled: Option<&'a AtomicBool>,
}

impl Default for MapperLimits<'_> {
    fn default() -> Self {
        Self {
            steps: 10 * STEPS_PER_SECOND,
            program_time: Duration::from_secs(10),
            gap: 0.0,
            slack: Nanoseconds::ZERO,
            cancelled: None,
        }
    }
}

/// A [`MapperLimits`] that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Budget<'a> {
    limits: MapperLimits<'a>,
    spent: Cell<u64>,
}

impl<'a> Budget<'a> {
    pub(crate) fn start(limits: &MapperLimits<'a>) -> Self {
        Self { limits: *limits, spent: Cell::new(0) }
    }

    /// Steps that were taken.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.limits.steps.saturating_sub(self.spent.get())
    }

    pub(crate) fn spend(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// A budget of so many of the steps that are left; what is taken of it has to be spent here as well.
    pub(crate) fn part(&self, steps: u64) -> Self {
        Self::start(&MapperLimits { steps: steps.min(self.left()), ..self.limits })
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.limits.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }

    /// Why to stop now, if there is a reason.
    pub(crate) fn reason(&self, makespan: u64, lower_bound: u64) -> Option<Outcome> {
        if makespan <= lower_bound {
            Some(Outcome::Optimal)
        } else if (makespan - lower_bound) as f64 <= self.limits.gap * lower_bound as f64
            || makespan - lower_bound <= self.limits.slack.0
        {
            Some(Outcome::GapReached)
        } else if self.is_cancelled() {
            Some(Outcome::Cancelled)
        } else if self.left() == 0 {
            Some(Outcome::StepLimit)
        } else {
            None
        }
    }
}

/// An algorithm that gives every operator of a subgraph a processor and a place in its order.
pub trait Mapper {
    /// Its name, with its source.
    fn name(&self) -> &'static str;

    /// Maps a problem.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if the mapper's kind of mapping can't run a node, [`MappingError::Solver`] if a solver
    /// fails.
    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError>;
}

impl MappingProblem {
    /// What happens when processors run the nodes in given orders, by the rules of [`millstream_schedule::execution`]. `None` if a node
    /// would wait for one that runs after it, is nowhere, or can't run where it is.
    pub fn execute(&self, order: &[Vec<TaskId>]) -> Option<Execution> {
        let mut home: Vec<Option<ProcessorId>> = vec![None; self.len()];
        for (processor, nodes) in ProcessorId::all(order.len()).zip(order) {
            for &node in nodes {
                self.time(node, processor)?;
                home[node.index()] = Some(processor);
            }
        }
        let home: Vec<ProcessorId> = home.into_iter().collect::<Option<_>>()?;
        let makers = |node: TaskId| self.incoming(node).map(|edge| edge.from);
        let run_order = run_order(self.len(), order, makers).ok()?;
        let mut execution = Execution::new(self);
        for node in run_order {
            execution.run(self, node, &home);
        }
        Some(execution)
    }

    /// The time until everything is done; `None` as for [`MappingProblem::execute`].
    pub fn makespan(&self, order: &[Vec<TaskId>]) -> Option<Nanoseconds> {
        Some(self.execute(order)?.makespan())
    }
}
