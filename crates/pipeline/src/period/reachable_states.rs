//! What pipelines reach whose stages are all faster than a given period: the proof that it is the shortest.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::period::period_search::shortest_period;
use crate::period::single_rates::SingleRates;
use crate::problem::Problem;

/// Sets of more clusters than this are not worth writing down.
const MOST_CLUSTERS: usize = 16;
/// More states times ranges of blocks than this are not worth writing down.
const MOST_STEPS: usize = 10_000_000;

/// More numbers of cores are not compared with each other.
const MOST_SIZES: usize = 10_000;

/// The shortest period of contiguous stages on single processors or replicas of them, and everything that such
/// pipelines reach below it: some first blocks, but nowhere all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachableStates {
    /// The shortest period.
    pub period: Nanoseconds,
    /// Number of blocks.
    pub blocks: usize,
    /// What is reached below that period, but for the start.
    pub states: Vec<ReachableState>,
}

/// Numbers of blocks that pipelines can be done with which use exactly these cores and end on these clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachableState {
    /// By cluster, in the order of [`ClusterId`]: the number of cores in use, or 1 for an accelerator in use.
    pub cores_per_cluster: Vec<usize>,
    /// The last stage's clusters, rising; empty where the sender makes no difference to the next stage.
    pub last_clusters: Vec<ClusterId>,
    /// The numbers of first blocks that are done, rising.
    pub blocks_done: Vec<usize>,
}

/// How many states there are: cores that may be used, with the clusters of them that a last stage may have been on,
/// where that matters.
fn count_states(problem: &Problem) -> usize {
    let ways = |cores: usize| if problem.processors.has_any_link { 1 + 2 * cores } else { 1 + cores };
    let all = problem.counts().decode(problem.counts().most());
    all.into_iter().fold(1, |states: usize, cores| states.saturating_mul(ways(cores)))
}

impl ReachableStates {
    /// Finds the shortest period, and goes through everything below it. `None` if there is too much of it.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no such pipeline runs the network, and there is not too much of it.
    pub fn of(problem: &Problem) -> Result<Option<Self>, PipelineError> {
        let problem = &problem.clone().without_teams();
        if problem.cluster_count() > MOST_CLUSTERS {
            return Ok(None);
        }
        let lasts = if problem.processors.has_any_link { 1 << problem.cluster_count() } else { 1 };
        let blocks = problem.blocks();
        if count_states(problem).saturating_mul(blocks * blocks) > MOST_STEPS || problem.counts().len() > MOST_SIZES {
            return Ok(None);
        }
        let about = shortest_period(problem)?.period.0;
        // Sums of rates may miss halves of nanoseconds, which are rounded up, by their last digits.
        let reach = |nanoseconds: u64| Self::below(problem, lasts, Nanoseconds(nanoseconds));
        let candidates = about.saturating_sub(1).max(1)..=about.saturating_add(1);
        Ok(candidates
            .map(|period| (period, reach(period)))
            .take_while(|(_, reach)| !reach.is_whole())
            .last()
            .map(|(_, reach)| reach))
    }

    /// Whether all blocks are reached.
    fn is_whole(&self) -> bool {
        self.states.iter().any(|state| state.blocks_done.contains(&self.blocks))
    }

    /// What is reached with stages whose periods are rounded to less than a given one.
    fn below(problem: &Problem, lasts: usize, period: Nanoseconds) -> Self {
        let (blocks, sizes) = (problem.blocks(), problem.counts().len());
        let mask = |cores: Cores| {
            let used = problem.counts().decode(cores);
            let in_use = problem.clusters().filter(|cluster| used[cluster.index()] > 0);
            let mask = in_use.fold(0, |mask, cluster| mask | cluster.bit());
            if lasts == 1 { 0 } else { mask }
        };
        let last_of: Vec<usize> = problem.counts().all().map(mask).collect();
        let compatible: Vec<Vec<Cores>> =
            problem.counts().all().map(|cores| problem.counts().with_room_for(cores)).collect();

        // Per range and cores used, by the clusters of the last stage: blocks are reached in their order.
        let mut is_reached = vec![false; (blocks + 1) * sizes * lasts];
        let place = |end: usize, used: Cores, last: usize| (end * sizes + used.index()) * lasts + last;
        is_reached[place(0, Cores::NONE, 0)] = true;
        let mut rates = SingleRates::new(problem);
        for start in 0..blocks {
            for last in 0..lasts {
                let reached: Vec<bool> =
                    problem.counts().all().map(|used| is_reached[place(start, used, last)]).collect();
                if !reached.contains(&true) {
                    continue;
                }
                let senders = if start == 0 { Senders::NETWORK } else { problem.senders_of_mask(last) };
                for end in start + 1..=blocks {
                    rates.compute(problem, senders, BlockRange::from(start..end));
                    let quicker = |cores: &Cores| rates.is_quicker(problem, *cores, period);
                    for cores in problem.counts().all().skip(1).filter(quicker) {
                        for &used in compatible[cores.index()].iter().filter(|used| reached[used.index()]) {
                            is_reached[place(end, used + cores, last_of[cores.index()])] = true;
                        }
                    }
                }
            }
        }

        let state = |(used, last): (Cores, usize)| ReachableState {
            cores_per_cluster: problem.counts().decode(used),
            last_clusters: problem.clusters().filter(|cluster| last & cluster.bit() != 0).collect(),
            blocks_done: (0..=blocks).filter(|&end| is_reached[place(end, used, last)]).collect(),
        };
        let all = problem.counts().all().flat_map(|used| (0..lasts).map(move |last| (used, last))).skip(1);
        let states = all.map(state).filter(|state| !state.blocks_done.is_empty()).collect();
        Self { period, blocks, states }
    }
}
