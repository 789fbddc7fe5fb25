//! Simulated annealing over placements and priorities.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;
use crate::search::incumbent::{AnnealingSettings, Incumbent};
use crate::search::state::{State, Undo};
use crate::search::tabu;

/// Temperatures of annealing, usually the first and always the last: the part of the first makespan that a move may
/// lose.
pub(crate) const FIRST_TEMPERATURE: f64 = 0.01;
const LAST_TEMPERATURE: f64 = 0.000_1;
/// First temperatures of searches that go on from what the one before found, in terms of the usual: now and then one
/// that gets away from there.
const LATER_TEMPERATURES: [f64; 4] = [1.0, 3.0, 1.0, 10.0];
/// Moves for each node of a search that takes its time.
pub(crate) const MOVES_PER_NODE: usize = 6000;
/// The share of searches that follow each other.
pub(crate) const SHARE: u64 = 4;
/// Moves for each node that a search has at least, even if it takes more than its part of what is left.
const LEAST_MOVES_PER_NODE: usize = 1000;
/// How many of the moves to another processor are tried as exchanges first, which leave both about as busy as before.
const EXCHANGES: f64 = 0.5;
/// How many of the moves change what the makespan depends on, where only orders can be changed. Where nodes can go
/// elsewhere, moves anywhere find better mappings.
const CRITICAL: f64 = 0.5;
/// Between two looks at what is left.
const MOVES_PER_LOOK: usize = 256;

/// The first temperature of the search that follows so many others.
pub(crate) fn later_temperature(searches: u64) -> f64 {
    let place = searches % LATER_TEMPERATURES.len() as u64;
    FIRST_TEMPERATURE * LATER_TEMPERATURES[place as usize]
}

