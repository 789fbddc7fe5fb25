//! What pipelines reach whose stages are all faster than a given period: the proof that it is the shortest.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::cluster_id::ClusterId;
use crate::board::cluster_set::ClusterSet;
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
        let blocks = problem.blocks();
        if count_states(problem).saturating_mul(blocks * blocks) > MOST_STEPS || problem.counts().len() > MOST_SIZES {
            return Ok(None);
        }
        let about = shortest_period(problem)?.period.0;
        // Sums of rates may miss halves of nanoseconds, which are rounded up, by their last digits.
        let reach = |nanoseconds: u64| Self::below(problem, Nanoseconds(nanoseconds));
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
    fn below(problem: &Problem, period: Nanoseconds) -> Self {
        let counts = problem.counts();
        let last_of: Vec<ClusterSet> = counts.all().map(|cores| last_clusters(problem, cores)).collect();
        let compatible: Vec<Vec<Cores>> = counts.all().map(|cores| counts.with_room_for(cores)).collect();

        // Blocks are reached in their order.
        let mut reached = Reached::start(problem);
        let mut rates = SingleRates::new(problem);
        for start in (0..problem.blocks()).map(BlockId::new) {
            for last in reached.last_clusters() {
                let used_before: Vec<bool> = counts.all().map(|used| reached.contains(start, used, last)).collect();
                if !used_before.contains(&true) {
                    continue;
                }
                let senders = if start.index() == 0 { Senders::NETWORK } else { problem.senders_on_clusters(last) };
                for end in (start.index() + 1..=problem.blocks()).map(BlockId::new) {
                    rates.compute(problem, senders, BlockRange::new(start, end));
                    let quicker = |cores: &Cores| rates.is_quicker(problem, *cores, period);
                    for cores in counts.all().skip(1).filter(quicker) {
                        for &used in compatible[cores.index()].iter().filter(|used| used_before[used.index()]) {
                            reached.insert(end, used + cores, last_of[cores.index()]);
                        }
                    }
                }
            }
        }
        Self { period, blocks: problem.blocks(), states: reached.states(problem) }
    }
}

/// The clusters of a stage on these cores, as far as the next stage has to know them.
fn last_clusters(problem: &Problem, cores: Cores) -> ClusterSet {
    if !problem.processors.has_any_link {
        return ClusterSet::EMPTY;
    }
    let used = problem.counts().decode(cores);
    ClusterSet::of(problem.clusters().filter(|cluster| used[cluster.index()] > 0))
}

/// Which numbers of blocks are done by pipelines on exactly some cores, with the last stage on some clusters.
struct Reached {
    is_reached: Vec<bool>,
    sizes: usize,
    /// The clusters that the last stage's sets are of; 0 where these make no difference.
    clusters: usize,
}

impl Reached {
    /// Only the start, at which nothing is done.
    fn start(problem: &Problem) -> Self {
        let clusters = if problem.processors.has_any_link { problem.cluster_count() } else { 0 };
        let (blocks, sizes) = (problem.blocks(), problem.counts().len());
        let mut start = Self { is_reached: vec![false; ((blocks + 1) * sizes) << clusters], sizes, clusters };
        start.insert(BlockId::new(0), Cores::NONE, ClusterSet::EMPTY);
        start
    }

    /// The sets of clusters that a last stage may have been on.
    fn last_clusters(&self) -> impl Iterator<Item = ClusterSet> + Clone + use<> {
        ClusterSet::all(self.clusters)
    }

    fn place(&self, done: BlockId, used: Cores, last: ClusterSet) -> usize {
        ((done.index() * self.sizes + used.index()) << self.clusters) + last.index()
    }

    fn contains(&self, done: BlockId, used: Cores, last: ClusterSet) -> bool {
        self.is_reached[self.place(done, used, last)]
    }

    fn insert(&mut self, done: BlockId, used: Cores, last: ClusterSet) {
        let place = self.place(done, used, last);
        self.is_reached[place] = true;
    }

    /// All but the start, by cores and then by the last stage's clusters.
    fn states(&self, problem: &Problem) -> Vec<ReachableState> {
        let state = |(used, last): (Cores, ClusterSet)| ReachableState {
            cores_per_cluster: problem.counts().decode(used),
            last_clusters: problem.clusters().filter(|&cluster| last.contains(cluster)).collect(),
            blocks_done: (0..=problem.blocks()).filter(|&done| self.contains(BlockId::new(done), used, last)).collect(),
        };
        let all = problem.counts().all().flat_map(|used| self.last_clusters().map(move |last| (used, last)));
        all.skip(1).map(state).filter(|state| !state.blocks_done.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::collections::BTreeSet;

    use super::*;
    use crate::front::raised_remainders::tests::linked_problem;

    /// Cores in use, clusters of the last stage, and blocks done.
    type State = (Vec<usize>, Vec<ClusterId>, usize);

    /// Goes through all pipelines that begin with these blocks on these cores.
    fn add_longer(
        problem: &Problem,
        period: Nanoseconds,
        (done, used, last): (usize, Cores, Cores),
        found: &mut BTreeSet<State>,
    ) {
        let counts = problem.counts();
        let senders = if done == 0 { Senders::NETWORK } else { problem.senders_on(last) };
        for end in done + 1..=problem.blocks() {
            let mut rates = SingleRates::new(problem);
            rates.compute(problem, senders, BlockRange::new(BlockId::new(done), BlockId::new(end)));
            for cores in counts.all().skip(1).filter(|&cores| rates.is_quicker(problem, cores, period)) {
                if !counts.with_room_for(cores).contains(&used) {
                    continue;
                }
                let on = counts.decode(cores);
                let last_clusters = problem.clusters().filter(|cluster| on[cluster.index()] > 0).collect();
                found.insert((counts.decode(used + cores), last_clusters, end));
                add_longer(problem, period, (end, used + cores, cores), found);
            }
        }
    }

    #[test]
    fn states_say_on_which_clusters_pipelines_end() {
        let mut kinds = BTreeSet::new();
        for problem in (0..6).map(linked_problem) {
            let reachable = ReachableStates::of(&problem).unwrap().unwrap();
            let mut expected = BTreeSet::new();
            add_longer(&problem, reachable.period, (0, Cores::NONE, Cores::NONE), &mut expected);
            let states = reachable.states.iter().flat_map(|state| {
                let of_state = |&done| (state.cores_per_cluster.clone(), state.last_clusters.clone(), done);
                state.blocks_done.iter().map(of_state)
            });
            let found: BTreeSet<State> = states.collect();
            if problem.processors.has_any_link {
                assert_eq!(found, expected);
                kinds.extend(found.into_iter().map(|(_, last_clusters, _)| last_clusters));
            }
        }
        assert!(kinds.len() > 3, "{kinds:?}");
    }
}
