//! The shortest period.

use std::ops::Range;

use crate::problem::UNSUPPORTED;
use crate::{PipelineError, Plan, Problem};

/// The pipeline with the highest throughput.
///
/// Dynamic programming over (blocks done, cores used per cluster): the best rate of a prefix is the better of all last
/// stages, and a stage's rate is the sum of its replicas' rates. Rates of replicas of different clusters add, so the best
/// replicas for given numbers of cores are found cluster by cluster, which keeps the number of stage choices small.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator.
pub fn best_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let blocks = problem.blocks();
    let states = problem.counts.len();
    let room: Vec<Vec<usize>> = (0..states).map(|size| problem.counts.with_room_for(size)).collect();
    // Best rate of the first `done` blocks with at most `used` cores, and the last stage that gives it.
    let mut best = vec![0.0_f64; (blocks + 1) * states];
    let mut choice = vec![(0_usize, 0_usize); (blocks + 1) * states];
    best[..states].fill(f64::INFINITY);
    let floor = incumbent(problem);
    let mut rates = StageRates::new(problem);
    for end in 1..=blocks {
        for start in (0..end).rev() {
            rates.compute(problem, start, end);
            let (before, after) = best.split_at_mut(end * states);
            let before = &before[start * states..(start + 1) * states];
            for (size, room) in room.iter().enumerate().skip(1) {
                let rate = rates.of_size[size];
                if rate < floor {
                    continue;
                }
                for &used in room {
                    let candidate = before[used].min(rate);
                    let state = used + size;
                    if candidate > after[state] {
                        after[state] = candidate;
                        choice[end * states + state] = (start, size);
                    }
                }
            }
        }
    }
    let mut state = states - 1;
    let mut end = blocks;
    if best[end * states + state] <= 0.0 {
        return Err(PipelineError::Infeasible);
    }
    let mut stages: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
    while end > 0 {
        let (start, size) = choice[end * states + state];
        stages.push((start..end, replicas(problem, start, end, size)));
        state -= size;
        end = start;
    }
    stages.reverse();
    Ok(problem.plan(stages))
}

/// A rate that can be reached with one stage, slightly lowered so that rounding can't exclude the optimum.
fn incumbent(problem: &Problem) -> f64 {
    let mut rates = StageRates::new(problem);
    rates.compute(problem, 0, problem.blocks());
    rates.of_size[problem.counts.len() - 1] * (1.0 - 1e-9)
}

/// Best rates of one range of blocks for every number of cores.
struct StageRates {
    /// Per cluster, per number of cores.
    per_cluster: Vec<Vec<f64>>,
    /// Per encoded numbers of cores.
    of_size: Vec<f64>,
}

impl StageRates {
    fn new(problem: &Problem) -> Self {
        let per_cluster = (0..problem.clusters()).map(|cluster| vec![0.0; problem.classes_of(cluster).len() + 1]);
        Self { per_cluster: per_cluster.collect(), of_size: vec![0.0; problem.counts.len()] }
    }

    fn compute(&mut self, problem: &Problem, start: usize, end: usize) {
        let mut filled = 1;
        for (cluster, best) in self.per_cluster.iter_mut().enumerate() {
            best[0] = 0.0;
            let classes = problem.classes_of(cluster);
            for cores in 1..best.len() {
                // Copying the value for one core fewer makes the bound "at most".
                best[cores] = best[cores - 1];
                let own = class_rate(problem, classes.start + cores - 1, start, end);
                let most_others = if problem.has_replicas { cores } else { 1 };
                for rest in 0..most_others {
                    let rate = if rest == 0 { own } else { best[rest] + best[cores - rest] };
                    if rate > best[cores] {
                        best[cores] = rate;
                    }
                }
            }
            let block = filled;
            for (cores, &rate) in best.iter().enumerate() {
                for index in 0..block {
                    let base = if cluster == 0 { 0.0 } else { self.of_size[index] };
                    let together = if problem.has_replicas { base + rate } else { base.max(rate) };
                    self.of_size[cores * block + index] = together;
                }
            }
            filled *= best.len();
        }
        for (index, (size, _)) in problem.teams.iter().enumerate() {
            let rate = class_rate(problem, problem.classes.len() + index, start, end);
            self.of_size[*size] = self.of_size[*size].max(rate);
        }
    }
}

fn class_rate(problem: &Problem, class: usize, start: usize, end: usize) -> f64 {
    let time = problem.time(class, start, end);
    if time >= UNSUPPORTED { 0.0 } else { 1.0 / time as f64 }
}

/// The replicas behind a stage's best rate for the encoded numbers of cores.
fn replicas(problem: &Problem, start: usize, end: usize, size: usize) -> Vec<usize> {
    let mut rates = StageRates::new(problem);
    rates.compute(problem, start, end);
    let team = problem.teams.iter().enumerate().find(|(index, (own, _))| {
        let class = problem.classes.len() + index;
        *own == size && class_rate(problem, class, start, end) >= rates.of_size[size]
    });
    if let Some((index, _)) = team {
        return vec![problem.classes.len() + index];
    }
    if !problem.has_replicas {
        let own = |(cluster, cores): (usize, usize)| problem.classes_of(cluster).take(cores);
        let classes = problem.counts.decode(size).into_iter().enumerate().flat_map(own);
        let rate = |class: &usize| class_rate(problem, *class, start, end);
        return classes.max_by(|one, other| rate(one).total_cmp(&rate(other))).into_iter().collect();
    }
    let mut chosen = Vec::new();
    for (cluster, cores) in problem.counts.decode(size).into_iter().enumerate() {
        let first = problem.classes_of(cluster).start;
        // (rate, replicas' core counts) for at most so many cores.
        let mut best: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new())];
        for count in 1..=cores {
            let mut option = best[count - 1].clone();
            for last in 1..=count {
                let rate = best[count - last].0 + class_rate(problem, first + last - 1, start, end);
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
