//! Simulated annealing over placements and priorities.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, ProcessorId, TaskId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::mapper::budget::Budget;
use crate::mapper::mapping::placement_of;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::problem::node_range::NodeRange;
use crate::published::lists::Ranks;
use crate::search::incumbent::{AnnealingSettings, Incumbent};
use crate::search::tabu;

/// Temperatures of annealing, usually the first and always the last: the part of the first makespan that a move may
/// lose.
pub(crate) const FIRST_TEMPERATURE: f64 = 0.01;
const LAST_TEMPERATURE: f64 = 0.000_1;
/// Moves for each node of a search that takes its time.
pub(crate) const MOVES_PER_NODE: usize = 6000;
/// How many of the moves change what the makespan depends on, where only orders can be changed. Where nodes can go
/// elsewhere, moves anywhere find better mappings.
const CRITICAL: f64 = 0.5;
/// Between two looks at what is left.
const MOVES_PER_LOOK: usize = 256;

/// A solution as the search sees it: lists are scheduled by priority, every node on its processor.
struct State<'a> {
    problem: &'a MappingProblem,
    placement: Vec<ProcessorId>,
    priority: Vec<f64>,
    // Kept from move to move, so that nothing is allocated.
    waiting: Vec<usize>,
    ready: Vec<TaskId>,
    execution: Execution,
    /// The last node of each processor so far, and for each node the one before it on its processor.
    last: Vec<Option<TaskId>>,
    before: Vec<Option<TaskId>>,
    /// On a chain of nodes that wait for each other, up to the one that ends last: those that wait for their processor,
    /// after the one that it does before. Of the last accepted state.
    critical: Vec<(TaskId, TaskId)>,
}

impl<'a> State<'a> {
    fn new(problem: &'a MappingProblem, start: &[Vec<TaskId>]) -> Self {
        let placement = placement_of(problem.len(), start);
        // The start's own order, as far as lists by priority can express it.
        let priority = match problem.execute(start) {
            Some(execution) => problem.nodes().map(|node| -(execution.span(node).start.0 as f64)).collect(),
            None => Ranks::new(problem).up,
        };
        Self {
            problem,
            placement,
            priority,
            waiting: Vec::with_capacity(problem.len()),
            ready: Vec::with_capacity(problem.len()),
            execution: Execution::new(problem),
            last: vec![None; problem.processor_count()],
            before: vec![None; problem.len()],
            critical: Vec::new(),
        }
    }

    /// Finds what the makespan depends on, as long as nothing else has been evaluated since.
    fn find_critical(&mut self, nodes: NodeRange) {
        let Self { problem, execution, .. } = self;
        self.critical.clear();
        let mut next = problem.nodes().max_by_key(|&node| (execution.span(node).end, node));
        while let Some(node) = next {
            let start = execution.span(node).start;
            let end = |other: TaskId| execution.span(other).end;
            let processor = self.placement[node.index()];
            let arrival = |edge: &Edge| end(edge.from) + edge.transfer(self.placement[edge.from.index()], processor);
            let maker = problem.incoming(node).find(|&edge| arrival(edge) == start).map(|edge| edge.from);
            // Where transfers occupy the processor, it may be busy after the node before.
            let before = self.before[node.index()].filter(|&before| end(before) == start || maker.is_none());
            let is_movable = |&before: &TaskId| nodes.contains(node) && nodes.contains(before);
            self.critical.extend(before.filter(is_movable).map(|before| (before, node)));
            next = before.or(maker);
        }
    }

    /// The makespan; nodes are passed to `visit` in the order in which they are scheduled.
    fn evaluate(&mut self, mut visit: impl FnMut(TaskId, ProcessorId)) -> Nanoseconds {
        let problem = self.problem;
        self.waiting.clear();
        self.waiting.extend(problem.nodes().map(|node| problem.incoming(node).len()));
        self.ready.clear();
        self.ready.extend(problem.nodes().filter(|node| self.waiting[node.index()] == 0));
        self.execution.reset();
        self.last.fill(None);
        let mut makespan = Nanoseconds::ZERO;
        while let Some(index) = (0..self.ready.len()).max_by(|&left, &right| {
            let (left, right) = (self.ready[left], self.ready[right]);
            self.priority[left.index()].total_cmp(&self.priority[right.index()]).then(right.cmp(&left))
        }) {
            let node = self.ready.swap_remove(index);
            let processor = self.placement[node.index()];
            makespan = makespan.max(self.execution.run(problem, node, &self.placement).end);
            self.before[node.index()] = self.last[processor.index()].replace(node);
            visit(node, processor);
            for edge in problem.outgoing(node) {
                self.waiting[edge.to.index()] -= 1;
                if self.waiting[edge.to.index()] == 0 {
                    self.ready.push(edge.to);
                }
            }
        }
        makespan
    }

    fn order(&mut self) -> Vec<Vec<TaskId>> {
        let mut order = vec![Vec::new(); self.problem.processor_count()];
        self.evaluate(|node, processor| order[processor.index()].push(node));
        order
    }

    fn priority(&self, node: TaskId) -> f64 {
        self.priority[node.index()]
    }

    /// Puts a node elsewhere; returns where it was.
    fn put(&mut self, node: TaskId, processor: ProcessorId) -> ProcessorId {
        std::mem::replace(&mut self.placement[node.index()], processor)
    }

    /// Gives a node another priority; returns the one that it had.
    fn prioritise(&mut self, node: TaskId, priority: f64) -> f64 {
        std::mem::replace(&mut self.priority[node.index()], priority)
    }

