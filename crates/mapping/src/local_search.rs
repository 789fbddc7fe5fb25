//! Simulated annealing over placements and priorities.

use std::ops::Range;

use millstream_schedule::execution::Execution;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::MappingProblem;
use crate::lists::Ranks;
use crate::mapping::{Budget, placement_of};

/// Part of the first makespan that a move may lose at the beginning, usually, and at the end.
pub(crate) const HEAT: f64 = 0.01;
const COLD: f64 = 0.000_1;
/// Moves for each node of a search that takes its time.
pub(crate) const MOVES_PER_NODE: usize = 6000;
/// How many of the moves change what the makespan depends on, where only orders can be changed. Where nodes can go elsewhere, moves
/// anywhere find better mappings.
const CRITICAL: f64 = 0.5;
/// Between two looks at what is left.
const MOVES_PER_LOOK: usize = 256;

/// Orders of nodes per processor, and how long they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) order: Vec<Vec<usize>>,
    pub(crate) makespan: u64,
}

/// A solution as the search sees it: lists are scheduled by priority, every node on its processor.
struct State<'a> {
    problem: &'a MappingProblem,
    placement: Vec<usize>,
    priority: Vec<f64>,
    // Kept from move to move, so that nothing is allocated.
    waiting: Vec<usize>,
    ready: Vec<usize>,
    execution: Execution,
    /// The last node of each processor so far, and for each node the one before it on its processor.
    last: Vec<Option<usize>>,
    before: Vec<Option<usize>>,
    /// On a chain of nodes that wait for each other, up to the one that ends last: those that wait for their processor, after the one that
    /// it does before. Of the last accepted state.
    critical: Vec<(usize, usize)>,
}

impl<'a> State<'a> {
    fn new(problem: &'a MappingProblem, start: &[Vec<usize>]) -> Self {
        let placement = placement_of(problem.len(), start);
        // The start's own order, as far as lists by priority can express it.
        let priority = match problem.execute(start) {
            Some(execution) => (0..problem.len()).map(|node| -(execution.span(node).start.0 as f64)).collect(),
            None => Ranks::new(problem).up,
        };
        Self {
            problem,
            placement,
            priority,
            waiting: Vec::with_capacity(problem.len()),
            ready: Vec::with_capacity(problem.len()),
            execution: Execution::new(problem),
            last: vec![None; problem.processors()],
            before: vec![None; problem.len()],
            critical: Vec::new(),
        }
    }

    /// Finds what the makespan depends on, as long as nothing else has been evaluated since.
    fn find_critical(&mut self, nodes: &Range<usize>) {
        let Self { problem, execution, .. } = self;
        self.critical.clear();
        let mut next = (0..problem.len()).max_by_key(|&node| (execution.span(node).end, node));
        while let Some(node) = next {
            let start = execution.span(node).start.0;
            let end = |other: usize| execution.span(other).end.0;
            let place = self.placement[node];
            let arrival = |edge: &crate::Edge| end(edge.from) + edge.transfer(self.placement[edge.from], place);
            let maker = problem.incoming(node).find(|&edge| arrival(edge) == start).map(|edge| edge.from);
            // Where transfers occupy the processor, it may be busy after the node before.
            let before = self.before[node].filter(|&before| end(before) == start || maker.is_none());
            let is_movable = |&before: &usize| nodes.contains(&node) && nodes.contains(&before);
            self.critical.extend(before.filter(is_movable).map(|before| (before, node)));
            next = before.or(maker);
        }
    }

    /// The makespan; nodes are passed to `visit` in the order in which they are scheduled.
    fn evaluate(&mut self, mut visit: impl FnMut(usize, usize)) -> u64 {
        let problem = self.problem;
        self.waiting.clear();
        self.waiting.extend((0..problem.len()).map(|node| problem.incoming(node).len()));
        self.ready.clear();
        self.ready.extend((0..problem.len()).filter(|&node| self.waiting[node] == 0));
        self.execution.reset();
        self.last.fill(None);
        let mut makespan = 0;
        while let Some(place) = (0..self.ready.len()).max_by(|&left, &right| {
            let (left, right) = (self.ready[left], self.ready[right]);
            self.priority[left].total_cmp(&self.priority[right]).then(right.cmp(&left))
        }) {
            let node = self.ready.swap_remove(place);
            let processor = self.placement[node];
            makespan = makespan.max(self.execution.run(problem, node, &self.placement).end.0);
            self.before[node] = self.last[processor].replace(node);
            visit(node, processor);
            for edge in problem.outgoing(node) {
                self.waiting[edge.to] -= 1;
                if self.waiting[edge.to] == 0 {
                    self.ready.push(edge.to);
                }
            }
        }
        makespan
    }

    fn order(&mut self) -> Vec<Vec<usize>> {
        let mut order = vec![Vec::new(); self.problem.processors()];
        self.evaluate(|node, processor| order[processor].push(node));
        order
    }
}

