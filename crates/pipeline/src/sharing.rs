//! Several networks on one board.

use millstream_cost::Nanoseconds;
use millstream_schedule::Schedule;

use crate::cores::Cores;
use crate::least_memory::LeastMemory;
use crate::{PipelineError, Plan, Problem, best_period, pareto_front};

/// A network that shares a board with others.
#[derive(Debug, Clone, Copy)]
pub struct Tenant<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// Its stage times on the whole board; all tenants' problems are of the same board.
    pub problem: &'a Problem,
    /// How many of its frames there are for each frame of a network with weight 1.
    pub weight: f64,
    /// The longest time of a frame through its pipeline.
    pub deadline: Option<Nanoseconds>,
}

/// How networks share a board.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// A plan for each network.
    pub plans: Vec<Plan>,
    /// The plans as schedules.
    pub schedules: Vec<Schedule>,
    /// Whether the networks take turns on the same processors; if not, no two use the same core or accelerator.
    pub takes_turns: bool,
    /// How often a second all of them can pass as many frames as their weights say.
    pub rounds_per_second: f64,
}

impl Sharing {
    /// How often a second the rounds of frames would pass if one network after the other had the whole board.
    pub fn rounds_in_turn(tenants: &[Tenant<'_>], plans: &[Plan]) -> f64 {
        let seconds = tenants.iter().zip(plans).map(|(tenant, plan)| tenant.weight * plan.period.seconds());
        1.0 / seconds.sum::<f64>().max(1e-12)
    }
}

/// Parts of a network's deadline, or of the latency of its pipeline with the shortest period, that a frame alone may take where networks
/// take turns: the shorter its way, the less it waits for others.
const PARTS_OF_LATENCY: [f64; 8] = [1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1];

/// Parts of deadlines that divisions are planned for, one after the other, as long as networks hold each other up too much.
const PARTS_OF_DEADLINE: [f64; 4] = [1.0, 0.95, 0.9, 0.8];

/// Who has processors of their own waits for nobody: turns must be better by more than this, which rates of simulations may be off by.
const AS_GOOD: f64 = 1e-3;

/// The better of dividing the processors among the networks ([`divide_processors`]) and of taking turns on all of them, by how often
/// rounds of frames pass.
///
/// What networks wait for each other is not known here: `rounds` says how often a second rounds pass, or `None` if a deadline is missed.
/// It is asked of a few choices of pipelines that take turns, and of divisions: of the best there is if nobody waits, and if that misses
/// deadlines, of the best for shorter ones.
///
/// # Errors
/// As [`divide_processors`], if taking turns is not possible either.
pub fn share(tenants: &[Tenant<'_>], rounds: impl Fn(&Sharing) -> Option<f64>) -> Result<Sharing, PipelineError> {
    let turns = best_turns(tenants, &rounds);
    let divided = divide_in_time(tenants, &rounds);
    match (divided, turns) {
        (Ok(divided), Some(turns)) if turns.rounds_per_second > divided.rounds_per_second * (1.0 + AS_GOOD) => {
            Ok(turns)
        }
        (Err(_), Some(turns)) => Ok(turns),
        (divided, _) => divided,
    }
}

/// The best division of which it is known that it keeps to the deadlines: planned for these or, where networks then hold each other up, for
/// shorter ones.
fn divide_in_time(tenants: &[Tenant<'_>], rounds: &impl Fn(&Sharing) -> Option<f64>) -> Result<Sharing, PipelineError> {
    let has_deadlines = tenants.iter().any(|tenant| tenant.deadline.is_some());
    let parts = if has_deadlines { &PARTS_OF_DEADLINE[..] } else { &PARTS_OF_DEADLINE[..1] };
    for part in parts {
        let shorter = |own: Nanoseconds| Nanoseconds((own.0 as f64 * part) as u64);
        let hurried: Vec<Tenant<'_>> =
            tenants.iter().map(|own| Tenant { deadline: own.deadline.map(shorter), ..*own }).collect();
        let divided = match divide_processors(&hurried) {
            // What is in the way of the deadlines themselves is to be told.
            Err(error) if *part == 1.0 => return Err(error),
            Err(_) => break,
            Ok(divided) => divided,
        };
        if let Some(rounds_per_second) = rounds(&divided) {
            return Ok(Sharing { rounds_per_second, ..divided });
        }
    }
    Err(obstacle(tenants))
}

/// The same networks, each with a part of the memory that the board's processors share: in proportion to what each holds at least. What they
/// hold all together then fits.
///
/// # Errors
/// [`PipelineError::MemoryTogether`] if not even that fits.
pub fn divide_memory(problems: &[Problem]) -> Result<Vec<Problem>, PipelineError> {
    let needed = |problem: &Problem| {
        let capacity = problem.capacity.as_ref();
        // What can't run at all holds nothing, and is told of when it is planned.
        capacity.and_then(|own| LeastMemory::of(problem, own).bytes()).unwrap_or(0)
    };
    let least_bytes = problems.iter().map(needed).fold(0, u64::saturating_add);
    let most_bytes = problems.iter().filter_map(|own| Some(own.capacity.as_ref()?.bytes())).min().unwrap_or(u64::MAX);
    if least_bytes > most_bytes {
        return Err(PipelineError::MemoryTogether { least_bytes, most_bytes });
    }
    let part = |problem: &Problem| {
        let share = u128::from(most_bytes) * u128::from(needed(problem)) / u128::from(least_bytes.max(1));
        let bytes = u64::try_from(share).unwrap_or(u64::MAX);
        Problem { capacity: problem.capacity.as_ref().map(|own| own.within(bytes)), ..problem.clone() }
    };
    Ok(problems.iter().map(part).collect())
}

/// Gives every network the whole board in turn, with its best pipeline there whatever its deadline; rounds are counted as if they
/// changed over at no cost.
///
/// # Errors
/// As [`best_period`].
pub fn take_turns(tenants: &[Tenant<'_>]) -> Result<Sharing, PipelineError> {
    let plans: Vec<Plan> = tenants.iter().map(|tenant| best_period(tenant.problem)).collect::<Result<_, _>>()?;
    Ok(in_turn(tenants, plans))
}

fn in_turn(tenants: &[Tenant<'_>], plans: Vec<Plan>) -> Sharing {
    let schedules = tenants.iter().zip(&plans).map(|(tenant, plan)| tenant.problem.schedule(plan)).collect();
    Sharing { rounds_per_second: Sharing::rounds_in_turn(tenants, &plans), takes_turns: true, schedules, plans }
}

/// The best that was found of networks that take turns: first with pipelines of shorter and shorter latencies for all of them, and then with
/// one network's pipeline exchanged after the other, as long as that helps.
fn best_turns(tenants: &[Tenant<'_>], rounds_of_turns: &impl Fn(&Sharing) -> Option<f64>) -> Option<Sharing> {
    let fronts: Vec<Vec<Plan>> =
        tenants.iter().map(|tenant| pareto_front(tenant.problem)).collect::<Result<_, _>>().ok()?;
    let options: Vec<Vec<&Plan>> = tenants.iter().zip(&fronts).map(|(tenant, front)| options(tenant, front)).collect();
    let rated = |choice: &[usize]| {
        let plans: Option<Vec<Plan>> =
            options.iter().zip(choice).map(|(own, &at)| own.get(at).copied().cloned()).collect();
        let turns = in_turn(tenants, plans?);
        Some(Sharing { rounds_per_second: rounds_of_turns(&turns)?, ..turns })
    };
    let mut best: Option<(Sharing, Vec<usize>)> = None;
    let keep = |choice: Vec<usize>, best: &mut Option<(Sharing, Vec<usize>)>| {
        let Some(turns) = rated(&choice) else { return false };
        let is_better = best.as_ref().is_none_or(|(best, _)| best.rounds_per_second < turns.rounds_per_second);
        if is_better {
            *best = Some((turns, choice));
        }
        is_better
    };

    for at in 0..PARTS_OF_LATENCY.len() {
        keep(options.iter().map(|own| at.min(own.len().saturating_sub(1))).collect(), &mut best);
    }
    loop {
        let mut is_better = false;
        for (tenant, own) in options.iter().enumerate() {
            for at in 0..own.len() {
                let (_, mut choice) = best.clone()?;
                choice[tenant] = at;
                is_better |= keep(choice, &mut best);
            }
        }
        if !is_better {
            return best.map(|(turns, _)| turns);
        }
    }
}

/// For each part of what a frame may take, the plan with the shortest period through which a frame alone takes no more; each once.
fn options<'a>(tenant: &Tenant<'_>, front: &'a [Plan]) -> Vec<&'a Plan> {
    let Some(most) = tenant.deadline.or(front.last().map(|plan| plan.latency)) else { return Vec::new() };
    let within = |part: f64| last_within(front, Nanoseconds((most.0 as f64 * part) as u64));
    let mut options: Vec<&Plan> = PARTS_OF_LATENCY.into_iter().filter_map(within).collect();
    options.dedup();
    options
}

/// Divides the board's processors among networks so that rounds of frames, as many of each as its weight says, pass as often as possible
/// and every network keeps to its deadline.
///
/// Exact among divisions that give every core and accelerator to one network, for problems without teams: the best pipeline of each network for
/// every set of processors is found by [`best_period`] and [`pareto_front`], and dynamic programming over (networks, processors given away)
/// finds the division.
///
/// # Errors
/// [`PipelineError::Deadline`] if deadlines can't be met, with the network and the stage that stand in the way;
/// [`PipelineError::Infeasible`] if the networks can't run beside each other at all.
pub fn divide_processors(tenants: &[Tenant<'_>]) -> Result<Sharing, PipelineError> {
    let Some(first) = tenants.first() else { return Err(PipelineError::Infeasible) };
    let counts = &first.problem.counts;
    let choices: Vec<Vec<Option<Plan>>> = tenants
        .iter()
        .map(|tenant| counts.all().map(|cores| best_within(tenant, cores)).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()?;
    let value = |tenant: usize, plan: &Plan| 1.0 / (plan.period.seconds().max(1e-12) * tenants[tenant].weight);
    let Some(shares) = divide(first.problem, &choices, value) else { return Err(obstacle(tenants)) };
    let plans: Vec<Plan> =
        choices.iter().zip(shares).filter_map(|(own, cores)| own.get(cores.index()).cloned().flatten()).collect();
    let mut given = vec![0; first.problem.clusters()];
    let schedules = tenants.iter().zip(&plans).map(|(tenant, plan)| tenant.problem.schedule_after(plan, &mut given));
    let schedules = schedules.collect();
    let rounds = plans.iter().enumerate().map(|(tenant, plan)| value(tenant, plan));
    let rounds_per_second = rounds.fold(f64::INFINITY, f64::min);
    Ok(Sharing { rounds_per_second, takes_turns: false, schedules, plans })
}

/// The plan with the shortest period on at most these processors that keeps to the deadline.
fn best_within(tenant: &Tenant<'_>, cores: Cores) -> Result<Option<Plan>, PipelineError> {
    if cores == Cores::NONE {
        return Ok(None);
    }
    let problem = tenant.problem.within(cores);
    let found = match tenant.deadline {
        None => best_period(&problem).map(Some),
        Some(deadline) => pareto_front(&problem).map(|front| last_within(&front, deadline).cloned()),
    };
    match found {
        Err(PipelineError::Infeasible | PipelineError::Memory { .. }) => Ok(None),
        other => other,
    }
}

/// The plan with the shortest period among those within a latency.
fn last_within(front: &[Plan], most: Nanoseconds) -> Option<&Plan> {
    // From the lowest latency to the shortest period.
    front.iter().take_while(|plan| plan.latency <= most).last()
}

/// How many processors each gets so that the least value is as high as possible.
fn divide(problem: &Problem, choices: &[Vec<Option<Plan>>], value: impl Fn(usize, &Plan) -> f64) -> Option<Vec<Cores>> {
    let counts = &problem.counts;
    let mut best: Vec<Option<(f64, f64)>> = vec![Some((f64::INFINITY, 0.0)); counts.len()];
    let mut chosen: Vec<Vec<Cores>> = Vec::new();
    for (tenant, plans) in choices.iter().enumerate() {
        let mut next: Vec<Option<(f64, f64)>> = vec![None; counts.len()];
        let mut choice = vec![Cores::NONE; counts.len()];
        for (cores, plan) in counts.all().zip(plans) {
            let Some(own) = plan.as_ref().map(|plan| value(tenant, plan)) else { continue };
            for used in counts.with_room_for(cores) {
                let Some((least, sum)) = best[used.index()] else { continue };
                let candidate = (least.min(own), sum + own);
                let together = (used + cores).index();
                if next[together].is_none_or(|known| candidate > known) {
                    (next[together], choice[together]) = (Some(candidate), cores);
                }
            }
        }
        best = next;
        chosen.push(choice);
    }

    let last = counts.all().filter_map(|used| Some((best[used.index()]?, used)));
    let (_, mut used) = last.max_by(|one, other| one.0.0.total_cmp(&other.0.0).then(one.0.1.total_cmp(&other.0.1)))?;
    let mut shares = Vec::with_capacity(choices.len());
    for choice in chosen.iter().rev() {
        shares.push(choice[used.index()]);
        used = used - choice[used.index()];
    }
    shares.reverse();
    Some(shares)
}

/// Why networks can't run beside each other: what the first takes that has no room even alone, if memory is what one lacks.
fn beyond_memory(tenants: &[Tenant<'_>]) -> PipelineError {
    let of_memory = |error: &PipelineError| matches!(error, PipelineError::Memory { .. });
    let errors = tenants.iter().filter_map(|tenant| best_period(tenant.problem).err());
    errors.into_iter().find(of_memory).unwrap_or(PipelineError::Infeasible)
}

/// Why there is no division: the network that misses its deadline by most where the worst miss is least.
fn obstacle(tenants: &[Tenant<'_>]) -> PipelineError {
    let Some(first) = tenants.first() else { return PipelineError::Infeasible };
    let quickest = |tenant: &Tenant<'_>, cores: Cores| {
        let found = if cores == Cores::NONE { None } else { pareto_front(&tenant.problem.within(cores)).ok() };
        found.and_then(|front| front.into_iter().next())
    };
    let choices: Vec<Vec<Option<Plan>>> = tenants
        .iter()
        .map(|tenant| first.problem.counts.all().map(|cores| quickest(tenant, cores)).collect())
        .collect();
    let slack = |tenant: usize, plan: &Plan| match tenants[tenant].deadline {
        Some(deadline) => deadline.seconds() / plan.latency.seconds().max(1e-12),
        None => f64::MAX,
    };
    let Some(shares) = divide(first.problem, &choices, slack) else { return beyond_memory(tenants) };
    let plans = choices.iter().zip(shares).filter_map(|(own, cores)| own.get(cores.index()).cloned().flatten());
    let worst = plans.enumerate().min_by(|one, other| slack(one.0, &one.1).total_cmp(&slack(other.0, &other.1)));
    let Some((tenant, plan)) = worst else { return PipelineError::Infeasible };
    if let Some(deadline) = tenants[tenant].deadline.filter(|&deadline| plan.latency <= deadline) {
        let network = tenants[tenant].name.to_owned();
        return PipelineError::DeadlineBeside { network, deadline, least: plan.latency };
    }

    let longest = plan.stages.iter().max_by_key(|stage| stage.times().into_iter().max());
    let (Some(stage), Some(deadline)) = (longest, tenants[tenant].deadline) else { return PipelineError::Infeasible };
    PipelineError::Deadline {
        network: tenants[tenant].name.to_owned(),
        deadline,
        least: plan.latency,
        configuration: plan.configuration(),
        bottleneck: Plan { stages: vec![stage.clone()], ..plan.clone() }.configuration(),
        takes: stage.times().into_iter().max().unwrap_or_default(),
    }
}
