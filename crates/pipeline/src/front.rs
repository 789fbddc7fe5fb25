//! Every trade-off between period and latency.

use millstream_cost::Nanoseconds;
use millstream_schedule::replicated_period;

use crate::problem::UNSUPPORTED;
use crate::{PipelineError, Plan, Problem};

/// All plans that no other plan beats in period without losing in latency, from the lowest latency to the shortest period.
///
/// The lowest latency under a bound on the period is found by dynamic programming over (blocks done, cores used); starting
/// without a bound and then asking for a shorter period than the last answer's walks along the front point by point.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator.
pub fn pareto_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    let options = StageOptions::new(problem);
    let mut front: Vec<Plan> = Vec::new();
    let mut bound = UNSUPPORTED - 1;
    while let Some(plan) = lowest_latency(problem, &options, bound) {
        bound = plan.period.0.saturating_sub(1);
        // A later point with the same latency and a shorter period replaces the earlier one.
        if front.last().is_some_and(|last| last.latency == plan.latency) {
            front.pop();
        }
        front.push(plan);
    }
    if front.is_empty() { Err(PipelineError::Infeasible) } else { Ok(front) }
}

/// A way to run a stage: replicas, what they need and what they give.
#[derive(Clone)]
struct StageOption {
    period: u64,
    latency: u64,
    /// Index into [`StageOptions::configurations`].
    configuration: usize,
}

/// For every range of blocks and every number of cores, the options that no other option beats.
struct StageOptions {
    /// Multisets of classes.
    configurations: Vec<Vec<usize>>,
    /// Per range (`(end - 1) * end / 2 + start`) and size: options by rising latency and falling period.
    options: Vec<Vec<StageOption>>,
    sizes: usize,
}

impl StageOptions {
    fn new(problem: &Problem) -> Self {
        let sizes = problem.counts.len();
        let configurations = configurations(problem);
        let mut options = vec![Vec::new(); problem.blocks() * (problem.blocks() + 1) / 2 * sizes];
        for end in 1..=problem.blocks() {
            for start in 0..end {
                let row = ((end - 1) * end / 2 + start) * sizes;
                for (index, (size, classes)) in configurations.iter().enumerate() {
                    let times: Vec<Nanoseconds> =
                        classes.iter().map(|&class| Nanoseconds(problem.time(class, start, end))).collect();
                    let latency = times.iter().map(|time| time.0).max().unwrap_or(UNSUPPORTED);
                    if latency < UNSUPPORTED {
                        let period = replicated_period(&times).0;
                        options[row + size].push(StageOption { period, latency, configuration: index });
                    }
                }
                for list in &mut options[row..row + sizes] {
                    keep_undominated(list);
                }
            }
        }
        Self { configurations: configurations.into_iter().map(|(_, classes)| classes).collect(), options, sizes }
    }

    /// The option with the lowest latency whose period is within the bound.
    fn fastest(&self, start: usize, end: usize, size: usize, bound: u64) -> Option<&StageOption> {
        let list = &self.options[((end - 1) * end / 2 + start) * self.sizes + size];
        list.get(list.partition_point(|option| option.period > bound))
    }
}

fn keep_undominated(options: &mut Vec<StageOption>) {
    options.sort_by_key(|option| (option.latency, option.period));
    let mut shortest = u64::MAX;
    options.retain(|option| {
        let keep = option.period < shortest;
        shortest = shortest.min(option.period);
        keep
    });
}

/// All multisets of classes that the board has cores for, with their encoded numbers of cores.
fn configurations(problem: &Problem) -> Vec<(usize, Vec<usize>)> {
    let mut found: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new())];
    let mut stride = 1;
    for cluster in 0..problem.clusters() {
        let classes = problem.classes_of(cluster);
        let mut extended = Vec::new();
        for (size, chosen) in &found {
            for partition in partitions(classes.len()) {
                let cores: usize = partition.iter().sum();
                let own = partition.iter().map(|count| classes.start + count - 1);
                extended.push((size + cores * stride, chosen.iter().copied().chain(own).collect()));
            }
        }
        found = extended;
        stride *= classes.len() + 1;
    }
    found.retain(|(size, _)| *size > 0);
    found.extend(
        problem.teams.iter().enumerate().map(|(index, (size, _))| (*size, vec![problem.classes.len() + index])),
    );
    found
}

/// All ways to write numbers from 0 to `limit` as sums of positive numbers, without regard to order.
fn partitions(limit: usize) -> Vec<Vec<usize>> {
    fn extend(left: usize, largest: usize, current: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        found.push(current.clone());
        for part in 1..=largest.min(left) {
            current.push(part);
            extend(left - part, part, current, found);
            current.pop();
        }
    }
    let mut found = Vec::new();
    extend(limit, limit, &mut Vec::new(), &mut found);
    found
}

/// The plan with the lowest latency among those whose stages' periods are within the bound, and among equals the one with
/// the shortest period.
fn lowest_latency(problem: &Problem, options: &StageOptions, bound: u64) -> Option<Plan> {
    let blocks = problem.blocks();
    let states = problem.counts.len();
    let room: Vec<Vec<usize>> = (0..states).map(|size| problem.counts.with_room_for(size)).collect();
    const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);
    // (latency, period) of the first blocks with exactly so many cores, and the last stage that gives it.
    let mut best = vec![UNREACHED; (blocks + 1) * states];
    let mut choice = vec![(0, 0, 0); (blocks + 1) * states];
    best[0] = (0, 0);
    for end in 1..=blocks {
        for start in 0..end {
            for (size, room) in room.iter().enumerate().skip(1) {
                let Some(option) = options.fastest(start, end, size, bound) else { continue };
                for &used in room {
                    let (latency, period) = best[start * states + used];
                    if latency == u64::MAX {
                        continue;
                    }
                    let candidate = (latency + option.latency, period.max(option.period));
                    let state = end * states + used + size;
                    if candidate < best[state] {
                        best[state] = candidate;
                        choice[state] = (start, size, option.configuration);
                    }
                }
            }
        }
    }
    let last = &best[blocks * states..];
    let mut state = (0..states).min_by_key(|&state| last[state]).filter(|&state| last[state] != UNREACHED)?;
    let mut end = blocks;
    let mut stages = Vec::new();
    while end > 0 {
        let (start, size, configuration) = choice[end * states + state];
        stages.push((start..end, options.configurations[configuration].clone()));
        state -= size;
        end = start;
    }
    stages.reverse();
    Some(problem.plan(stages))
}