/// What a move changed, so that it can be taken back.
enum Undo {
    Placement(Vec<(usize, usize)>),
    Priority(usize, f64),
    Swap(usize, usize),
}

/// How a search goes.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) moves: usize,
    /// The same seed gives the same result.
    pub(crate) seed: u64,
    /// The nodes that it moves.
    pub(crate) nodes: Range<usize>,
    /// Part of the start's makespan that a move may lose at the beginning.
    pub(crate) heat: f64,
}

/// Improves on `start` until all moves are made, the lower bound is reached or the budget says stop.
pub(crate) fn improve(
    problem: &MappingProblem,
    start: &Found,
    lower_bound: u64,
    course: &Course,
    budget: &Budget<'_>,
) -> Found {
    let &Course { moves, seed, ref nodes, heat } = course;
    let mut best = start.clone();
    let movable: Vec<usize> = nodes.clone().filter(|&node| problem.supporting(node).count() > 1).collect();
    if nodes.len() < 2 || movable.is_empty() && problem.edges().is_empty() {
        return best;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut state = State::new(problem, &start.order);
    let mut current = state.evaluate(|_, _| {});
    if movable.is_empty() {
        state.find_critical(nodes);
    }
    let scale = start.makespan.max(1) as f64;
    for step in 0..moves {
        if step % MOVES_PER_LOOK == 0 {
            if budget.reason(best.makespan, lower_bound).is_some() {
                break;
            }
            budget.spend(MOVES_PER_LOOK.min(moves - step) as u64 * problem.len() as u64);
        }
        let progress = step as f64 / moves as f64;
        let temperature = scale * heat * (COLD / heat).powf(progress);
        let undo = change(&mut state, nodes, &movable, scale, &mut random);
        let makespan = state.evaluate(|_, _| {});
        let loss = makespan as f64 - current as f64;
        if loss <= 0.0 || random.random::<f64>() < (-loss / temperature).exp() {
            current = makespan;
            if makespan < best.makespan {
                best = Found { order: state.order(), makespan };
            }
            if movable.is_empty() {
                state.find_critical(nodes);
            }
        } else {
            match undo {
                Undo::Placement(old) => old.into_iter().for_each(|(node, processor)| state.placement[node] = processor),
                Undo::Priority(node, old) => state.priority[node] = old,
                Undo::Swap(left, right) => state.priority.swap(left, right),
            }
        }
    }
    best
}

/// Changes something that the makespan depends on: a node goes before the one that its processor does before it. `None` if there is none.
fn change_critical(state: &mut State<'_>, random: &mut ChaCha8Rng) -> Option<Undo> {
    if state.critical.is_empty() {
        return None;
    }
    let (before, node) = state.critical[random.random_range(0..state.critical.len())];
    if state.priority[node] < state.priority[before] {
        state.priority.swap(before, node);
        return Some(Undo::Swap(before, node));
    }
    // It comes later because something that it reads does.
    let makers = state.problem.incoming(node).map(|edge| edge.from);
    let last = makers.min_by(|&left, &right| state.priority[left].total_cmp(&state.priority[right]))?;
    let above = state.priority[before].next_up();
    let old = std::mem::replace(&mut state.priority[last], above);
    Some(Undo::Priority(last, old))
}

fn change(state: &mut State<'_>, nodes: &Range<usize>, movable: &[usize], scale: f64, random: &mut ChaCha8Rng) -> Undo {
    if movable.is_empty()
        && random.random::<f64>() < CRITICAL
        && let Some(undo) = change_critical(state, random)
    {
        return undo;
    }
    let pick = |random: &mut ChaCha8Rng| random.random_range(nodes.clone());
    match random.random_range(0..10_u32) {
        0..5 if !movable.is_empty() => {
            let node = movable[random.random_range(0..movable.len())];
            let others: Vec<usize> =
                state.problem.supporting(node).filter(|&processor| processor != state.placement[node]).collect();
            let target = others[random.random_range(0..others.len())];
            let mut old = vec![(node, state.placement[node])];
            state.placement[node] = target;
            // Now and then what follows goes along, as far as it can.
            if random.random::<f64>() < 0.4 {
                let mut last = node;
                while let Some(edge) = state.problem.outgoing(last).next() {
                    let next = edge.to;
                    if state.problem.incoming(next).len() > 2
                        || !nodes.contains(&next)
                        || state.problem.time(next, target).is_none()
                        || random.random::<f64>() < 0.2
                    {
                        break;
                    }
                    old.push((next, state.placement[next]));
                    state.placement[next] = target;
                    last = next;
                }
            }
            Undo::Placement(old)
        }
        5..8 => {
            let node = pick(random);
            let old = state.priority[node];
            state.priority[node] += (random.random::<f64>() - 0.5) * scale * 0.5;
            Undo::Priority(node, old)
        }
        _ => {
            let (left, right) = (pick(random), pick(random));
            state.priority.swap(left, right);
            Undo::Swap(left, right)
        }
    }
}
