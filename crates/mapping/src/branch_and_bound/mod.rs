//! Exact search over all ways to start nodes one after the other.

mod candidates;
mod met_states;
mod recipients;
mod set_up;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, ProcessorId, Recipient, TaskId};

use crate::bounds::PathBounds;
use crate::bounds::load::UNIT;
use crate::branch_and_bound::met_states::{MetStates, State, StateKey};
use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;
use crate::search::incumbent::Incumbent;

/// Between two looks at what is left.
const STEPS_PER_LOOK: u64 = 4096;
/// Remembered states; more would fill the memory of a small board.
const MOST_STATES: usize = 2_000_000;

/// Searches for something shorter than `incumbent`. Returns whether it looked at everything: then `incumbent` is the
/// optimum.
///
/// Nodes are started in the order of time, each on one of its processors as soon as that is free and the inputs are
/// there, but not before the node that was started last; every mapping under the execution semantics is met this way.
/// Where sending a value occupies the processor that made it, every set of processors that it may be sent to is tried.
/// A state is left if it can't lead to anything shorter, or if one with the same nodes done was at least as good in all
/// that matters for the rest: whatever follows the one can then follow the other, no later.
pub(crate) fn search(
    problem: &MappingProblem,
    incumbent: &mut Incumbent,
    most_steps: u64,
    budget: &Budget<'_>,
) -> bool {
    search_within(problem, incumbent, SearchLimits { most_steps, most_states: MOST_STATES }, budget)
}

/// How much a search may do and keep in memory.
#[derive(Clone, Copy)]
struct SearchLimits {
    most_steps: u64,
    most_states: usize,
}

/// [`search`] within other limits.
fn search_within(
    problem: &MappingProblem,
    incumbent: &mut Incumbent,
    limits: SearchLimits,
    budget: &Budget<'_>,
) -> bool {
    let Some(recipients) = recipients::recipients_of_all(problem) else { return false };
    let mut search = Search::new(problem, incumbent, recipients, limits, budget);
    let is_complete = search.visit(Nanoseconds::ZERO, Nanoseconds::ZERO);
    budget.spend(search.steps % STEPS_PER_LOOK * search.steps_per_visit);
    is_complete
}

struct Search<'a> {
    problem: &'a MappingProblem,
    bounds: PathBounds,
    /// For each processor, the first one that is the same.
    twins: Vec<ProcessorId>,
    /// Per node and processor, where the node's values could be sent from there.
    recipients: Vec<Vec<Vec<Recipient>>>,
    /// Whether some transfers occupy a processor.
    has_blocking: bool,
    /// Whether some transfers occupy their receiver.
    may_fetch: bool,
    /// Per node, the longest of its values' transfers.
    slowest_transfer: Vec<Nanoseconds>,
    /// What a nanosecond of each processor costs; [`UNIT`] for all of them together.
    prices: Vec<u64>,
    /// The least cost of each node at these prices.
    costs: Vec<u128>,
    incumbent: &'a mut Incumbent,
    execution: Execution,
    /// The nodes that have been started, a bit for each.
    placed: u128,
    /// Whether each processor has a node.
    is_used: Vec<bool>,
    /// For how many values each node waits.
    waiting: Vec<usize>,
    order: Vec<Vec<TaskId>>,
    /// Least cost of all that is not placed.
    left: u128,
    met: MetStates,
    steps: u64,
    /// What a step here is in steps of the budget: each ready node is looked at on each processor.
    steps_per_visit: u64,
    most_steps: u64,
    budget: &'a Budget<'a>,
}

/// A node that could be started next.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    start: Nanoseconds,
    /// The least makespan with it.
    through: Nanoseconds,
    node: TaskId,
    processor: ProcessorId,
}

