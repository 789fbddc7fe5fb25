//! Rates of stages on single processors and replicas of them.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::options::useful_ways::UsefulWays;
use crate::problem::Problem;
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::timed_way::TimedWay;

/// The best rates of one range of blocks for every number of cores, in frames a nanosecond. Without teams they are what
/// the table of a certificate is made from; [`StageOptions`](crate::options::stage_options::StageOptions) leaves out
/// what a search has no use for.
pub(crate) struct SingleRates {
    /// Per cluster, per number of its cores.
    per_cluster: Vec<Vec<f64>>,
    /// Per numbers of cores.
    of_cores: Vec<f64>,
}

impl SingleRates {
    pub(crate) fn new(problem: &Problem) -> Self {
        let per_cluster = problem.clusters().map(|cluster| vec![0.0; problem.classes_of(cluster).len() + 1]);
        Self { per_cluster: per_cluster.collect(), of_cores: vec![0.0; problem.counts().len()] }
    }

    /// Whether replicas on just these cores, some in each cluster in use, have a period that rounds to less than a
    /// given one. The stage is the one that was computed last.
    pub(crate) fn is_quicker(&self, problem: &Problem, cores: Cores, below: Nanoseconds) -> bool {
        let used = problem.counts().decode(cores);
        let takes_frames = |(rates, &used): (&Vec<f64>, &usize)| used == 0 || rates[used] > 0.0;
        let is_quick = 1.0 / self.of_cores[cores.index()] < below.0 as f64 - 0.5 - 1e-6;
        below > Nanoseconds(1) && is_quick && self.per_cluster.iter().zip(&used).all(takes_frames)
    }

    /// Finds the rates of a stage.
    pub(crate) fn compute(&mut self, problem: &Problem, senders: Senders, blocks: BlockRange) {
        let mut filled = 1;
        for cluster in problem.clusters() {
            self.compute_cluster(problem, cluster, StageBlocks { senders, blocks });
            let best = &self.per_cluster[cluster.index()];
            for (cores, &rate) in best.iter().enumerate() {
                for index in 0..filled {
                    let base = if cluster.index() == 0 { 0.0 } else { self.of_cores[index] };
                    let together = if problem.settings.has_replicas { base + rate } else { base.max(rate) };
                    self.of_cores[cores * filled + index] = together;
                }
            }
            filled *= best.len();
        }
    }

    /// The rates of the last computed range, by numbers of cores.
    pub(crate) fn of_cores(&self) -> &[f64] {
        &self.of_cores
    }

    /// Adds teams to what was computed last, of this stage: as replicas beside others, but alone where they would
    /// occupy links.
    pub(crate) fn add_teams(
        &mut self,
        problem: &Problem,
        ways: &UsefulWays,
        StageBlocks { senders, blocks }: StageBlocks,
    ) {
        let mut teams = ways.on(senders, blocks).iter().filter(|way| problem.team(way.id).is_some()).peekable();
        let occupied = teams.peek().map_or(Vec::new(), |_| problem.occupied_links(senders, blocks));
        // Ways that bear no replicas beside them come last: they are in no sum.
        let is_alone = |way: &TimedWay| !problem.settings.has_replicas || problem.is_alone(way.id, &occupied);
        let (alone, others): (Vec<&TimedWay>, Vec<&TimedWay>) = teams.partition(|way| is_alone(way));
        let all = others.into_iter().map(|way| (way, false)).chain(alone.into_iter().map(|way| (way, true)));
        for (team, is_alone) in all {
            let rate = 1.0 / team.time.0 as f64;
            for &cores in &ways.by_cores.with_others[team.cores.index()] {
                let others = if is_alone { 0.0 } else { self.of_cores[(cores - team.cores).index()] };
                let best = &mut self.of_cores[cores.index()];
                *best = best.max(others + rate);
            }
        }
    }

    /// The rates on cores of one cluster.
    fn compute_cluster(&mut self, problem: &Problem, cluster: ClusterId, stage: StageBlocks) {
        let StageBlocks { senders, blocks } = stage;
        let best = &mut self.per_cluster[cluster.index()];
        best[0] = 0.0;
        for cores in 1..best.len() {
            // Copying the value for one core fewer makes the bound "at most".
            best[cores] = best[cores - 1];
            let time = problem.time(problem.class_with(cluster, cores), senders, blocks);
            let alone = time.map_or(0.0, |time| 1.0 / time.0 as f64);
            let most_others = if problem.settings.has_replicas { cores } else { 1 };
            for rest in 0..most_others {
                let rate = if rest == 0 { alone } else { best[rest] + best[cores - rest] };
                if rate > best[cores] {
                    best[cores] = rate;
                }
            }
        }
        let link = problem.link_time(problem.class_with(cluster, 1), senders, blocks);
        if link > Nanoseconds::ZERO {
            best.iter_mut().for_each(|rate| *rate = rate.min(1.0 / link.0 as f64));
        }
    }
}
