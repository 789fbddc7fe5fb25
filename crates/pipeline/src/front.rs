//! Every trade-off between period and latency.

use millstream_partition::{BlockId, BlockRange};

use crate::cores::Cores;
use crate::planning::StageWays;
use crate::refining::is_about_as_short;
use crate::senders::Senders;
use crate::stage_options::{BoundedOptions, StageOptions};
use crate::{PipelineError, Plan, Problem};

/// All plans that no other plan beats in period without losing in latency, from the lowest latency to the shortest period. Exact for stages
/// on single processors and their replicas; teams are looked at where they may be better by more than half a percent, within the problem's
/// effort.
///
/// The lowest latency under a bound on the period is found by dynamic programming over (blocks done, senders of the last stage, cores used); starting
/// without a bound and then asking for a shorter period than the last answer's walks along the front point by point.
///
/// That counts links as if each stage had its own. Of plans in which several stages take frames over the same link, the period is then
/// raised to what the link takes for all of them, so that others may be better.
///
/// Where some of these do not fit into the board's memory, they are left out, and what is found on fewer cores and without replicas takes
/// their place: the front is then one of those that were found, not of all.
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
    let options = StageOptions::by_time(problem);
    let mut search = FrontSearch::new(problem);
    let mut bounded = options.bounded();
    let mut front: Vec<Plan> = Vec::new();
    let mut bound = u64::MAX;
    while let Some(plan) = search.lowest_latency(&bounded) {
        // No period is shorter than nothing, which networks of operators without any known work take.
        let shorter = problem.reading.shorter(plan.period);
        // A later point with the same latency and a shorter period replaces the earlier one.
        if front.last().is_some_and(|last| last.latency == plan.latency) {
            front.pop();
        }
        front.push(plan);
        // Without a shorter bound the same plan would come again and again.
        match shorter.filter(|period| *period < bound) {
            Some(period) => bounded.tighten(period),
            None => break,
        }
        bound = shorter.unwrap_or_default();
    }
    if front.is_empty() { Err(PipelineError::Infeasible) } else { Ok(front) }
}

const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

/// What the searches for the points of one front share.
///
/// Lowering the bound only takes options away or makes them slower. So what was found of a state (blocks done, senders of the last stage, cores used) holds as
/// long as the last stage of its pipeline does and what was found of the state before that stage; only the others are found anew.
struct FrontSearch<'a> {
    problem: &'a Problem,
    all_senders: Vec<Senders>,
    /// For each state after some blocks, by what the last stage is to the next and the cores used: how many of them the last stage may
    /// have, and how many that leaves for the stages before.
    parts: Vec<Vec<(Cores, Cores)>>,
    /// (latency, period) of the first blocks in that state, with exactly so many cores.
    best: Vec<(u64, u64)>,
    /// The last stage that gives it.
    choice: Vec<LastStage>,
    is_changed: Vec<bool>,
    is_begun: bool,
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
    fn new(problem: &'a Problem) -> Self {
        let blocks = problem.blocks();
        let sizes = problem.counts.len();
        let all_senders: Vec<Senders> = problem.all_senders().collect();
        let states = all_senders.len() * sizes;
        let mut parts = vec![Vec::new(); states];
        for cores in problem.counts.all().skip(1) {
            let own = problem.senders_on(cores).index() * sizes;
            for before in problem.counts.with_room_for(cores) {
                parts[own + (before + cores).index()].push((cores, before));
            }
        }
        let mut best = vec![UNREACHED; (blocks + 1) * states];
        best[0] = (0, 0);
        Self {
            problem,
            all_senders,
            parts,
            best,
            choice: vec![LastStage::NONE; (blocks + 1) * states],
            is_changed: vec![false; (blocks + 1) * states],
            is_begun: false,
        }
    }

    /// The plan with the lowest latency among those whose stages' periods are within the bound, and among equals the one with
    /// the shortest period. The bound must be lower than the last time.
    fn lowest_latency(&mut self, bounded: &BoundedOptions<'_>) -> Option<Plan> {
        let blocks = self.problem.blocks();
        let (sizes, states) = (self.problem.counts.len(), self.parts.len());
        self.is_changed.fill(!self.is_begun);
        for end in (1..=blocks).map(BlockId::new) {
            for own in 1..states {
                let state = end.index() * states + own;
                if self.is_begun {
                    if self.best[state] == UNREACHED {
                        continue;
                    }
                    let LastStage { start, senders, cores, option } = self.choice[state];
                    let row = bounded.options.row(senders, BlockRange::new(start, end));
                    let holds = bounded.current[row + cores.index()] == option;
                    let before = senders.index() * sizes + own % sizes - cores.index();
                    if holds && !self.is_changed[start.index() * states + before] {
                        continue;
                    }
                }
                let found = self.reach(bounded, end, own);
                self.is_changed[state] = found != self.best[state];
                self.best[state] = found;
            }
        }
        self.is_begun = true;
        let last = &self.best[blocks * states..];
        let mut own = (0..states).min_by_key(|&own| last[own]).filter(|&own| last[own] != UNREACHED)?;
        let mut end = BlockId::new(blocks);
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let LastStage { start, senders, cores, option } = self.choice[end.index() * states + own];
            let replicas = bounded.options.replicas(bounded.options.option(option).replicas);
            stages.push((BlockRange::new(start, end), replicas.to_vec()));
            own = senders.index() * sizes + own % sizes - cores.index();
            end = start;
        }
        stages.reverse();
        self.problem.plan(stages)
    }

    /// The best way to a state, given those to the states before it; notes its last stage.
    fn reach(&mut self, bounded: &BoundedOptions<'_>, end: BlockId, own: usize) -> (u64, u64) {
        let (sizes, states) = (self.problem.counts.len(), self.parts.len());
        let mut best = UNREACHED;
        for start in (0..end.index()).map(BlockId::new) {
            // Before the first stage there is nobody.
            let all = if start.index() == 0 { &[Senders::NETWORK][..] } else { &self.all_senders };
            for &senders in all {
                let row = bounded.options.row(senders, BlockRange::new(start, end));
                let latencies = &bounded.latency[row..row + sizes];
                let from = start.index() * states + senders.index() * sizes;
                let before_start = &self.best[from..from + sizes];
                for &(cores, before) in &self.parts[own] {
                    let (latency, period) = before_start[before.index()];
                    let together = latency.saturating_add(latencies[cores.index()]);
                    if together > best.0 || together == u64::MAX {
                        continue;
                    }
                    let candidate = (together, period.max(bounded.period[row + cores.index()]));
                    if candidate < best {
                        best = candidate;
                        let option = bounded.current[row + cores.index()];
                        self.choice[end.index() * states + own] = LastStage { start, senders, cores, option };
                    }
                }
            }
        }
        best
    }
}
