//! Every trade-off between period and latency.

use millstream_partition::{BlockId, BlockRange};

use crate::bounded_stages::{BoundedStage, BoundedStages};
use crate::core_sets::CoreSet;
use crate::cores::Cores;
use crate::latency_remainders::LatencyRemainders;
use crate::period::ShortestStages;
use crate::refining::is_about_as_short;
use crate::senders::Senders;
use crate::stage_options::StageOptions;
use crate::useful_ways::UsefulWays;
use crate::way::StageWays;
use crate::{PipelineError, Plan, Problem};

/// All plans that no other plan beats in period without losing in latency, from the lowest latency to the shortest period. Exact for stages
/// on single processors and their replicas; teams are looked at where they may be better by more than half a percent, within the problem's
/// effort.
///
/// The lowest latency under a bound on the period is found by dynamic programming over (blocks done, senders of the last stage, cores used),
/// among what remainders found for earlier bounds do not rule out; starting
/// without a bound and then asking for a shorter period than the last answer's walks along the front point by point, to the shortest period.
///
/// That counts links as if each stage had its own. Of plans in which several stages take frames over the same link, the period is then
/// raised to what the link takes for all of them, so that others may be better; what replicas that take unlike times wait for each other before
/// a link is not counted at all.
///
/// Where some of these do not fit into the board's memory, they are left out, and what is found on fewer cores, without replicas and with
/// the least memory takes their place: the front is then one of those that were found, not of all.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::Memory`] if nothing fits into the
/// memory.
pub fn pareto_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    let is_beaten = |plan: &Plan, known: &[Plan]| {
        let beats =
            |own: &Plan| is_about_as_short(own.latency, plan.latency) && is_about_as_short(own.period, plan.period);
        known.iter().any(beats)
    };
    let front = problem.refined(whole_front, is_beaten)?;
    let fitting = problem.fitting(front, whole_front)?;
    Ok(Plan::undominated(problem.with_links(fitting)))
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
        let shorter = problem.reading.shorter(plan.period);
        // A later point with the same latency and a shorter period replaces the earlier one.
        if front.last().is_some_and(|last| last.latency == plan.latency) {
            front.pop();
        }
        front.push(plan);
        // Without a shorter bound the same plan would come again and again.
        match shorter.filter(|period| *period < search.stages.bound() && *period >= shortest.0) {
            Some(period) => search.stages.tighten(period),
            None => break,
        }
    }
    if front.is_empty() { Err(PipelineError::Infeasible) } else { Ok(front) }
}

const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

/// How much more than the last latency, or its bound, is looked through first, in terms of it; and how much more each time.
const FIRST_SLACK: f64 = 0.001;
const MORE_SLACK: f64 = 2.0;
/// Sums of latencies are rounded.
const ROUNDING: f64 = 1e-9;

/// What the searches for the points of one front share.
struct FrontSearch<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    stages: BoundedStages<'a>,
    /// Of a bound on the period that the present one is not above.
    remainders: LatencyRemainders,
    /// Sums that searches took since these were found.
    steps: u64,
    /// By numbers of cores.
    rooms: Vec<CoreSet>,
    /// (latency, period) of the first blocks, by what their last stage is to the next and with exactly so many cores.
    best: Vec<(u64, u64)>,
    /// The last stage that gives it.
    choice: Vec<LastStage>,
    /// By blocks done and senders: the numbers of cores that are reached.
    reached: Vec<Vec<usize>>,
    /// The last point's.
    latency: f64,
}

/// The last stage of a pipeline of the first blocks.
#[derive(Debug, Clone, Copy)]
struct LastStage {
    start: BlockId,
    senders: Senders,
    cores: Cores,
    /// Which of its options it is.
    option: usize,
}

impl LastStage {
    const NONE: Self = Self { start: BlockId::new(0), senders: Senders::NETWORK, cores: Cores::NONE, option: 0 };
}

impl<'a> FrontSearch<'a> {
    fn new(problem: &'a Problem, options: &'a StageOptions, ways: &'a UsefulWays) -> Self {
        let nodes = (problem.blocks() + 1) * problem.all_senders().count();
        let states = nodes * problem.counts.len();
        let mut search = Self {
            problem,
            options,
            stages: BoundedStages::new(problem, options, &ways.by_cores.fewer),
            remainders: LatencyRemainders::new(problem),
            steps: 0,
            rooms: CoreSet::with_room_for_each(&problem.counts),
            best: vec![UNREACHED; states],
            choice: vec![LastStage::NONE; states],
            reached: vec![Vec::new(); nodes],
            latency: 0.0,
        };
        search.find_remainders();
        search
    }