    /// Exchanges the priorities of two nodes.
    fn swap(&mut self, left: TaskId, right: TaskId) -> Undo {
        self.priority.swap(left.index(), right.index());
        Undo::Swap(left, right)
    }

    fn take_back(&mut self, undo: Undo) {
        match undo {
            Undo::Placement(old) => old.into_iter().for_each(|(node, processor)| {
                self.put(node, processor);
            }),
            Undo::Priority(node, old) => {
                self.prioritise(node, old);
            }
            Undo::Swap(left, right) => {
                self.swap(left, right);
            }
        }
    }
}

/// What a move changed, so that it can be taken back.
enum Undo {
    Placement(Vec<(TaskId, ProcessorId)>),
    Priority(TaskId, f64),
    Swap(TaskId, TaskId),
}

/// Improves on `start` until all moves are made, the lower bound is reached or the budget says stop.
pub(crate) fn improve(
    problem: &MappingProblem,
    start: &Incumbent,
    lower_bound: Nanoseconds,
    settings: &AnnealingSettings,
    budget: &Budget<'_>,
) -> Incumbent {
    let AnnealingSettings { moves, seed, nodes, first_temperature } = *settings;
    let mut best = start.clone();
    let movable: Vec<TaskId> = nodes.nodes().filter(|&node| problem.supporting(node).count() > 1).collect();

    if nodes.len() < 2 || movable.is_empty() && problem.edges().is_empty() {
        return best;
    }
    if movable.is_empty() && tabu::suits(problem) {
        return tabu::improve_order(problem, start, lower_bound, settings, budget);
    }

    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut state = State::new(problem, &start.order);
    let mut current = state.evaluate(|_, _| {});
    if movable.is_empty() {
        state.find_critical(nodes);
    }

    let scale = start.makespan.0.max(1) as f64;
    for step in 0..moves {
        if step % MOVES_PER_LOOK == 0 {
            if budget.reason(best.makespan, lower_bound).is_some() {
                break;
            }
            budget.spend(MOVES_PER_LOOK.min(moves - step) as u64 * problem.len() as u64);
        }
        let progress = step as f64 / moves as f64;
        let temperature = scale * first_temperature * (LAST_TEMPERATURE / first_temperature).powf(progress);
        let undo = change(&mut state, nodes, &movable, scale, &mut random);
        let makespan = state.evaluate(|_, _| {});
        let loss = makespan.0 as f64 - current.0 as f64;
        if loss <= 0.0 || random.random::<f64>() < (-loss / temperature).exp() {
            current = makespan;
            if makespan < best.makespan {
                best = Incumbent { order: state.order(), makespan };
            }
            if movable.is_empty() {
                state.find_critical(nodes);
            }
        } else {
            state.take_back(undo);
        }
    }
    best
}

/// Changes something that the makespan depends on: a node goes before the one that its processor does before it. `None`
/// if there is none.
fn change_critical(state: &mut State<'_>, random: &mut ChaCha8Rng) -> Option<Undo> {
    if state.critical.is_empty() {
        return None;
    }
    let (before, node) = state.critical[random.random_range(0..state.critical.len())];
    if state.priority(node) < state.priority(before) {
        return Some(state.swap(before, node));
    }
    // It comes later because something that it reads does.
    let makers = state.problem.incoming(node).map(|edge| edge.from);
    let last = makers.min_by(|&left, &right| state.priority(left).total_cmp(&state.priority(right)))?;
    let above = state.priority(before).next_up();
    Some(Undo::Priority(last, state.prioritise(last, above)))
}

fn change(state: &mut State<'_>, nodes: NodeRange, movable: &[TaskId], scale: f64, random: &mut ChaCha8Rng) -> Undo {
    if movable.is_empty()
        && random.random::<f64>() < CRITICAL
        && let Some(undo) = change_critical(state, random)
    {
        return undo;
    }
    let pick = |random: &mut ChaCha8Rng| TaskId::new(random.random_range(nodes.indices()));
    match random.random_range(0..10_u32) {
        0..5 if !movable.is_empty() => {
            let node = movable[random.random_range(0..movable.len())];
            Undo::Placement(change_placement(state, nodes, node, random))
        }
        5..8 => {
            let node = pick(random);
            let changed = state.priority(node) + (random.random::<f64>() - 0.5) * scale * 0.5;
            Undo::Priority(node, state.prioritise(node, changed))
        }
        _ => {
            let (left, right) = (pick(random), pick(random));
            state.swap(left, right)
        }
    }
}

/// Puts a node on another processor, and returns where what went there was.
fn change_placement(
    state: &mut State<'_>,
    nodes: NodeRange,
    node: TaskId,
    random: &mut ChaCha8Rng,
) -> Vec<(TaskId, ProcessorId)> {
    let here = state.placement[node.index()];
    let others: Vec<ProcessorId> = state.problem.supporting(node).filter(|&processor| processor != here).collect();
    let target = others[random.random_range(0..others.len())];
    let mut old = vec![(node, state.put(node, target))];
    // Now and then what follows goes along, as far as it can.
    if random.random::<f64>() < 0.4 {
        let mut last = node;
        while let Some(edge) = state.problem.outgoing(last).next() {
            let next = edge.to;
            if state.problem.incoming(next).len() > 2
                || !nodes.contains(next)
                || state.problem.time(next, target).is_none()
                || random.random::<f64>() < 0.2
            {
                break;
            }
            old.push((next, state.put(next, target)));
            last = next;
        }
    }
    old
}