/// Improves on `start` until all moves are made, the lower bound is reached or the budget says stop. Annealing makes no
/// more moves than it has steps for, as one that is cut off has not cooled down.
pub(crate) fn improve(
    problem: &MappingProblem,
    start: &Incumbent,
    lower_bound: Nanoseconds,
    settings: &AnnealingSettings,
    budget: &Budget<'_>,
) -> Incumbent {
    let AnnealingSettings { moves, share, seed, nodes, first_temperature } = *settings;
    let mut best = start.clone();
    let movable: Vec<TaskId> = nodes.nodes().filter(|&node| problem.supporting(node).count() > 1).collect();

    if nodes.len() < 2 || movable.is_empty() && problem.edges().is_empty() {
        return best;
    }
    if movable.is_empty() && tabu::suits(problem) {
        return tabu::improve_order(problem, start, lower_bound, settings, budget);
    }

    let moves = moves.min(affordable_moves(problem, nodes, share, budget));
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

/// The moves of a search that cools down within what is left, of which it takes one in `share`, or more where that
/// would be too little. What is left for a part of a move counts as one: searches end when nothing is left.
fn affordable_moves(problem: &MappingProblem, nodes: NodeRange, share: u64, budget: &Budget<'_>) -> usize {
    let all = usize::try_from(budget.left().div_ceil(problem.len().max(1) as u64)).unwrap_or(usize::MAX);
    all.min((all / share.max(1) as usize).max(LEAST_MOVES_PER_NODE * nodes.len()))
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
            let [node, other] = [(); 2].map(|()| movable[random.random_range(0..movable.len())]);
            let exchanged = if random.random::<f64>() < EXCHANGES { exchange(state, node, other) } else { None };
            Undo::Placement(exchanged.unwrap_or_else(|| change_placement(state, nodes, node, random)))
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

/// Puts two nodes on each other's processor, and returns where they were; `None` if they are on the same or one of them
/// can't run on the other's.
fn exchange(state: &mut State<'_>, one: TaskId, other: TaskId) -> Option<Vec<(TaskId, ProcessorId)>> {
    let [here, there] = [one, other].map(|node| state.placement[node.index()]);
    let can_run = |node, processor| state.problem.time(node, processor).is_some();
    let is_possible = here != there && can_run(one, there) && can_run(other, here);
    is_possible.then(|| vec![(one, state.put(one, there)), (other, state.put(other, here))])
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::mapper::limits::MapperLimits;
    use crate::search::starts::{LISTS, best_of};

    const THERE: ProcessorId = ProcessorId::new(1);

    /// Tasks that depend on nothing and take as long on one processor as on the other, and one that only the first
    /// runs.
    fn independent(times: &[u64]) -> MappingProblem {
        let row = |time: &u64| vec![Some(Nanoseconds(*time)); 2];
        let mut rows: Vec<Vec<Option<Nanoseconds>>> = times.iter().map(row).collect();
        rows.push(vec![Some(Nanoseconds(1)), None]);
        let names = (0..rows.len()).map(|index| format!("n{index}")).collect();
        MappingProblem::new(names, rows, Vec::new()).unwrap()
    }

    fn budget(steps: u64) -> Budget<'static> {
        Budget::start(&MapperLimits { steps, ..MapperLimits::default() })
    }

    #[test]
    fn two_nodes_go_to_each_others_processor_where_they_can_run() {
        let problem = independent(&[5, 6, 7]);
        let [first, second, third, fixed] = [0, 1, 2, 3].map(TaskId::new);
        let mut state = State::new(&problem, &[vec![first, third, fixed], vec![second]]);
        assert_eq!(exchange(&mut state, first, third), None, "on the same");
        assert_eq!(exchange(&mut state, fixed, second), None, "one can't run there");
        assert_eq!(exchange(&mut state, second, fixed), None, "nor the other way round");
        let before = state.placement.clone();
        let old = exchange(&mut state, first, second).unwrap();
        assert_eq!([first, second].map(|node| state.placement[node.index()]), [THERE, before[first.index()]]);
        state.take_back(Undo::Placement(old));
        assert_eq!(state.placement, before);
    }

    /// However few steps there are: a search that is cut off is still hot.
    #[test]
    fn a_search_makes_the_moves_that_it_has_steps_for() {
        let problem = independent(&[5; 9]);
        let (all, nodes) = (NodeRange::all(&problem), problem.len());
        let least = LEAST_MOVES_PER_NODE * nodes;
        let affordable = |moves: usize| affordable_moves(&problem, all, SHARE, &budget((moves * nodes) as u64));
        assert_eq!(affordable(40 * least), 10 * least, "a quarter");
        let whole = affordable_moves(&problem, all, 1, &budget((40 * least * nodes) as u64));
        assert_eq!(whole, 40 * least, "where no other is to follow");
        assert_eq!(affordable(3 * least), least, "no fewer than it needs");
        assert_eq!(affordable(least / 2), least / 2, "all that there are");
        assert_eq!(affordable_moves(&problem, all, SHARE, &budget(0)), 0);
        assert_eq!(affordable_moves(&problem, all, SHARE, &budget(nodes as u64 + 1)), 2, "nothing stays left");
        let some = NodeRange::between(None, TaskId::new(4));
        let few = affordable_moves(&problem, some, SHARE, &budget((least * nodes) as u64));
        assert_eq!(few, LEAST_MOVES_PER_NODE * some.len(), "of all nodes it is what they need");

        let start = best_of(LISTS, &problem, &MapperLimits::default()).unwrap();
        let settings = AnnealingSettings {
            moves: usize::MAX,
            share: SHARE,
            seed: 1,
            nodes: all,
            first_temperature: FIRST_TEMPERATURE,
        };
        let budget = budget((40 * least * nodes) as u64);
        improve(&problem, &start, Nanoseconds(1), &settings, &budget);
        assert_eq!(budget.spent(), (10 * least * nodes) as u64);

        let none = Budget::start(&MapperLimits { steps: 0, ..MapperLimits::default() });
        assert_eq!(improve(&problem, &start, Nanoseconds(1), &settings, &none), start);
    }

    #[test]
    fn every_fourth_search_gets_away() {
        let temperatures = [0, 1, 2, 3, 4].map(later_temperature);
        assert_eq!(temperatures, [0.01, 0.03, 0.01, 0.1, 0.01]);
    }

    /// Loads that no single move brings nearer to each other, each a tenth of a processor's: only exchanges do. They
    /// are evened out to what a move may lose at the last temperature.
    #[test]
    fn loads_are_evened_out_by_exchanges() {
        let times: Vec<u64> = (0..20).map(|index| 1_000_000 + index * index * index * 7919 % 65_537).collect();
        let problem = independent(&times);
        let (first, second): (Vec<TaskId>, Vec<TaskId>) = problem.nodes().partition(|node| node.index() >= 10);
        let order = vec![first, second];
        let start = Incumbent { makespan: problem.makespan(&order).unwrap(), order };
        let half = times.iter().sum::<u64>() / 2;
        let near = half as f64 * (1.0 + LAST_TEMPERATURE);
        assert!(start.makespan.0 as f64 > near);

        let settings = AnnealingSettings {
            moves: 40_000,
            share: 1,
            seed: 1,
            nodes: NodeRange::all(&problem),
            first_temperature: FIRST_TEMPERATURE,
        };
        let found = improve(&problem, &start, Nanoseconds(half), &settings, &Budget::start(&MapperLimits::default()));
        assert!(found.makespan.0 as f64 <= near, "{} and {half}", found.makespan.0);
    }
}
