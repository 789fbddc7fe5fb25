//! Division of a board: processors of their own for each of several networks.

use std::collections::BTreeSet;

use millstream_cost::Nanoseconds;

use crate::best_period;
use crate::board::cores::Cores;
use crate::error::PipelineError;
use crate::front::pareto_front::pareto_front;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::sharing::tenant::{Sharing, Tenant};

/// Parts of all deadlines at once that divisions are planned for where networks hold each other up.
const PARTS_OF_DEADLINE: [f64; 5] = [0.95, 0.9, 0.8, 0.7, 0.6];

/// Of more latencies than these, those that are closer together than by a factor are not told apart.
const MOST_LATENCIES: usize = 300;
const APART: f64 = 1.02;

/// Divisions that are rated in the search for one that passes more while networks hold each other up.
const MOST_RATED: usize = 60;

/// The best division that was found by what rounds really pass, of which `rounds` is asked as by
/// [`share`](crate::share): the one that is best without waiting, and if it does not pass what it promises, those of
/// plans with lower latencies that promise more than what was found.
///
/// # Errors
/// As [`divide_processors`].
pub fn divide_as_rated(
    tenants: &[Tenant<'_>],
    rounds: impl Fn(&Sharing) -> Option<f64>,
) -> Result<Sharing, PipelineError> {
    let fronts = Fronts::of(tenants, has_deadline)?;
    let unhindered = fronts.unhindered()?;
    let rated = |sharing: &Sharing| Some(Sharing { rounds_per_second: rounds(sharing)?, ..sharing.clone() });
    let mut best = match rated(&unhindered) {
        Some(best) if !unhindered.passes_more_than(&best) => return Ok(best),
        best => best,
    };

    // Without deadlines, each network may be quicker than it would be.
    let are_free = !tenants.iter().any(has_deadline);
    let fronts = if are_free { Fronts::of(tenants, |_| true)? } else { fronts };
    let mut others = fronts.quicker_divisions(|tenant| are_free || has_deadline(tenant));
    others.sort_by(|one, other| other.rounds_per_second.total_cmp(&one.rounds_per_second));
    others.dedup_by(|one, other| one.plans == other.plans);
    for division in others.into_iter().take(MOST_RATED) {
        let most_rounds = best.as_ref().map_or(0.0, |best| best.rounds_per_second);
        if division.rounds_per_second <= most_rounds {
            break;
        }
        best = rated(&division).filter(|rated| rated.rounds_per_second > most_rounds).or(best);
    }
    best.ok_or_else(|| obstacle(tenants))
}

/// What each network can do on each number of cores.
struct Fronts<'a> {
    tenants: &'a [Tenant<'a>],
    /// By network and number of cores, the plans that keep to its deadline, from the lowest latency to the shortest
    /// period; or the last one alone.
    plans: Vec<Vec<Vec<Plan>>>,
}

impl<'a> Fronts<'a> {
    /// All plans of some networks, and the last ones of the others, none of which may have a deadline.
    fn of(tenants: &'a [Tenant<'a>], has_all: impl Fn(&Tenant<'_>) -> bool) -> Result<Self, PipelineError> {
        let plans = |tenant: &Tenant<'_>| -> Result<Vec<Vec<Plan>>, PipelineError> {
            let found_on = if has_all(tenant) { front_within } else { shortest_within };
            tenant.problem.counts().all().map(|cores| found_on(tenant, cores)).collect()
        };
        Ok(Self { tenants, plans: tenants.iter().map(plans).collect::<Result<_, _>>()? })
    }

    /// The best division as if no network waited for another.
    fn unhindered(&self) -> Result<Sharing, PipelineError> {
        let deadlines: Vec<Option<Nanoseconds>> = self.tenants.iter().map(|tenant| tenant.deadline).collect();
        self.divided_within(&deadlines).ok_or_else(|| obstacle(self.tenants))
    }

    /// The best divisions if one of these networks, or all with a deadline, have to be quicker than they are asked to
    /// be. Of a single deadline that is looser, there are all of a stricter one and more.
    fn quicker_divisions(&self, is_limited: impl Fn(&Tenant<'_>) -> bool) -> Vec<Sharing> {
        let all = self.tenants.iter().map(|tenant| tenant.deadline);
        let together = PARTS_OF_DEADLINE.iter().map(|part| {
            let shorter = |deadline: Nanoseconds| Nanoseconds((deadline.0 as f64 * part) as u64);
            all.clone().map(|deadline| deadline.map(shorter)).collect::<Vec<_>>()
        });
        let limited = (0..self.tenants.len()).filter(|&tenant| is_limited(&self.tenants[tenant]));
        let of_one =
            limited.flat_map(|tenant| self.latencies(tenant).into_iter().map(move |latency| (tenant, latency)));
        let alone = of_one.map(|(tenant, latency)| {
            let mut limits: Vec<Option<Nanoseconds>> = all.clone().collect();
            limits[tenant] = Some(latency);
            limits
        });
        together.chain(alone).filter_map(|limits| self.divided_within(&limits)).collect()
    }

    /// Latencies of a network's plans; of very many, some a few percent apart.
    fn latencies(&self, tenant: usize) -> Vec<Nanoseconds> {
        let all: BTreeSet<Nanoseconds> = self.plans[tenant].iter().flatten().map(|plan| plan.latency).collect();
        if all.len() <= MOST_LATENCIES {
            return all.into_iter().collect();
        }
        let step = |latency: Nanoseconds| ((latency.0.max(1) as f64).ln() / APART.ln()) as u64;
        let mut kept: Vec<Nanoseconds> = Vec::new();
        for latency in all {
            // The last one of each step stands for all of it.
            if kept.last().is_some_and(|last| step(*last) == step(latency)) {
                kept.pop();
            }
            kept.push(latency);
        }
        kept
    }

    fn divided_within(&self, limits: &[Option<Nanoseconds>]) -> Option<Sharing> {
        let choice = |(fronts, limit): (&Vec<Vec<Plan>>, &Option<Nanoseconds>)| {
            let most = limit.unwrap_or(Nanoseconds(u64::MAX));
            fronts.iter().map(|front| last_within(front, most).cloned()).collect()
        };
        let choices: Vec<Vec<Option<Plan>>> = self.plans.iter().zip(limits).map(choice).collect();
        divided(self.tenants, &choices)
    }
}

