//! The front of period and latency: every plan that no other beats in one of them without losing in the other.

use crate::error::PipelineError;
use crate::front::front_search::FrontSearch;
use crate::lazy_evaluation::{is_about_as_short, with_evaluated_teams};
use crate::memory::fitting::PlansWithinMemory;
use crate::options::stage_options::StageOptions;
use crate::options::useful_ways::UsefulWays;
use crate::period::period_search::ShortestStages;
use crate::plan::Plan;
use crate::problem::Problem;

/// All plans that no other plan beats in period without losing in latency, from the lowest latency to the shortest
/// period. Exact for stages on single processors and their replicas; teams are evaluated where they may be better by
/// more than half a percent, within the problem's effort.
///
/// The lowest latency under a bound on the period is found by dynamic programming over (blocks done, senders of the
/// last stage, cores used), among what remainders found for earlier bounds do not rule out; starting without a bound
/// and then asking for a shorter period than the last answer's walks along the front point by point, to the shortest
/// period.
///
/// That counts links as if each stage had its own. Of plans in which several stages take frames over the same link, the
/// period is then raised to what the link takes for all of them, so that others may be better; what replicas that take
/// unlike times wait for each other before a link is not counted at all.
///
/// Where some of these do not fit into the board's memory, they are left out, and what is found on fewer cores, without
/// replicas and with the least memory takes their place: the front is then one of those that were found, not of all
/// ([`pareto_front_within_memory`] says so).
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::Memory`] if
/// nothing fits into the memory.
pub fn pareto_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    Ok(pareto_front_within_memory(problem)?.plans)
}

/// The same as [`pareto_front`], and whether the memory had room for all of the front.
///
/// # Errors
/// As [`pareto_front`].
pub fn pareto_front_within_memory(problem: &Problem) -> Result<PlansWithinMemory, PipelineError> {
    let front = with_evaluated_teams(problem, whole_front, is_beaten_in_both)?;
    let PlansWithinMemory { plans, is_whole } = problem.fitting(front, whole_front)?;
    Ok(PlansWithinMemory { plans: Plan::undominated(problem.with_link_periods(plans)), is_whole })
}

/// Whether a known plan is about as good in latency and period as one that may be hoped for.
pub(crate) fn is_beaten_in_both(hoped: &Plan, known: &[Plan]) -> bool {
    known
        .iter()
        .any(|plan| is_about_as_short(plan.latency, hoped.latency) && is_about_as_short(plan.period, hoped.period))
}

/// The front without regard to memory.
fn whole_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    let ways = UsefulWays::of(problem);
    let shortest = ShortestStages::of(problem, &ways).ok_or(PipelineError::Infeasible)?.period;
    let options = StageOptions::by_time_above(problem, &ways, shortest);
    let mut search = FrontSearch::new(problem, &options, &ways);
    let mut front: Vec<Plan> = Vec::new();
    while let Some(plan) = search.lowest_latency() {
        // No period is shorter than nothing, which networks of operators without any known work take.
        let shorter = problem.settings.shorter(plan.period);
        // A later point with the same latency and a shorter period replaces the earlier one.
        if front.last().is_some_and(|last| last.latency == plan.latency) {
            front.pop();
        }
        front.push(plan);
        // Without a shorter bound the same plan would come again and again.
        match shorter.filter(|period| *period < search.bound() && *period >= shortest) {
            Some(period) => search.tighten(period),
            None => break,
        }
    }
    if front.is_empty() { Err(PipelineError::Infeasible) } else { Ok(front) }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::collections::BTreeSet;

    use millstream_cost::{CostTable, HandOver, Nanoseconds};
    use millstream_partition::Chain;
    use millstream_schedule::replicated_period;
    use millstream_test_support::{board, chain_of};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::best_period;
    use crate::board::cluster_id::ClusterId;
    use crate::board::senders::Senders;
    use crate::times::range_table::ranges;
    use crate::ways::way::WayId;

    const LAYERS: usize = 9;

    /// 8 + 8 cores: more numbers of cores than a word has bits.
    pub(crate) fn problem(seed: u64) -> Problem {
        let graph = chain_of(LAYERS, 1000);
        let board = board("B8+s8:400");

        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut table = CostTable::new(LAYERS, board.processor_classes());
        for processor in table.class_ids() {
            let class = table.classes()[processor.index()].clone();
            let speed = (class.count as f64).powf(0.8) * if class.cluster == "B" { 1.0 } else { 0.4 };
            for layer in table.operator_ids() {
                let time = random.random_range(3e5..1e6) / speed;
                table.set_time(processor, layer, Nanoseconds(time as u64));
            }
            table.set_hand_over(processor, HandOver { seconds: 1e-5, seconds_per_byte: 1e-9 });
        }
        Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap()
    }

    /// Numbers of cores of processors of one cluster, none larger than the one before, that have so many together.
    fn partitions(cores: usize, largest: usize) -> Vec<Vec<usize>> {
        if cores == 0 {
            return vec![Vec::new()];
        }
        let with =
            |first: usize| partitions(cores - first, first).into_iter().map(move |rest| [vec![first], rest].concat());
        (1..=largest.min(cores)).flat_map(with).collect()
    }

    /// All sets of processors of both clusters, and their cores.
    fn sets(problem: &Problem) -> Vec<(usize, Vec<WayId>)> {
        let mut sets = Vec::new();
        for cores in problem.counts().all().skip(1) {
            let used = problem.counts().decode(cores);
            for big in partitions(used[0], used[0]) {
                for small in partitions(used[1], used[1]) {
                    let ways = big.iter().map(|&count| problem.class_with(ClusterId::new(0), count));
                    let ways = ways.chain(small.iter().map(|&count| problem.class_with(ClusterId::new(1), count)));
                    sets.push((cores.index(), ways.collect()));
                }
            }
        }
        sets
    }

    /// (latency, period) of every pipeline that no other with as many cores beats, by dynamic programming that only
    /// leaves out what is beaten.
    fn all_trade_offs(problem: &Problem) -> Vec<(u64, u64)> {
        let sizes = problem.counts().len();
        let keep = |points: &mut Vec<(u64, u64)>| {
            let all: BTreeSet<(u64, u64)> = points.drain(..).collect();
            for (latency, period) in all {
                if points.last().is_none_or(|last: &(u64, u64)| period < last.1) {
                    points.push((latency, period));
                }
            }
        };

        let sets = sets(problem);
        let mut states = vec![vec![Vec::new(); sizes]; problem.blocks() + 1];
        states[0][0].push((0, 0));
        for blocks in ranges(problem.blocks()) {
            let mut stages = vec![Vec::new(); sizes];
            for (cores, ways) in &sets {
                let times = problem.times(ways, Senders::NETWORK, blocks).unwrap();
                stages[*cores].push((times.iter().max().unwrap().0, replicated_period(&times).0));
            }
            stages.iter_mut().for_each(keep);
            for cores in problem.counts().all().skip(1) {
                for before in problem.counts().with_room_for(cores) {
                    let mut longer = Vec::new();
                    for &(latency, period) in &states[blocks.start().index()][before.index()] {
                        let together = |stage: &(u64, u64)| (latency + stage.0, period.max(stage.1));
                        longer.extend(stages[cores.index()].iter().map(together));
                    }
                    states[blocks.end().index()][(before + cores).index()].extend(longer);
                }
            }
            // By ends: all states of this one are complete after the last start.
            if blocks.end().index() == blocks.start().index() + 1 {
                states[blocks.end().index()].iter_mut().for_each(keep);
            }
        }

        let mut all = states[problem.blocks()].concat();
        keep(&mut all);
        all
    }

    #[test]
    fn the_front_of_many_cores_is_that_of_all_pipelines() {
        for seed in 0..2 {
            let problem = problem(seed);
            let expected = all_trade_offs(&problem);
            let front = pareto_front(&problem).unwrap();
            let found: Vec<(u64, u64)> = front.iter().map(|plan| (plan.latency.0, plan.period.0)).collect();
            assert_eq!(found, expected);
            assert!(found.len() > 10, "{found:?}");
            assert_eq!(best_period(&problem).unwrap().period.0, expected.last().unwrap().1);
        }
    }
}
