//! Tabu search over orders where every node has its one processor, as operations of job shops have (Nowicki and
//! Smutnicki, Management Science 42(6), 1996).

use std::collections::HashMap;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::TaskId;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::search::incumbent::{AnnealingSettings, Incumbent};
use crate::search::processor_orders::{Neighbours, ProcessorOrders};

/// Moves for which a pair may not be exchanged back: at least, and how many more at the most.
const TABU_MOVES: usize = 8;
const MORE_TABU_MOVES: usize = 12;
/// Moves without a better order after which the search goes back to the best one, per node and at the most.
const PATIENCE_PER_NODE: usize = 20;
const MOST_PATIENCE: usize = 2000;
/// Between two looks at what is left.
const MOVES_PER_LOOK: usize = 64;

/// Whether only orders can be chosen, and nothing but nodes occupies processors.
pub(crate) fn suits(problem: &MappingProblem) -> bool {
    let has_one_place = |node: TaskId| problem.supporting(node).count() == 1;
    let is_beside = |edge: &Edge| edge.pairs().all(|(from, to)| edge.blocks(from, to).is_none());
    problem.nodes().all(has_one_place) && problem.edges().iter().all(is_beside)
}

/// Improves on the order of a problem that [`suits`], by exchanging neighbours at the ends of blocks of the longest
/// path: only these can make it shorter. Of such exchanges the best by estimate is made, even if it makes the order
/// worse, but none is soon taken back.
pub(crate) fn improve_order(
    problem: &MappingProblem,
    start: &Incumbent,
    lower_bound: Nanoseconds,
    settings: &AnnealingSettings,
    budget: &Budget<'_>,
) -> Incumbent {
    let mut best = start.clone();
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut orders = ProcessorOrders::new(problem, &start.order);
    let Some(mut makespan) = orders.evaluate() else { return best };
    let patience = MOST_PATIENCE.min(PATIENCE_PER_NODE * problem.len());
    let (mut tabu, mut idle) = (TabuList::default(), 0);

    for step in 0..settings.moves {
        if step % MOVES_PER_LOOK == 0 {
            if budget.reason(best.makespan, lower_bound).is_some() {
                break;
            }
            budget.spend(MOVES_PER_LOOK.min(settings.moves - step) as u64 * problem.len() as u64);
        }

        let path = orders.longest_path(makespan, settings.nodes, &mut random);
        if path.exchanges.is_empty() && makespan <= best.makespan {
            // Nothing on the longest path waits for its processor, or nothing on it may move.
            break;
        }
        let moves = if idle >= patience { Vec::new() } else { path.at_block_ends };
        let Some(chosen) = tabu.choose(&orders, &moves, step, best.makespan, &mut random) else {
            tabu = TabuList::default();
            makespan = orders.restart(&best.order, settings.nodes, &mut random);
            idle = 0;
            continue;
        };

        let until = step + TABU_MOVES + random.random_range(0..=MORE_TABU_MOVES);
        tabu.forbid(chosen.exchanged(), until);
        match orders.try_exchange(chosen) {
            Some(exchanged) => makespan = exchanged,
            None => tabu.forbid(chosen, until),
        }

        idle += 1;
        if makespan < best.makespan {
            (best, idle) = (Incumbent { order: orders.order().to_vec(), makespan }, 0);
        }
    }
    best
}

/// Exchanges that are not to be made for a while, with the steps until which they are not.
#[derive(Default)]
struct TabuList {
    until: HashMap<Neighbours, usize>,
}

impl TabuList {
    fn forbid(&mut self, pair: Neighbours, until: usize) {
        self.until.insert(pair, until);
    }