    /// The plan with the lowest latency among those whose stages' periods are within the bound, and among equals the one with
    /// the shortest period. The bound must not be higher than the last time.
    ///
    /// Only pipelines are gone through that may have no more than some latency. If there is none, some more is allowed. What is left of a
    /// pipeline takes no less than under an earlier bound; once searches with these remainders have taken as long as finding them did, they are found
    /// anew.
    fn lowest_latency(&mut self) -> Option<Plan> {
        let mut slack = FIRST_SLACK;
        loop {
            let most_cores = self.problem.counts.most().index();
            let least = self.remainders.at(0, Senders::NETWORK, most_cores);
            if least.is_infinite() {
                return None;
            }
            let most = least.max(self.latency) * (1.0 + slack) + 1.0;
            if let Some(found) = self.search(most) {
                self.latency = self.best[found].0 as f64;
                return self.plan(found);
            }
            slack *= MORE_SLACK;
            if self.steps > self.remainders.steps() {
                self.find_remainders();
                slack = FIRST_SLACK;
            }
        }
    }

    fn find_remainders(&mut self) {
        self.stages.show_all();
        self.remainders.find(&self.stages, self.problem.blocks());
        self.steps = 0;
    }

    /// Goes through all pipelines that may have no more than some latency; returns the best state after all blocks.
    fn search(&mut self, most: f64) -> Option<usize> {
        let sizes = self.problem.counts.len();
        let kinds = self.problem.all_senders().count();
        for (node, reached) in self.reached.iter_mut().enumerate() {
            reached.drain(..).for_each(|used| self.best[node * sizes + used] = UNREACHED);
        }
        self.best[0] = (0, 0);
        self.reached[0].push(0);
        let most = most * (1.0 + ROUNDING);
        for start in 0..self.problem.blocks() {
            for senders in Senders::all(kinds) {
                let node = start * kinds + senders.index();
                let Some(least) = self.reached[node].iter().map(|used| self.best[node * sizes + used].0).min() else {
                    continue;
                };
                for place in self.stages.rows_from(start, senders) {
                    if self.may_be_within(place, most - least as f64) {
                        self.extend(node, place, (least as f64, most));
                    }
                }
            }
        }
        let all = self.problem.blocks() * kinds * sizes;
        (all..self.best.len()).min_by_key(|&own| self.best[own]).filter(|&own| self.best[own] != UNREACHED)
    }

    /// Whether a pipeline with a stage of this row may have no more than some latency after what comes before the stage.
    fn may_be_within(&self, place: usize, most: f64) -> bool {
        let row = self.stages.row(place);
        let all = self.problem.counts.most().index();
        let done = row.blocks.end().index();
        let kinds = Senders::all(self.problem.all_senders().count());
        let after = kinds.map(|senders| self.remainders.at(done, senders, all)).fold(f64::INFINITY, f64::min);
        row.least as f64 + after <= most
    }

    /// Adds one of the stages of a row to all that is reached before it, of which the least latency is known.
    fn extend(&mut self, node: usize, place: usize, (least, most): (f64, f64)) {
        let Self { stages, remainders, rooms, best, choice, reached, .. } = self;
        let sizes = rooms.len();
        let all = self.problem.counts.most().index();
        let kinds = self.problem.all_senders().count();
        let done = stages.row(place).blocks.end().index();

        let left = |stage: &BoundedStage, cores: usize| remainders.at(done, stage.next, all - cores);
        let may_be_within = |own: &&BoundedStage| own.latency as f64 + left(own, own.cores.index()) <= most - least;
        // What takes the place of a stage that breaks the bound takes no less on as many cores or more.
        if stages.has_broken(place, |own| may_be_within(&own)) {
            stages.show(place);
        }

        let row = stages.row(place);
        let (before, after) = reached.split_at_mut(node + 1);
        let (start, senders) = (row.blocks.start(), row.senders);
        let keeps_to_bound = |own: &&BoundedStage| own.period <= stages.bound();
        for stage in row.stages.iter().filter(keeps_to_bound).filter(may_be_within) {
            let cores = stage.cores.index();
            let to = done * kinds + stage.next.index();
            self.steps += before[node].len() as u64;
            for &used in before[node].iter().filter(|&&used| rooms[cores].contains(used)) {
                let (latency, period) = best[node * sizes + used];
                let candidate = (latency.saturating_add(stage.latency), period.max(stage.period));
                let state = to * sizes + used + cores;
                if candidate >= best[state] || candidate.0 as f64 + left(stage, used + cores) > most {
                    continue;
                }
                if best[state] == UNREACHED {
                    after[to - node - 1].push(used + cores);
                }
                best[state] = candidate;
                choice[state] = LastStage { start, senders, cores: stage.cores, option: stage.option };
            }
        }
    }

