//! Problems that single nodes divide into parts that run one after the other.
//!
//! Where a node depends on all nodes before it and all nodes after it depend on it, nothing after it starts before its
//! end. So a part between two such nodes takes at least as long as it would alone, and the parts' times add up. Values
//! that go from one part past the next are left out, so sums are bounds; which is why the composed mapping is evaluated
//! as a whole.

mod part_solutions;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::PathBounds;
use crate::bounds::load::ancestors;
use crate::error::MappingError;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;
use crate::series::part_solutions::{Solution, solutions};

/// The nodes between two dividing ones, these included.
struct Part {
    /// The dividing node that it begins with, if any; else it begins with the first node.
    from: Option<TaskId>,
    /// The dividing node or the last node.
    to: TaskId,
    /// Whether that node divides: the part ends when it does.
    is_divided: bool,
    /// For each processor of the first node, and of the last one. `None` where there is no such mapping.
    solutions: Vec<Vec<Option<Solution>>>,
}

/// Orders of all processors for the first parts.
struct Beginning {
    /// When the last of these parts ends.
    end: Nanoseconds,
    order: Vec<Vec<TaskId>>,
}

/// The parts of a problem, one after the other, each solved by itself.
pub(crate) struct Series {
    parts: Vec<Part>,
}

impl Series {
    /// Solves the parts, each for every pair of processors on which it can begin and end. `None` if nothing divides the
    /// problem.
    pub(crate) fn solve(
        problem: &MappingProblem,
        limits: &MapperLimits<'_>,
        budget: &Budget<'_>,
    ) -> Result<Option<Self>, MappingError> {
        let (Some(first), Some(last)) = (problem.nodes().next(), problem.last_node()) else { return Ok(None) };
        let cuts = dividing(problem);
        let ends = cuts.iter().copied().filter(|&cut| cut > first && cut < last).chain([last]);

        let mut from = cuts.first().copied().filter(|&cut| cut == first);
        let mut parts = Vec::new();
        for to in ends {
            let solutions = solutions(problem, from, to, limits, budget)?;
            parts.push(Part { from, to, is_divided: cuts.contains(&to), solutions });
            from = Some(to);
        }
        let is_divided = parts.len() > 1;
        Ok(is_divided.then_some(Self { parts }))
    }

    /// Puts in when dividing nodes can end, and how long what follows them takes.
    pub(crate) fn raise(&self, problem: &MappingProblem, bounds: &mut PathBounds) {
        self.raise_starts(problem, bounds);
        self.raise_tails(problem, bounds);
        bounds.propagate(problem);
    }

    fn raise_starts(&self, problem: &MappingProblem, bounds: &mut PathBounds) {
        let mut ends: Vec<Option<Nanoseconds>> = Vec::new();
        for part in &self.parts {
            let first: Vec<Option<Nanoseconds>> = match part.from {
                // A first node that divides has its own time.
                Some(node) if ends.is_empty() => problem
                    .processors()
                    .map(|processor| problem.time(node, processor).map(|_| bounds.end(problem, node, processor)))
                    .collect(),
                Some(_) => ends,
                None => vec![Some(Nanoseconds::ZERO)],
            };
            let end = |to: ProcessorId| {
                let ways = first.iter().zip(&part.solutions);
                let ends = ways.filter_map(|(end, row)| Some((*end)? + row[to.index()].as_ref()?.bound));
                ends.min()
            };
            ends = problem.processors().map(end).collect();
            for (processor, end) in problem.processors().zip(&ends).filter(|_| part.is_divided) {
                if let (&Some(end), Some(time)) = (end, problem.time(part.to, processor)) {
                    bounds.raise_start(part.to, processor, end - time);
                }
            }
        }
    }

    fn raise_tails(&self, problem: &MappingProblem, bounds: &mut PathBounds) {
        let mut rests = vec![Some(Nanoseconds::ZERO); problem.processor_count()];
        for part in self.parts.iter().rev() {
            let rest = |row: &Vec<Option<Solution>>| {
                let ways = row.iter().zip(&rests).filter_map(|(way, rest)| Some(way.as_ref()?.bound + (*rest)?));
                ways.min()
            };
            rests = part.solutions.iter().map(rest).collect();
            let Some(node) = part.from else { break };
            for (processor, rest) in problem.processors().zip(&rests) {
                bounds.raise_tail(node, processor, rest.unwrap_or_default());
            }
        }
    }

    /// The nodes of the part that has most of them.
    pub(crate) fn longest(&self) -> NodeRange {
        let nodes = self.parts.iter().map(|part| NodeRange::between(part.from, part.to));
        nodes.max_by_key(|nodes| nodes.len()).unwrap_or(NodeRange::NONE)
    }

    /// The order of the best sequence of mappings of the parts.
    pub(crate) fn order(&self, problem: &MappingProblem) -> Option<Vec<Vec<TaskId>>> {
        let processors = problem.processor_count();
        let nothing = || vec![Vec::new(); processors];
        // The best one for each processor on which the part before may have ended.
        let mut best: Vec<Option<Beginning>> = match self.parts.first()?.from {
            Some(node) => problem
                .processors()
                .map(|processor| {
                    let end = problem.release(node, processor) + problem.time(node, processor)?;
                    let mut order = nothing();
                    order[processor.index()].push(node);
                    Some(Beginning { end, order })
                })
                .collect(),
            None => vec![Some(Beginning { end: Nanoseconds::ZERO, order: nothing() })],
        };

        for part in &self.parts {
            let extended = |to: ProcessorId| {
                let ways = best.iter().zip(&part.solutions).filter_map(|(before, row)| {
                    let (before, solution) = (before.as_ref()?, row[to.index()].as_ref()?);
                    Some((before.end + solution.makespan, before, solution))
                });
                let (end, before, solution) = ways.min_by_key(|way| way.0)?;
                let orders = before.order.iter().zip(&solution.order);
                Some(Beginning { end, order: orders.map(|(before, own)| [&before[..], own].concat()).collect() })
            };
            best = problem.processors().map(extended).collect();
        }
        best.into_iter().flatten().min_by_key(|way| way.end).map(|way| way.order)
    }
}