    /// The exchange with the least estimate, any of several, of those that are allowed or promise less than the best
    /// makespan; any at all if there is none of these. `None` without moves.
    fn choose(
        &self,
        orders: &ProcessorOrders<'_>,
        moves: &[Neighbours],
        step: usize,
        best_makespan: Nanoseconds,
        random: &mut ChaCha8Rng,
    ) -> Option<Neighbours> {
        if moves.is_empty() {
            return None;
        }
        let mut least: Option<(Nanoseconds, u32, Neighbours)> = None;
        for &pair in moves {
            let estimate = orders.estimate(pair);
            let is_tabu = self.until.get(&pair).is_some_and(|&until| until > step);
            let candidate = (estimate, random.random::<u32>(), pair);
            if (!is_tabu || estimate < best_makespan) && least.is_none_or(|least| candidate < least) {
                least = Some(candidate);
            }
        }
        match least {
            Some((.., pair)) => Some(pair),
            None => moves.get(random.random_range(0..moves.len())).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_schedule::execution::ProcessorId;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::mapper::limits::MapperLimits;
    use crate::problem::node_range::NodeRange;
    use crate::problems::apart;

    /// Jobs of some operations, each on a machine of its own, with transfers between machines.
    fn job_shop(times: &[Vec<u64>], machines: &[Vec<ProcessorId>], transfer: u64) -> MappingProblem {
        let count = times[0].len();
        let mut rows = Vec::new();
        let mut edges = Vec::new();
        let transfers = apart(count, transfer);
        for (job, machines) in machines.iter().enumerate() {
            for (operation, &machine) in machines.iter().enumerate() {
                rows.push(
                    ProcessorId::all(count)
                        .map(|processor| (processor == machine).then_some(Nanoseconds(times[job][operation])))
                        .collect(),
                );
                if operation > 0 {
                    let node = job * count + operation;
                    edges.push(Edge::new(TaskId::new(node - 1), TaskId::new(node), transfers.clone()));
                }
            }
        }
        let names = (0..rows.len()).map(|node| format!("o{node}")).collect();
        MappingProblem::new(names, rows, edges).unwrap()
    }

    fn cases() -> impl Strategy<Value = MappingProblem> {
        let job =
            || (proptest::collection::vec(0_u64..20, 3), Just(ProcessorId::all(3).collect::<Vec<_>>()).prop_shuffle());
        (proptest::collection::vec(job(), 2..5), 0_u64..4).prop_map(|(jobs, transfer)| {
            let (times, machines): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
            job_shop(&times, &machines, transfer)
        })
    }

    /// Operations job by job, in the order of their machines.
    fn first_order(problem: &MappingProblem) -> Incumbent {
        let of =
            |processor: ProcessorId| problem.nodes().filter(|&node| problem.time(node, processor).is_some()).collect();
        let order: Vec<Vec<TaskId>> = problem.processors().map(of).collect();
        Incumbent { makespan: problem.makespan(&order).unwrap(), order }
    }

    /// The least makespan of all orders.
    fn least(problem: &MappingProblem, order: &mut Vec<Vec<TaskId>>) -> Nanoseconds {
        least_from(problem, order, (ProcessorId::new(0), 0))
    }

    /// The least makespan of all orders that are the same up to a processor and a place among its nodes.
    fn least_from(
        problem: &MappingProblem,
        order: &mut Vec<Vec<TaskId>>,
        (processor, place): (ProcessorId, usize),
    ) -> Nanoseconds {
        let Some(nodes) = order.get(processor.index()) else {
            return problem.makespan(order).unwrap_or(Nanoseconds(u64::MAX));
        };
        if place + 1 >= nodes.len() {
            return least_from(problem, order, (ProcessorId::new(processor.index() + 1), 0));
        }
        let mut best = Nanoseconds(u64::MAX);
        for other in place..nodes.len() {
            order[processor.index()].swap(place, other);
            best = best.min(least_from(problem, order, (processor, place + 1)));
            order[processor.index()].swap(place, other);
        }
        best
    }

    fn with_exchanged(order: &[Vec<TaskId>], pair: Neighbours) -> Vec<Vec<TaskId>> {
        let exchanged = |&node: &TaskId| match node {
            node if node == pair.first => pair.second,
            node if node == pair.second => pair.first,
            node => node,
        };
        order.iter().map(|nodes| nodes.iter().map(exchanged).collect()).collect()
    }

    fn improved(problem: &MappingProblem, moves: usize) -> Incumbent {
        let settings =
            AnnealingSettings { moves, share: 1, seed: 0, nodes: NodeRange::all(problem), first_temperature: 0.0 };
        improve_order(
            problem,
            &first_order(problem),
            Nanoseconds::ZERO,
            &settings,
            &Budget::start(&MapperLimits::default()),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Heads, tails and estimates say what the execution rules say, and no order is made worse.
        #[test]
        fn orders_are_evaluated_by_the_rules(problem in cases()) {
            prop_assert!(suits(&problem));
            let start = first_order(&problem);
            let mut orders = ProcessorOrders::new(&problem, &start.order);
            let makespan = orders.evaluate().unwrap();
            prop_assert_eq!(makespan, start.makespan);
            prop_assert_eq!(problem.nodes().map(|node| orders.through(node)).max(), Some(makespan));
            let nodes = NodeRange::all(&problem);
            for pair in orders.longest_path(makespan, nodes, &mut ChaCha8Rng::seed_from_u64(1)).exchanges {
                let estimate = orders.estimate(pair);
                let exchanged = problem.makespan(&with_exchanged(orders.order(), pair));
                prop_assert_eq!(orders.try_exchange(pair), exchanged);
                prop_assert!(exchanged.is_none_or(|makespan| estimate <= makespan));
                if exchanged.is_some() {
                    prop_assert_eq!(orders.try_exchange(pair.exchanged()), Some(makespan));
                }
            }
            let incumbent = improved(&problem, 200);
            prop_assert_eq!(problem.makespan(&incumbent.order).unwrap(), incumbent.makespan);
            prop_assert!(incumbent.makespan <= start.makespan);
            prop_assert!(incumbent.makespan >= least(&problem, &mut start.order.clone()));
        }
    }

    /// The least makespan is found on 300 small job shops. They are always the same ones: no search by exchanges
    /// promises it for all.
    #[test]
    fn the_best_of_all_orders_is_found() {
        let mut runner = TestRunner::deterministic();
        for _ in 0..300 {
            let problem = cases().new_tree(&mut runner).unwrap().current();
            let least = least(&problem, &mut first_order(&problem).order);
            assert_eq!(improved(&problem, 4000).makespan, least, "{problem:?}");
        }
    }

    /// A search that only exchanges nodes at the ends of blocks, even where it sets out anew, stops at 34.
    #[test]
    fn orders_beyond_the_ends_of_blocks_are_found() {
        let times = [[2, 17, 0], [0, 0, 13], [10, 0, 0], [4, 0, 13]].map(Vec::from);
        let machines = [[0, 2, 1], [1, 0, 2], [0, 2, 1], [1, 2, 0]].map(|job| job.map(ProcessorId::new).to_vec());
        let problem = job_shop(&times, &machines, 1);
        assert_eq!(least(&problem, &mut first_order(&problem).order), Nanoseconds(33));
        assert_eq!(improved(&problem, 4000).makespan, Nanoseconds(33));
    }

    /// Where something can run elsewhere, orders are not all.
    #[test]
    fn what_can_run_elsewhere_is_not_only_ordered() {
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let times = vec![vec![Some(Nanoseconds(1)), None], vec![Some(Nanoseconds(1)); 2]];
        assert!(!suits(&MappingProblem::new(names, times, Vec::new()).unwrap()));
    }
}
