//! The shortest period.

use std::ops::Range;

use millstream_cost::Nanoseconds;

use crate::problem::{TeamWay, UNSUPPORTED};
use crate::refining::is_about_as_short;
use crate::senders::Senders;
use crate::{PipelineError, Plan, Problem, pareto_front};

/// The pipeline with the highest throughput.
///
/// Dynamic programming over (blocks done, cores used per cluster): the best rate of a prefix is the better of all last
/// stages, and a stage's rate is the sum of its replicas' rates. Rates of replicas of different clusters add, so the best
/// replicas for given numbers of cores are found cluster by cluster, which keeps the number of stage choices small. Where links make a
/// difference, prefixes are told apart by what their last stage is to the next one. Teams are added to what single processors reach; they
/// are looked at as far as that may shorten the period by more than half a percent, within the problem's effort. Without teams the result is
/// exact.
///
/// If it does not fit into the board's memory, the best that does of [`pareto_front`] takes its place, and there may be better ones.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::Memory`] if nothing fits into the
/// memory.
pub fn best_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let is_beaten =
        |plan: &Plan, known: &[Plan]| known.iter().any(|known| is_about_as_short(known.period, plan.period));
    let found = problem.refined(|problem| Ok(vec![shortest_period(problem)?]), is_beaten)?;
    let best = found.into_iter().next().ok_or(PipelineError::Infeasible)?;
    if problem.capacity.as_ref().is_none_or(|capacity| capacity.has_room_for(&best)) {
        return Ok(best);
    }
    let fitting = pareto_front(problem)?;
    fitting.into_iter().min_by_key(|plan| plan.period).ok_or(PipelineError::Infeasible)
}

/// The same without regard to memory.
pub(crate) fn shortest_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let blocks = problem.blocks();
    let states = problem.counts.len();
    let room: Vec<Vec<usize>> = (0..states).map(|size| problem.counts.with_room_for(size)).collect();
    let next_senders: Vec<usize> = (0..states).map(|size| problem.senders_of_size(size).index()).collect();
    let all: Vec<Senders> = problem.all_senders().collect();
    let row = all.len() * states;
    // Best rate of the first `done` blocks by what their last stage is to the next one, with at most `used` cores, and the last stage
    // that gives it.
    let mut best = vec![0.0_f64; (blocks + 1) * row];
    let mut choice = vec![(0_usize, Senders::NETWORK, 0_usize); (blocks + 1) * row];
    best[..states].fill(f64::INFINITY);
    let floor = incumbent(problem);
    let mut rates = StageRates::new(problem);
    for end in 1..=blocks {
        for start in (0..end).rev() {
            let (before, after) = best.split_at_mut(end * row);
            for &senders in &all {
                let own = start * row + senders.index() * states;
                let before = &before[own..own + states];
                if before.iter().all(|&rate| rate <= 0.0) {
                    continue;
                }
                rates.compute(problem, senders, start, end);
                for (size, room) in room.iter().enumerate().skip(1) {
                    let rate = rates.of_size[size];
                    if rate < floor {
                        continue;
                    }
                    for &used in room {
                        let candidate = before[used].min(rate);
                        let state = next_senders[size] * states + used + size;
                        if candidate > after[state] {
                            after[state] = candidate;
                            choice[end * row + state] = (start, senders, size);
                        }
                    }
                }
            }
        }
    }
    let mut end = blocks;
    let mut used = states - 1;
    let last = |senders: &Senders| best[blocks * row + senders.index() * states + used];
    let mut own =
        all.iter().copied().max_by(|one, other| last(one).total_cmp(&last(other))).unwrap_or(Senders::NETWORK);
    if last(&own) <= 0.0 {
        return Err(PipelineError::Infeasible);
    }
    let mut stages: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
    while end > 0 {
        let (start, senders, size) = choice[end * row + own.index() * states + used];
        stages.push((start..end, replicas(problem, senders, start..end, size)));
        used -= size;
        (end, own) = (start, senders);
    }
    stages.reverse();
    Ok(problem.plan(stages))
}

/// A rate that can be reached with one stage, slightly lowered so that rounding can't exclude the optimum.
fn incumbent(problem: &Problem) -> f64 {
    let mut rates = StageRates::new(problem);
    rates.compute(problem, Senders::NETWORK, 0, problem.blocks());
    rates.of_size[problem.counts.len() - 1] * (1.0 - 1e-9)
}

/// Best rates of one range of blocks for every number of cores.
pub(crate) struct StageRates {
    /// Per cluster, per number of cores.
    per_cluster: Vec<Vec<f64>>,
    /// Per encoded numbers of cores, of single processors.
    of_singles: Vec<f64>,
    /// The same with teams.
    of_size: Vec<f64>,
    /// For each team, all encoded numbers of cores that have room for it, ascending.
    room: Vec<Vec<usize>>,
}

impl StageRates {
    pub(crate) fn new(problem: &Problem) -> Self {
        let per_cluster = (0..problem.clusters()).map(|cluster| vec![0.0; problem.classes_of(cluster).len() + 1]);
        let sizes = problem.counts.len();
        let room = |own: &TeamWay| problem.counts.with_room_for(own.size).iter().map(|rest| rest + own.size).collect();
        Self {
            per_cluster: per_cluster.collect(),
            of_singles: vec![0.0; sizes],
            of_size: vec![0.0; sizes],
            room: problem.teams.iter().map(room).collect(),
        }
    }