    /// The pipeline that leads to a state.
    fn plan(&self, mut state: usize) -> Option<Plan> {
        let sizes = self.problem.counts.len();
        let kinds = self.problem.all_senders().count();
        let mut end = BlockId::new(self.problem.blocks());
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let LastStage { start, senders, cores, option } = self.choice[state];
            let replicas = self.options.replicas(self.options.option(option).replicas);
            stages.push((BlockRange::new(start, end), replicas.to_vec()));
            state = (start.index() * kinds + senders.index()) * sizes + state % sizes - cores.index();
            end = start;
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::collections::BTreeSet;

    use millstream_board::Board;
    use millstream_cost::{CostTable, HandOver, Nanoseconds};
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape};
    use millstream_partition::Chain;
    use millstream_schedule::replicated_period;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::best_period;
    use crate::range_table::ranges;
    use crate::way::WayId;

    const LAYERS: usize = 9;

    /// 8 + 8 cores: more numbers of cores than a word has bits.
    fn problem(seed: u64) -> Problem {
        let mut builder = GraphBuilder::new("chain");
        let mut value = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
        builder.input(value);
        for layer in 0..LAYERS {
            let made = builder.value(format!("v{layer}"), Some(DataType::F32), Some(Shape::from([1000]))).unwrap();
            let operator = NewOperator::new(format!("o{layer}"), "Conv", OperatorKind::Opaque);
            builder.operator(operator.reads([value]).makes([made])).unwrap();
            value = made;
        }
        builder.output(value);
        let graph = builder.build().unwrap();

        let cores = |from: usize| (from..from + 8).map(|id| format!("{{\"id\": {id}}}")).collect::<Vec<_>>().join(",");
        let board = format!(
            r#"{{"format": "millstream-board", "version": 1, "name": "two kinds", "clusters": [
                {{"label": "B", "capacity": 1024, "cores": [{}]}}, {{"label": "s", "capacity": 400, "cores": [{}]}}]}}"#,
            cores(0),
            cores(8)
        );
        let board = Board::from_json(&board).unwrap();

        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut table = CostTable::new(LAYERS, board.processor_classes());
        for processor in table.processors() {
            let class = table.classes()[processor.index()].clone();
            let speed = (class.count as f64).powf(0.8) * if class.cluster == "B" { 1.0 } else { 0.4 };
            for layer in 0..LAYERS {
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
        for cores in problem.counts.all().skip(1) {
            let used = problem.counts.decode(cores);
            for big in partitions(used[0], used[0]) {
                for small in partitions(used[1], used[1]) {
                    let ways = big.iter().map(|&own| problem.class_with(0, own));
                    let ways = ways.chain(small.iter().map(|&own| problem.class_with(1, own)));
                    sets.push((cores.index(), ways.collect()));
                }
            }
        }
        sets
    }

    /// (latency, period) of every pipeline that no other with as many cores beats, by dynamic programming that only leaves out what is
    /// beaten.
    fn all_trade_offs(problem: &Problem) -> Vec<(u64, u64)> {
        let sizes = problem.counts.len();
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
            for cores in problem.counts.all().skip(1) {
                for before in problem.counts.with_room_for(cores) {
                    let mut longer = Vec::new();
                    for &(latency, period) in &states[blocks.start().index()][before.index()] {
                        let together = |own: &(u64, u64)| (latency + own.0, period.max(own.1));
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