fn has_deadline(tenant: &Tenant<'_>) -> bool {
    tenant.deadline.is_some()
}

/// All plans on at most these processors that keep to the deadline.
fn front_within(tenant: &Tenant<'_>, cores: Cores) -> Result<Vec<Plan>, PipelineError> {
    if cores == Cores::NONE {
        return Ok(Vec::new());
    }
    match pareto_front(&tenant.problem.within(cores)) {
        Err(PipelineError::Infeasible | PipelineError::Memory { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(mut front) => {
            front.retain(|plan| tenant.deadline.is_none_or(|deadline| plan.latency <= deadline));
            Ok(front)
        }
    }
}

/// The plan with the shortest period on at most these processors, alone, of a network without a deadline.
fn shortest_within(tenant: &Tenant<'_>, cores: Cores) -> Result<Vec<Plan>, PipelineError> {
    if cores == Cores::NONE {
        return Ok(Vec::new());
    }
    match best_period(&tenant.problem.within(cores)) {
        Err(PipelineError::Infeasible | PipelineError::Memory { .. }) => Ok(Vec::new()),
        plan => Ok(vec![plan?]),
    }
}

/// The plan with the shortest period among those within a latency.
pub(crate) fn last_within(front: &[Plan], most: Nanoseconds) -> Option<&Plan> {
    // From the lowest latency to the shortest period.
    front.iter().take_while(|plan| plan.latency <= most).last()
}

/// Divides the board's processors among networks so that rounds of frames, as many of each as its weight says, pass as
/// often as possible and every network keeps to its deadline.
///
/// Exact among divisions that give every core and accelerator to one network, for problems without teams, where all
/// fits into the memory and stages share no link: the best pipeline of each network for every set of processors is found by [`best_period()`] and [`pareto_front`], and dynamic
/// programming over (networks, processors given away) finds the division.
///
/// # Errors
/// [`PipelineError::Deadline`] if deadlines can't be met, with the network and the stage that stand in the way;
/// [`PipelineError::Infeasible`] if the networks can't run beside each other at all.
pub fn divide_processors(tenants: &[Tenant<'_>]) -> Result<Sharing, PipelineError> {
    Fronts::of(tenants, has_deadline)?.unhindered()
}

/// The division with the most rounds, each network by the plan that it has on so many cores.
fn divided(tenants: &[Tenant<'_>], choices: &[Vec<Option<Plan>>]) -> Option<Sharing> {
    let problem = tenants.first()?.problem;
    let value = |tenant: usize, plan: &Plan| 1.0 / (plan.period.seconds().max(1e-12) * tenants[tenant].weight);
    let shares = divide(problem, choices, value)?;
    let plans: Vec<Plan> =
        choices.iter().zip(shares).filter_map(|(plans, cores)| plans.get(cores.index()).cloned().flatten()).collect();
    let mut given = vec![0; problem.cluster_count()];
    let schedules = tenants.iter().zip(&plans).map(|(tenant, plan)| tenant.problem.schedule_after(plan, &mut given));
    let schedules = schedules.collect();
    let rounds = plans.iter().enumerate().map(|(tenant, plan)| value(tenant, plan));
    let rounds_per_second = rounds.fold(f64::INFINITY, f64::min);
    Some(Sharing { rounds_per_second, takes_turns: false, schedules, plans })
}

/// What a division is worth to the networks that it serves: first the one that it serves worst, then all together.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Worth {
    least: f64,
    sum: f64,
}

/// How many processors each gets so that the least value is as high as possible.
fn divide(problem: &Problem, choices: &[Vec<Option<Plan>>], value: impl Fn(usize, &Plan) -> f64) -> Option<Vec<Cores>> {
    let counts = problem.counts();
    let mut best: Vec<Option<Worth>> = vec![Some(Worth { least: f64::INFINITY, sum: 0.0 }); counts.len()];
    // By network: the cores that it has, by those that it and the ones before it have together.
    let mut chosen: Vec<Vec<Cores>> = Vec::new();

    for (tenant, plans) in choices.iter().enumerate() {
        let mut next: Vec<Option<Worth>> = vec![None; counts.len()];
        let mut choice = vec![Cores::NONE; counts.len()];
        for (cores, plan) in counts.all().zip(plans) {
            let Some(rate) = plan.as_ref().map(|plan| value(tenant, plan)) else { continue };
            for used in counts.with_room_for(cores) {
                let Some(Worth { least, sum }) = best[used.index()] else { continue };
                let candidate = Worth { least: least.min(rate), sum: sum + rate };
                let together = (used + cores).index();
                if next[together].is_none_or(|best| candidate > best) {
                    (next[together], choice[together]) = (Some(candidate), cores);
                }
            }
        }
        best = next;
        chosen.push(choice);
    }

    let last = counts.all().filter_map(|used| Some((best[used.index()]?, used)));
    let (_, mut used) =
        last.max_by(|(one, _), (other, _)| one.least.total_cmp(&other.least).then(one.sum.total_cmp(&other.sum)))?;
    let mut shares = Vec::with_capacity(choices.len());
    for choice in chosen.iter().rev() {
        shares.push(choice[used.index()]);
        used = used - choice[used.index()];
    }
    shares.reverse();
    Some(shares)
}

/// Why networks can't run beside each other: what the first takes that has no room even alone, if memory is what one
/// lacks.
fn beyond_memory(tenants: &[Tenant<'_>]) -> PipelineError {
    let of_memory = |error: &PipelineError| matches!(error, PipelineError::Memory { .. });
    let errors = tenants.iter().filter_map(|tenant| best_period(tenant.problem).err());
    errors.into_iter().find(of_memory).unwrap_or(PipelineError::Infeasible)
}

/// Why there is no division: the network that misses its deadline by most where the worst miss is least.
fn obstacle(tenants: &[Tenant<'_>]) -> PipelineError {
    let Some(first) = tenants.first() else { return PipelineError::Infeasible };
    let quickest = |tenant: &Tenant<'_>, cores: Cores| {
        let front = if cores == Cores::NONE { None } else { pareto_front(&tenant.problem.within(cores)).ok() };
        front.and_then(|front| front.into_iter().next())
    };
    let choices: Vec<Vec<Option<Plan>>> = tenants
        .iter()
        .map(|tenant| first.problem.counts().all().map(|cores| quickest(tenant, cores)).collect())
        .collect();

    let slack = |tenant: usize, plan: &Plan| match tenants[tenant].deadline {
        Some(deadline) => deadline.seconds() / plan.latency.seconds().max(1e-12),
        None => f64::MAX,
    };
    let Some(shares) = divide(first.problem, &choices, slack) else { return beyond_memory(tenants) };
    let plans = choices.iter().zip(shares).filter_map(|(plans, cores)| plans.get(cores.index()).cloned().flatten());
    let worst = plans.enumerate().min_by(|one, other| slack(one.0, &one.1).total_cmp(&slack(other.0, &other.1)));
    worst.map_or(PipelineError::Infeasible, |(tenant, plan)| missed_deadline(&tenants[tenant], &plan))
}

/// Why a network misses its deadline whose quickest plan beside others is this.
fn missed_deadline(tenant: &Tenant<'_>, plan: &Plan) -> PipelineError {
    let network = tenant.name.to_owned();
    if let Some(deadline) = tenant.deadline.filter(|&deadline| plan.latency <= deadline) {
        return PipelineError::DeadlineBeside { network, deadline, least: plan.latency };
    }

    let longest = plan.stages.iter().max_by_key(|stage| stage.times().into_iter().max());
    let (Some(stage), Some(deadline)) = (longest, tenant.deadline) else { return PipelineError::Infeasible };
    PipelineError::Deadline {
        network,
        deadline,
        least: plan.latency,
        configuration: plan.configuration(),
        bottleneck: Plan { stages: vec![stage.clone()], ..plan.clone() }.configuration(),
        takes: stage.times().into_iter().max().unwrap_or_default(),
    }
}