    /// Whether the period of the last computed range is rounded to less than a given one on these encoded cores, of which those of each
    /// cluster take frames.
    pub(crate) fn is_quicker(&self, problem: &Problem, size: usize, below: Nanoseconds) -> bool {
        let used = problem.counts.decode(size);
        let takes_frames = |cluster: usize| used[cluster] == 0 || self.per_cluster[cluster][used[cluster]] > 0.0;
        let is_quick = 1.0 / self.of_size[size] < below.0 as f64 - 0.5 - 1e-6;
        below > Nanoseconds(1) && is_quick && (0..used.len()).all(takes_frames)
    }

    pub(crate) fn compute(&mut self, problem: &Problem, senders: Senders, start: usize, end: usize) {
        let mut filled = 1;
        for (cluster, best) in self.per_cluster.iter_mut().enumerate() {
            best[0] = 0.0;
            let classes = problem.classes_of(cluster);
            for cores in 1..best.len() {
                // Copying the value for one core fewer makes the bound "at most".
                best[cores] = best[cores - 1];
                let own = class_rate(problem, classes.start + cores - 1, senders, start, end);
                let most_others = if problem.has_replicas { cores } else { 1 };
                for rest in 0..most_others {
                    let rate = if rest == 0 { own } else { best[rest] + best[cores - rest] };
                    if rate > best[cores] {
                        best[cores] = rate;
                    }
                }
            }
            let link = problem.link_time(classes.start, senders, start, end);
            if link > 0 {
                best.iter_mut().for_each(|rate| *rate = rate.min(1.0 / link as f64));
            }
            let block = filled;
            for (cores, &rate) in best.iter().enumerate() {
                for index in 0..block {
                    let base = if cluster == 0 { 0.0 } else { self.of_singles[index] };
                    let together = if problem.has_replicas { base + rate } else { base.max(rate) };
                    self.of_singles[cores * block + index] = together;
                }
            }
            filled *= best.len();
        }
        self.of_size.copy_from_slice(&self.of_singles);
        for (index, (own, room)) in problem.teams.iter().zip(&self.room).enumerate() {
            let rate = class_rate(problem, problem.classes.len() + index, senders, start, end);
            for &size in room.iter().filter(|_| rate > 0.0) {
                let others = if has_company(problem) { self.of_size[size - own.size] } else { 0.0 };
                self.of_size[size] = self.of_size[size].max(others + rate);
            }
        }
    }

    /// The teams behind the best rate of the last computed range on these encoded cores, and the cores that are left for single processors.
    fn teams(&self, problem: &Problem, range: (Senders, &Range<usize>), mut size: usize) -> (Vec<usize>, usize) {
        let (senders, Range { start, end }) = range;
        let mut teams = Vec::new();
        while self.of_size[size] > self.of_singles[size] * (1.0 + 1e-12) {
            let with = |(index, room): (usize, &Vec<usize>)| {
                room.binary_search(&size).ok()?;
                let way = problem.classes.len() + index;
                let rest = size - problem.teams[index].size;
                let others = if has_company(problem) { self.of_size[rest] } else { 0.0 };
                let rate = class_rate(problem, way, senders, *start, *end);
                (rate > 0.0).then_some((others + rate, way, rest))
            };
            let best = self.room.iter().enumerate().filter_map(with).max_by(|one, other| one.0.total_cmp(&other.0));
            let Some((_, way, rest)) = best else { break };
            teams.push(way);
            if !has_company(problem) {
                return (teams, 0);
            }
            size = rest;
        }
        (teams, size)
    }
}

/// Whether a team may have a stage together with other replicas. Over links that are occupied, nobody knows what several teams take.
fn has_company(problem: &Problem) -> bool {
    problem.has_replicas && !problem.has_links()
}

fn class_rate(problem: &Problem, class: usize, senders: Senders, start: usize, end: usize) -> f64 {
    let time = problem.time(class, senders, start, end);
    if time >= UNSUPPORTED { 0.0 } else { 1.0 / time as f64 }
}

/// The replicas behind a stage's best rate for the encoded numbers of cores.
fn replicas(problem: &Problem, senders: Senders, blocks: Range<usize>, size: usize) -> Vec<usize> {
    let Range { start, end } = blocks;
    let class_rate = |class: usize| class_rate(problem, class, senders, start, end);
    let mut rates = StageRates::new(problem);
    rates.compute(problem, senders, start, end);
    let (mut chosen, size) = rates.teams(problem, (senders, &blocks), size);
    if !problem.has_replicas {
        if !chosen.is_empty() {
            return chosen;
        }
        let own = |(cluster, cores): (usize, usize)| problem.classes_of(cluster).take(cores);
        let classes = problem.counts.decode(size).into_iter().enumerate().flat_map(own);
        let rate = |class: &usize| class_rate(*class);
        return classes.max_by(|one, other| rate(one).total_cmp(&rate(other))).into_iter().collect();
    }
    for (cluster, cores) in problem.counts.decode(size).into_iter().enumerate() {
        let first = problem.classes_of(cluster).start;
        // (rate, replicas' core counts) for at most so many cores.
        let mut best: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new())];
        for count in 1..=cores {
            let mut option = best[count - 1].clone();
            for last in 1..=count {
                let rate = best[count - last].0 + class_rate(first + last - 1);
                if rate > option.0 {
                    let mut counts = best[count - last].1.clone();
                    counts.push(last);
                    option = (rate, counts);
                }
            }
            best.push(option);
        }
        chosen.extend(best[cores].1.iter().map(|count| first + count - 1));
    }
    chosen
}