impl Search<'_> {
    /// Goes through everything that can follow, with starts at or after `last_start`; `false` if it had to give up.
    fn visit(&mut self, last_start: Nanoseconds, makespan: Nanoseconds) -> bool {
        self.steps += 1;
        if self.steps > self.most_steps {
            return false;
        }
        if self.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.budget.spend(STEPS_PER_LOOK * self.steps_per_visit);
            if self.budget.is_cancelled() || self.budget.left() == 0 {
                return false;
            }
        }

        if self.placed.count_ones() as usize == self.problem.len() {
            self.keep_if_shorter(makespan);
            return true;
        }
        if self.is_hopeless(last_start) || self.met.is_dominated(self.state(last_start)) {
            return true;
        }
        for candidate in self.candidates(last_start) {
            let sets = 1_u32 << self.recipients(candidate).len();
            for set in 0..sets {
                if !self.place(candidate, set, makespan) {
                    return false;
                }
            }
        }
        true
    }

    fn keep_if_shorter(&mut self, makespan: Nanoseconds) {
        // Values may have been sent to processors that do not read them after all.
        let makespan = if self.has_blocking {
            self.problem.makespan(&self.order).map_or(makespan, |time| time.min(makespan))
        } else {
            makespan
        };
        if makespan < self.incumbent.makespan {
            *self.incumbent = Incumbent { order: self.order.clone(), makespan };
        }
    }

    /// Where the values of a candidate could be sent.
    fn recipients(&self, candidate: Candidate) -> &[Recipient] {
        &self.recipients[candidate.node.index()][candidate.processor.index()]
    }

    fn is_placed(&self, node: TaskId) -> bool {
        self.placed >> node.index() & 1 == 1
    }

    /// Nodes whose inputs are made.
    fn ready(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.problem.nodes().filter(|&node| !self.is_placed(node) && self.waiting[node.index()] == 0)
    }

    /// Earliest start of a node on a processor; `None` if a value that it reads was not sent there.
    fn start(&self, node: TaskId, processor: ProcessorId, last_start: Nanoseconds) -> Option<Nanoseconds> {
        Some(self.execution.earliest(self.problem, node, processor)?.max(last_start))
    }

    /// The least makespan if the node starts then.
    fn through(&self, node: TaskId, processor: ProcessorId, start: Nanoseconds) -> Nanoseconds {
        start + self.problem.time(node, processor).unwrap_or_default() + self.bounds.tail(node, processor)
    }

    /// Places a node, goes on from there, and takes it back; `false` if the search had to give up. `set` has a bit for
    /// each of its possible recipients.
    fn place(&mut self, candidate: Candidate, set: u32, makespan: Nanoseconds) -> bool {
        let Candidate { start, node, processor, .. } = candidate;
        let problem = self.problem;
        let possible = self.recipients(candidate).iter().enumerate();
        let sent: Vec<Recipient> = possible.filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, sent)| *sent).collect();

        let mark = self.execution.mark();
        let Some(span) = self.execution.run_to(problem, node, processor, start, &sent) else {
            return true;
        };
        let was_used = std::mem::replace(&mut self.is_used[processor.index()], true);
        self.placed |= 1 << node.index();
        self.order[processor.index()].push(node);
        self.left -= self.costs[node.index()];
        problem.outgoing(node).for_each(|edge| self.waiting[edge.to.index()] -= 1);

        let is_complete = self.visit(start, makespan.max(span.end));

        problem.outgoing(node).for_each(|edge| self.waiting[edge.to.index()] += 1);
        self.left += self.costs[node.index()];
        self.order[processor.index()].pop();
        self.placed &= !(1 << node.index());
        self.is_used[processor.index()] = was_used;
        self.execution.rollback(mark);
        is_complete
    }

    /// Whether no way to go on is shorter than what was found.
    fn is_hopeless(&self, last_start: Nanoseconds) -> bool {
        // What all processors cost until then, and what is left at its cheapest, is at most what all cost for the whole
        // makespan.
        let gone = self.execution.free().iter().zip(&self.prices);
        let gone: u128 = gone.map(|(free, &price)| u128::from((*free).max(last_start).0) * u128::from(price)).sum();
        if (gone + self.left).div_ceil(u128::from(UNIT)) >= u128::from(self.incumbent.makespan.0) {
            return true;
        }
        // Every node that could start now has to, somewhere.
        self.ready().any(|node| {
            let through = self
                .problem
                .supporting(node)
                .filter_map(|processor| Some(self.through(node, processor, self.start(node, processor, last_start)?)));
            through.min().is_none_or(|through| through >= self.incumbent.makespan)
        })
    }

    /// What matters for the rest: where values are that others still wait for, and moments of which none is better
    /// later.
    fn state(&self, last_start: Nanoseconds) -> State {
        // Nothing starts before the last start, so what is earlier counts as then; but a processor may have fetched
        // values by then.
        let idle_until = |moment: Nanoseconds| if self.may_fetch { moment } else { moment.max(last_start) };
        let free = self.execution.free();

        let mut homes = Vec::new();
        let mut moments: Vec<Nanoseconds> = free.iter().map(|&free| idle_until(free)).collect();
        for node in self.problem.nodes().filter(|&node| self.is_placed(node)) {
            if self.problem.outgoing(node).all(|edge| self.is_placed(edge.to)) {
                continue;
            }
            homes.push(self.execution.home(node).map_or(0, |home| home.index() as u8));
            // Values that are everywhere by now might as well be there a little later.
            let made = self.execution.span(node).end;
            let everywhere = last_start - self.slowest_transfer[node.index()];
            moments.push(if self.may_fetch { made } else { made.max(everywhere) });

            if self.has_blocking {
                let mut there: Vec<_> = self.execution.transfers(node).iter().collect();
                there.sort_unstable_by_key(|transfer| (transfer.value, transfer.to));
                homes.push(there.len() as u8);
                for transfer in there {
                    homes.extend([transfer.value.index() as u8, transfer.to.index() as u8]);
                    // Its readers there start when the processor is free.
                    moments.push(transfer.at.max(free[transfer.to.index()]).max(last_start));
                }
            }
        }
        moments.push(last_start);
        State { key: StateKey { placed: self.placed, homes }, moments }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bounds::quick_bound;
    use crate::mapper::limits::MapperLimits;
    use crate::problems::{best_order, blocking_problems, brute_force, problems};

    /// What the search finds by itself, and whether it looked at everything.
    fn from_nothing(problem: &MappingProblem, most_steps: u64) -> (Incumbent, bool) {
        let mut incumbent = Incumbent { order: Vec::new(), makespan: Nanoseconds(u64::MAX) };
        let is_complete = search(problem, &mut incumbent, most_steps, &Budget::start(&MapperLimits::default()));
        (incumbent, is_complete)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Without a start to fall back on, so that what the search leaves out by mistake shows.
        #[test]
        fn a_complete_search_finds_the_optimum(problem in problems(7)) {
            let (incumbent, is_complete) = from_nothing(&problem, u64::MAX);
            prop_assert!(is_complete);
            prop_assert_eq!(incumbent.makespan, brute_force(&problem));
            prop_assert_eq!(problem.makespan(&incumbent.order), Some(incumbent.makespan));
        }

        #[test]
        fn a_complete_search_finds_the_optimum_with_transfers_that_block(problem in blocking_problems(5)) {
            let (incumbent, is_complete) = from_nothing(&problem, u64::MAX);
            prop_assert!(is_complete);
            prop_assert_eq!(incumbent.makespan, best_order(&problem));
            prop_assert_eq!(problem.makespan(&incumbent.order), Some(incumbent.makespan));
        }

        /// A search that was cut off never says that it looked at everything, unless what it has is the optimum.
        #[test]
        fn a_search_that_stops_early_says_so(problem in problems(6), steps in 1_u64..40) {
            let (incumbent, is_complete) = from_nothing(&problem, steps);
            let best = brute_force(&problem);
            prop_assert!(incumbent.makespan >= best);
            prop_assert!(!is_complete || incumbent.makespan == best);
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8000))]

        /// States that are left because of others are none that anything better comes of.
        #[test]
        fn remembering_states_changes_nothing(problem in prop_oneof![2 => blocking_problems(8), 1 => problems(9)]) {
            let none_remembered = SearchLimits { most_steps: u64::MAX, most_states: 0 };
            let mut plain = Incumbent { order: Vec::new(), makespan: Nanoseconds(u64::MAX) };
            prop_assert!(search_within(&problem, &mut plain, none_remembered, &Budget::start(&MapperLimits::default())));
            let (incumbent, is_complete) = from_nothing(&problem, u64::MAX);
            prop_assert!(is_complete);
            prop_assert_eq!(incumbent.makespan, plain.makespan);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn quick_bounds_are_no_higher_than_the_optimum(plain in problems(7), blocking in blocking_problems(5)) {
            prop_assert!(quick_bound(&plain) <= brute_force(&plain));
            prop_assert!(quick_bound(&blocking) <= best_order(&blocking));
        }
    }
}
