//! How far pipelines get whose stages are all faster than a given period: the proof that it is the shortest.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::cores::Cores;
use crate::period::shortest_period;
use crate::senders::Senders;
use crate::single_rates::SingleRates;
use crate::{PipelineError, Problem};

/// Sets of more clusters than this are not worth writing down.
const MOST_CLUSTERS: usize = 16;
/// More states times ranges of blocks than this are not worth writing down.
const MOST_STEPS: usize = 10_000_000;

/// More numbers of cores are not compared with each other.
const MOST_SIZES: usize = 10_000;

/// The shortest period of contiguous stages on single processors or replicas of them, and everything that such pipelines reach below it: some
/// first blocks, but nowhere all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleProcessorReach {
    /// The shortest period.
    pub period: Nanoseconds,
    /// Number of blocks.
    pub blocks: usize,
    /// What is reached below it, but for the start.
    pub states: Vec<Reach>,
}

/// What pipelines reach that use so many cores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Cores of each cluster, and accelerators.
    pub used: Vec<usize>,
    /// The clusters of the last stage, where it matters to the next stage who sends.
    pub last: Vec<usize>,
    /// Numbers of blocks that are done.
    pub ends: Vec<usize>,
}

/// Cores that may be used, with the clusters of them that a last stage may have been on, where that matters.
fn states(problem: &Problem) -> usize {
    let ways = |cores: usize| if problem.has_any_link { 1 + 2 * cores } else { 1 + cores };
    let all = problem.counts.decode(problem.counts.most());
    all.into_iter().fold(1, |states: usize, cores| states.saturating_mul(ways(cores)))
}

impl SingleProcessorReach {
    /// Finds the shortest period, and goes through everything below it. `None` if there is too much of it.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no such pipeline runs the network, and there is not too much of it.
    pub fn of(problem: &Problem) -> Result<Option<Self>, PipelineError> {
        let problem = &problem.clone().without_teams();
        if problem.clusters() > MOST_CLUSTERS {
            return Ok(None);
        }
        let lasts = if problem.has_any_link { 1 << problem.clusters() } else { 1 };
        let blocks = problem.blocks();
        if states(problem).saturating_mul(blocks * blocks) > MOST_STEPS || problem.counts.len() > MOST_SIZES {
            return Ok(None);
        }
        let about = shortest_period(problem)?.period.0;
        // Sums of rates may miss halves of nanoseconds, which are rounded up, by their last digits.
        let reach = |nanoseconds: u64| Self::below(problem, lasts, Nanoseconds(nanoseconds));
        let candidates = about.saturating_sub(1).max(1)..=about.saturating_add(1);
        Ok(candidates
            .map(|period| (period, reach(period)))
            .take_while(|(_, own)| !own.is_whole())
            .last()
            .map(|found| found.1))
    }

    /// Whether all blocks are reached.
    fn is_whole(&self) -> bool {
        self.states.iter().any(|state| state.ends.contains(&self.blocks))
    }

    /// What is reached with stages whose periods are rounded to less than a given one.
    fn below(problem: &Problem, lasts: usize, period: Nanoseconds) -> Self {
        let clusters = problem.clusters();
        let (blocks, sizes) = (problem.blocks(), problem.counts.len());
        let mask = |cores: Cores| {
            let used = problem.counts.decode(cores);
            let mask = (0..clusters).filter(|&cluster| used[cluster] > 0).fold(0, |mask, own| mask | 1 << own);
            if lasts == 1 { 0 } else { mask }
        };
        let last_of: Vec<usize> = problem.counts.all().map(mask).collect();
        let rooms: Vec<Vec<Cores>> = problem.counts.all().map(|cores| problem.counts.with_room_for(cores)).collect();

        // Per range and cores used, by the clusters of the last stage: blocks are reached in their order.
        let mut is_reached = vec![false; (blocks + 1) * sizes * lasts];
        let place = |end: usize, used: Cores, last: usize| (end * sizes + used.index()) * lasts + last;
        is_reached[place(0, Cores::NONE, 0)] = true;
        let mut rates = SingleRates::new(problem);
        for start in 0..blocks {
            for last in 0..lasts {
                let reached: Vec<bool> =
                    problem.counts.all().map(|used| is_reached[place(start, used, last)]).collect();
                if !reached.contains(&true) {
                    continue;
                }
                let senders = if start == 0 { Senders::NETWORK } else { problem.senders_of_mask(last) };
                for end in start + 1..=blocks {
                    rates.compute(problem, senders, BlockRange::from(start..end));
                    let quicker = |cores: &Cores| rates.is_quicker(problem, *cores, period);
                    for cores in problem.counts.all().skip(1).filter(quicker) {
                        for &used in rooms[cores.index()].iter().filter(|used| reached[used.index()]) {
                            is_reached[place(end, used + cores, last_of[cores.index()])] = true;
                        }
                    }
                }
            }
        }

        let state = |(used, last): (Cores, usize)| Reach {
            used: problem.counts.decode(used),
            last: (0..clusters).filter(|cluster| last >> cluster & 1 == 1).collect(),
            ends: (0..=blocks).filter(|&end| is_reached[place(end, used, last)]).collect(),
        };
        let all = problem.counts.all().flat_map(|used| (0..lasts).map(move |last| (used, last))).skip(1);
        let states = all.map(state).filter(|state| !state.ends.is_empty()).collect();
        Self { period, blocks, states }
    }
}
