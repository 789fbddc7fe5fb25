//! The shortest period.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::cores::Cores;
use crate::planning::StageWays;
use crate::refining::is_about_as_short;
use crate::senders::Senders;
use crate::stage_options::StageOptions;
use crate::{PipelineError, Plan, Problem, pareto_front};

/// The pipeline with the highest throughput.
///
/// Dynamic programming over (blocks done, cores used per cluster): the shortest period of a prefix is the best of all last stages. Of
/// each stage those replicas count that are the quickest on their cores. Where links make a
/// difference, prefixes are told apart by what their last stage is to the next one. Teams are added to what single processors reach; they
/// are looked at as far as that may shorten the period by more than half a percent, within the problem's effort. Without teams the result is
/// exact.
///
/// That counts links as if each stage had its own. If several stages of the result take frames over the same link, and it is what holds them
/// up, the best of [`pareto_front`] with all that its links carry takes its place, and there may be better ones: it is exact if
/// [`PeriodBound`](crate::PeriodBound) is as long.
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
    let by_stages = best.period;
    let best = problem.with_links(vec![best]).pop().ok_or(PipelineError::Infeasible)?;
    let is_held_up = best.period > by_stages;
    if !is_held_up && problem.capacity.as_ref().is_none_or(|capacity| capacity.has_room_for(&best)) {
        return Ok(best);
    }
    let fitting = pareto_front(problem)?;
    fitting.into_iter().min_by_key(|plan| plan.period).ok_or(PipelineError::Infeasible)
}

/// The same without regard to memory.
pub(crate) fn shortest_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let options = StageOptions::by_time(problem);
    let mut search = PeriodSearch::new(problem, &options);
    for end in (1..=problem.blocks()).map(BlockId::new) {
        search.extend_to(end);
    }
    search.best_plan().ok_or(PipelineError::Infeasible)
}

/// A period that nothing has.
const UNREACHED: Nanoseconds = Nanoseconds(u64::MAX);

/// The shortest periods of first blocks.
struct PeriodSearch<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    all_senders: Vec<Senders>,
    /// Number of cores, per number of cores: what those that leave room for it are.
    room: Vec<Vec<Cores>>,
    /// What a stage on so many cores is to the stage after it.
    next_senders: Vec<Senders>,
    /// By (blocks done, what their last stage is to the next one, cores used exactly).
    best: Vec<Nanoseconds>,
    /// The last stage that gives it.
    choice: Vec<LastStage>,
    /// What one stage on all cores can do: no stage of the best pipeline is slower.
    known: Nanoseconds,
}

#[derive(Clone, Copy)]
struct LastStage {
    start: BlockId,
    senders: Senders,
    cores: Cores,
}

impl<'a> PeriodSearch<'a> {
    fn new(problem: &'a Problem, options: &'a StageOptions) -> Self {
        let counts = &problem.counts;
        let all_senders: Vec<Senders> = problem.all_senders().collect();
        let states = (problem.blocks() + 1) * all_senders.len() * counts.len();
        let none = LastStage { start: BlockId::new(0), senders: Senders::NETWORK, cores: Cores::NONE };
        let mut best = vec![UNREACHED; states];
        best[0] = Nanoseconds::ZERO;
        let mut search = Self {
            problem,
            options,
            all_senders,
            room: counts.all().map(|cores| counts.with_room_for(cores)).collect(),
            next_senders: counts.all().map(|cores| problem.senders_on(cores)).collect(),
            best,
            choice: vec![none; states],
            known: UNREACHED,
        };
        let whole = counts.all().filter_map(|cores| search.quickest(Senders::NETWORK, problem.chain.whole(), cores));
        search.known = whole.min().unwrap_or(UNREACHED);
        search
    }

    /// Where the states of first blocks begin whose last stage is this to the next one.
    fn row(&self, end: BlockId, senders: Senders) -> usize {
        (end.index() * self.all_senders.len() + senders.index()) * self.problem.counts.len()
    }

    /// The shortest period of a stage on so many cores, if no fewer cores are as quick.
    fn quickest(&self, senders: Senders, blocks: BlockRange, cores: Cores) -> Option<Nanoseconds> {
        self.options.on(senders, blocks, cores).last().map(|option| option.period)
    }

    /// Finds the shortest periods of the blocks before this one.
    fn extend_to(&mut self, end: BlockId) {
        for start in (0..end.index()).map(BlockId::new).rev() {
            for of_senders in 0..self.all_senders.len() {
                let senders = self.all_senders[of_senders];
                let before = self.row(start, senders);
                if self.best[before..before + self.room.len()].iter().all(|&period| period == UNREACHED) {
                    continue;
                }
                for cores in self.problem.counts.all().skip(1) {
                    let own = self.quickest(senders, BlockRange::new(start, end), cores);
                    let Some(own) = own.filter(|&own| own <= self.known) else { continue };
                    let after = self.row(end, self.next_senders[cores.index()]);
                    for &used in &self.room[cores.index()] {
                        let period = self.best[before + used.index()].max(own);
                        let state = after + (used + cores).index();
                        if period < self.best[state] {
                            self.best[state] = period;
                            self.choice[state] = LastStage { start, senders, cores };
                        }
                    }
                }
            }
        }
    }

    /// The pipeline of all blocks.
    fn best_plan(&self) -> Option<Plan> {
        let whole = BlockId::new(self.problem.blocks());
        let states = self.all_senders.iter().flat_map(|&own| self.problem.counts.all().map(move |used| (own, used)));
        let period = |&(senders, used): &(Senders, Cores)| self.best[self.row(whole, senders) + used.index()];
        let (mut senders, mut used) = states.min_by_key(period).filter(|state| period(state) != UNREACHED)?;
        let mut end = whole;
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let last = self.choice[self.row(end, senders) + used.index()];
            let blocks = BlockRange::new(last.start, end);
            let option = self.options.on(last.senders, blocks, last.cores).last()?;
            stages.push((blocks, self.options.replicas(option.replicas).to_vec()));
            (end, senders, used) = (last.start, last.senders, used - last.cores);
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}
