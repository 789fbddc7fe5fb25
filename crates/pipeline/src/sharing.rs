//! Several networks on one board.

use millstream_cost::Nanoseconds;

use crate::division::{divide_as_rated, last_within};
use crate::least_memory::LeastMemory;
use crate::tenant::{Sharing, Tenant};
use crate::{PipelineError, Plan, Problem, best_period, pareto_front};

/// Parts of a network's deadline, and of the latency of its pipeline with the shortest period, that a frame alone may take where networks
/// take turns: the shorter its way, the less it waits for others.
const PARTS_OF_LATENCY: [f64; 8] = [1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1];

/// The better of dividing the processors among the networks ([`divide_processors`](crate::divide_processors)) and of taking turns on all of them, by how often
/// rounds of frames pass.
///
/// What networks wait for each other is not known here: `rounds` says how often a second rounds pass, or `None` if a deadline is missed.
/// It is asked of a few choices of pipelines that take turns, and of divisions: of the best there is if nobody waits, and where they do wait,
/// of those for lower latencies, as long as these may pass more.
///
/// # Errors
/// As [`divide_processors`](crate::divide_processors), if taking turns is not possible either.
pub fn share(tenants: &[Tenant<'_>], rounds: impl Fn(&Sharing) -> Option<f64>) -> Result<Sharing, PipelineError> {
    let turns = best_turns(tenants, &rounds);
    let divided = divide_as_rated(tenants, &rounds);
    match (divided, turns) {
        // Who has processors of their own waits for nobody.
        (Ok(divided), Some(turns)) if turns.passes_more_than(&divided) => Ok(turns),
        (Err(_), Some(turns)) => Ok(turns),
        (divided, _) => divided,
    }
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
    let needed: Vec<u64> = problems.iter().map(needed).collect();
    let least_bytes = needed.iter().copied().fold(0, u64::saturating_add);
    let most_bytes = problems.iter().filter_map(|own| Some(own.capacity.as_ref()?.bytes())).min().unwrap_or(u64::MAX);
    if least_bytes > most_bytes {
        return Err(PipelineError::MemoryTogether { least_bytes, most_bytes });
    }
    let part = |(problem, needed): (&Problem, u64)| {
        let share = u128::from(most_bytes) * u128::from(needed) / u128::from(least_bytes.max(1));
        let bytes = u64::try_from(share).unwrap_or(u64::MAX);
        Problem { capacity: problem.capacity.as_ref().map(|own| own.within(bytes)), ..problem.clone() }
    };
    Ok(problems.iter().zip(needed).map(part).collect())
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

    for at in 0..2 * PARTS_OF_LATENCY.len() {
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

/// For each part of the longest latency, and of what a frame may take, the plan with the shortest period through which a frame alone takes no
/// more; each once.
fn options<'a>(tenant: &Tenant<'_>, front: &'a [Plan]) -> Vec<&'a Plan> {
    let longest = front.last().map(|plan| plan.latency);
    let within = |most: Nanoseconds, part: f64| last_within(front, Nanoseconds((most.0 as f64 * part) as u64));
    let of = |most: Nanoseconds| PARTS_OF_LATENCY.into_iter().filter_map(move |part| within(most, part));
    let mut options: Vec<&Plan> = [longest, tenant.deadline].into_iter().flatten().flat_map(of).collect();
    options.retain(|plan| tenant.deadline.is_none_or(|deadline| plan.latency <= deadline));
    options.sort_by_key(|plan| std::cmp::Reverse(plan.latency));
    options.dedup();
    options
}
