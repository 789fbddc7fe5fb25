//! The better of two ways to share a board: dividing its processors among the networks, or time sharing.

use millstream_cost::Nanoseconds;

use crate::best_period;
use crate::error::PipelineError;
use crate::front::pareto_front::pareto_front;
use crate::memory::least_memory::LeastMemory;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::sharing::processor_division::{divide_as_rated, last_within};
use crate::sharing::tenant::{Sharing, Tenant};

/// Parts of a network's deadline, and of the latency of its pipeline with the shortest period, that a frame alone may
/// take where networks take turns: the shorter its way, the less it waits for others.
const PARTS_OF_LATENCY: [f64; 8] = [1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1];

/// The better of dividing the processors among the networks ([`divide_processors`](crate::divide_processors)) and of
/// taking turns on all of them, by how often rounds of frames pass.
///
/// What networks wait for each other is not known here: `rounds` says how often a second rounds pass, or `None` if a
/// deadline is missed. It is asked of a few choices of pipelines that take turns, and of divisions: of the best there
/// is without waiting, and where networks do wait, of those for lower latencies, as long as these may pass more.
///
/// # Errors
/// As [`divide_processors`](crate::divide_processors), if taking turns is not possible either.
pub fn share(tenants: &[Tenant<'_>], rounds: impl Fn(&Sharing) -> Option<f64>) -> Result<Sharing, PipelineError> {
    let turns = best_turns(tenants, &rounds);
    let divided = divide_as_rated(tenants, &rounds);
    match (divided, turns) {
        // A network with processors of its own waits for no other.
        (Ok(divided), Some(turns)) if turns.passes_more_than(&divided) => Ok(turns),
        (Err(_), Some(turns)) => Ok(turns),
        (divided, _) => divided,
    }
}

/// The networks' problems, each with a part of the memory that the board's processors share: in proportion to what each
/// holds at least. What they hold all together then fits.
///
/// # Errors
/// [`PipelineError::MemoryTogether`] if not even that fits.
pub fn divide_memory(problems: &[Problem]) -> Result<Vec<Problem>, PipelineError> {
    let needed = |problem: &Problem| {
        let capacity = problem.costs.capacity.as_ref();
        // What can't run at all holds nothing, and is told of when it is planned.
        capacity.and_then(|capacity| LeastMemory::of(problem, capacity).bytes()).unwrap_or(0)
    };
    let needed: Vec<u64> = problems.iter().map(needed).collect();
    let least_bytes = needed.iter().copied().fold(0, u64::saturating_add);
    let most_bytes =
        problems.iter().filter_map(|problem| Some(problem.costs.capacity.as_ref()?.bytes())).min().unwrap_or(u64::MAX);
    if least_bytes > most_bytes {
        return Err(PipelineError::MemoryTogether { least_bytes, most_bytes });
    }
    let part = |(problem, needed): (&Problem, u64)| {
        let share = u128::from(most_bytes) * u128::from(needed) / u128::from(least_bytes.max(1));
        problem.with_memory(u64::try_from(share).unwrap_or(u64::MAX))
    };
    Ok(problems.iter().zip(needed).map(part).collect())
}

/// Time sharing: gives every network the whole board in turn, with its best pipeline there whatever its deadline;
/// rounds are counted as if they changed over at no cost.
///
/// # Errors
/// As [`best_period()`].
pub fn take_turns(tenants: &[Tenant<'_>]) -> Result<Sharing, PipelineError> {
    let plans: Vec<Plan> = tenants.iter().map(|tenant| best_period(tenant.problem)).collect::<Result<_, _>>()?;
    Ok(in_turn(tenants, plans))
}

fn in_turn(tenants: &[Tenant<'_>], plans: Vec<Plan>) -> Sharing {
    let schedules = tenants.iter().zip(&plans).map(|(tenant, plan)| tenant.problem.schedule(plan)).collect();
    Sharing { rounds_per_second: Sharing::rounds_in_turn(tenants, &plans), takes_turns: true, schedules, plans }
}

/// The best that was found of networks that take turns: first with pipelines of shorter and shorter latencies for all
/// of them, and then with one network's pipeline exchanged after the other, as long as that helps.
fn best_turns(tenants: &[Tenant<'_>], rounds: &impl Fn(&Sharing) -> Option<f64>) -> Option<Sharing> {
    let fronts: Vec<Vec<Plan>> =
        tenants.iter().map(|tenant| pareto_front(tenant.problem)).collect::<Result<_, _>>().ok()?;
    let options: Vec<Vec<&Plan>> = tenants.iter().zip(&fronts).map(|(tenant, front)| options(tenant, front)).collect();
    let mut turns = TurnSearch { tenants, options: &options, rounds, best: None };
    for at in 0..2 * PARTS_OF_LATENCY.len() {
        turns.try_choice(options.iter().map(|plans| at.min(plans.len().saturating_sub(1))).collect());
    }
    loop {
        let mut is_better = false;
        for (tenant, plans) in options.iter().enumerate() {
            for at in 0..plans.len() {
                let mut choice = turns.best.as_ref()?.choice.clone();
                choice[tenant] = at;
                is_better |= turns.try_choice(choice);
            }
        }
        if !is_better {
            return turns.best.map(|best| best.turns);
        }
    }
}

/// The search among pipelines of networks that take turns.
struct TurnSearch<'a, Rounds> {
    tenants: &'a [Tenant<'a>],
    /// By network: the pipelines to choose from.
    options: &'a [Vec<&'a Plan>],
    /// As for [`share`].
    rounds: &'a Rounds,
    /// The best so far.
    best: Option<ChosenTurns>,
}

/// Networks that take turns.
struct ChosenTurns {
    turns: Sharing,
    /// For each network, the place of its pipeline among its options.
    choice: Vec<usize>,
}

impl<Rounds: Fn(&Sharing) -> Option<f64>> TurnSearch<'_, Rounds> {
    /// Rates a choice of pipelines, and keeps it if it is the best so far; returns whether it is.
    fn try_choice(&mut self, choice: Vec<usize>) -> bool {
        let Some(turns) = self.rated(&choice) else { return false };
        let is_better = self.best.as_ref().is_none_or(|best| best.turns.rounds_per_second < turns.rounds_per_second);
        if is_better {
            self.best = Some(ChosenTurns { turns, choice });
        }
        is_better
    }

    /// Turns with these pipelines; `None` if a network has none, or a deadline is missed.
    fn rated(&self, choice: &[usize]) -> Option<Sharing> {
        let chosen = self.options.iter().zip(choice).map(|(plans, &at)| plans.get(at).copied().cloned());
        let turns = in_turn(self.tenants, chosen.collect::<Option<Vec<Plan>>>()?);
        Some(Sharing { rounds_per_second: (self.rounds)(&turns)?, ..turns })
    }
}

/// For each part of the longest latency, and of what a frame may take, the plan with the shortest period through which
/// a frame alone takes no more; each once.
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