/// Nodes that depend on all before them and that all after them depend on.
fn dividing(problem: &MappingProblem) -> Vec<TaskId> {
    let is_before = ancestors(problem);
    let divides = |node: &TaskId| {
        let position = node.index();
        let (before, after) = (&is_before[position][..position], &is_before[position + 1..]);
        before.iter().all(|&is_before| is_before) && after.iter().all(|row| row[position])
    };
    problem.nodes().filter(divides).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_schedule::execution::OutputId;
    use proptest::prelude::*;

    use super::*;
    use crate::bounds::load::Loads;
    use crate::problem::edge::Edge;
    use crate::problems::{best_order, blocking_problems, brute_force, problems};
    use crate::search::starts;

    /// All that is put into the bounds of a problem, and a mapping from its parts.
    fn strengthened(problem: &MappingProblem) -> (PathBounds, Option<Series>) {
        let limits = MapperLimits::default();
        let mut bounds = PathBounds::new(problem);
        let loads = Loads::new(problem);
        bounds.add_loads(problem, &loads);
        let series = Series::solve(problem, &limits, &Budget::start(&limits)).unwrap();
        if let Some(series) = &series {
            series.raise(problem, &mut bounds);
            bounds.add_loads(problem, &loads);
        }
        (bounds, series)
    }

    /// The problem with a node that reads from all before it and one that all after it read from.
    fn divided(problem: &MappingProblem, node: usize) -> MappingProblem {
        let processors = problem.processor_count();
        let node = TaskId::new(node % problem.len());
        // A value that the other edges do not move.
        let link = |from: TaskId, to: TaskId| {
            Edge::new(from, to, vec![vec![Nanoseconds(2); processors]; processors]).of_value(OutputId::new(2))
        };
        let others = problem.nodes().filter(|&other| other != node);
        let links = others.map(|other| link(other.min(node), other.max(node)));
        let edges = problem.edges().iter().filter(|edge| edge.from != node && edge.to != node).cloned().chain(links);
        let names = problem.nodes().map(|node| problem.name(node).to_owned()).collect();
        let times =
            problem.nodes().map(|node| problem.processors().map(|processor| problem.time(node, processor)).collect());
        let mut divided = MappingProblem::new(names, times.collect(), edges.collect()).unwrap();
        for node in problem.nodes() {
            problem
                .processors()
                .for_each(|processor| divided.set_release(node, processor, problem.release(node, processor)));
        }
        divided
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Before anybody compares it with a makespan.
        #[test]
        fn loads_and_parts_say_no_more_than_the_optimum(plain in problems(7), blocking in blocking_problems(5), cut in 0_usize..7) {
            prop_assert!(strengthened(&plain).0.critical <= brute_force(&plain));
            prop_assert!(strengthened(&blocking).0.critical <= best_order(&blocking));
            let (plain, blocking) = (divided(&plain, cut), divided(&blocking, cut));
            prop_assert!(strengthened(&plain).0.critical <= brute_force(&plain));
            prop_assert!(strengthened(&blocking).0.critical <= best_order(&blocking));
        }

        /// Starts and tails are those of a best mapping or less, wherever its nodes are.
        #[test]
        fn starts_and_tails_are_within_those_of_mappings(problem in problems(7), cut in 0_usize..7) {
            let problem = divided(&problem, cut);
            let (bounds, series) = strengthened(&problem);
            let orders = starts::LISTS.iter().filter_map(|mapper| mapper.map(&problem, &MapperLimits::default()).ok());
            let orders = orders.map(|mapping| mapping.order).chain(series.and_then(|series| series.order(&problem)));
            for order in orders {
                let execution = problem.execute(&order).unwrap();
                for node in problem.nodes() {
                    let (span, processor) = (execution.span(node), execution.home(node).unwrap());
                    prop_assert!(bounds.start(node, processor) <= span.start);
                    prop_assert!(span.end + bounds.tail(node, processor) <= execution.makespan());
                }
            }
        }

        /// A problem that falls into parts that share no values is solved part by part.
        #[test]
        fn chains_of_parts_are_solved_exactly(times in prop::collection::vec((1_u64..20, 1_u64..20), 3..8)) {
            let nodes = times.len();
            let rows = times.iter().map(|&(one, other)| vec![Some(Nanoseconds(one)), Some(Nanoseconds(other))]).collect();
            let all = || TaskId::all(nodes);
            let transfers = || [[0, 3], [3, 0]].map(|row| row.map(Nanoseconds).to_vec()).to_vec();
            let edges = all().zip(all().skip(1)).map(|(from, to)| Edge::new(from, to, transfers())).collect();
            let chain = MappingProblem::new((0..nodes).map(|node| format!("n{node}")).collect(), rows, edges).unwrap();
            let (bounds, series) = strengthened(&chain);
            let best = brute_force(&chain);
            prop_assert_eq!(bounds.critical, best);
            let order = series.unwrap().order(&chain).unwrap();
            prop_assert_eq!(chain.makespan(&order).unwrap(), best);
        }
    }
}
