//! Plans on boards whose processors compete for the bandwidth of their memory.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread;

use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_mapping::on_threads;
use millstream_pipeline::{
    Constraints, Nanojoules, Objective, Plan, Problem, choose, pareto_front, whole_network_plans,
};
use millstream_schedule::Schedule;
use millstream_sim::SteadyState;

use crate::error::Error;
use crate::network::Network;
use crate::plans::Aim;

/// Parts of the bandwidth that each processor is thought to get, one after the other: what is best for many that want
/// much at once is not what is best for few.
const PARTS: [f64; 2] = [0.5, 0.25];
/// By what part a short simulation is thought to be from a long one at most.
const LARGEST_ERROR: f64 = 0.05;
/// Frames of a simulation that shows about what a plan is good for.
const FEW_FRAMES: usize = 300;
/// Plans that an objective looks at before it takes one of those that it knows.
const MOST_STEPS: usize = 60;
/// Of long fronts so many plans are simulated, evenly chosen, beside those that are chosen for some objective.
const MOST_SIMULATED: usize = 80;

/// What plans of a network take where all processors share a memory of limited bandwidth.
pub(crate) struct SharedMemory<'a> {
    network: &'a Network,
    board: &'a Board,
    table: &'a CostTable,
    /// The same as if each processor had all of the memory's bandwidth.
    searched: CostTable,
    bytes_per_second: f64,
}

impl<'a> SharedMemory<'a> {
    /// `None` if the board does not say what its memory moves.
    pub(crate) fn new(network: &'a Network, board: &'a Board, table: &'a CostTable) -> Option<Self> {
        let bytes_per_second = board.memory_bytes_per_second()?;
        let searched = table.within_memory(network.graph(), bytes_per_second);
        Some(Self { network, board, table, searched, bytes_per_second })
    }

    /// The plan with the numbers that a simulation of so many frames shows.
    pub(crate) fn simulated(&self, problem: &Problem, plan: &Plan, frames: usize) -> Result<Plan, Error> {
        let schedule = problem.schedule(plan);
        let plan = simulated(plan, &schedule, self.network, self.table, Some(self.bytes_per_second), frames)?;
        // Of few frames, a simulation may show a little less than what is possible even if nobody waits for memory.
        let unhindered = schedule.evaluate(self.network.graph(), &self.searched)?.least_period();
        Ok(Plan { period: plan.period.max(unhindered), ..plan })
    }

    /// Plans that others would beat if nobody waited for memory; not all of them if it should stop.
    pub(crate) fn modest_plans(&self, should_stop: &dyn Fn() -> bool) -> Result<ModestPlans, Error> {
        let problem = |part: f64| {
            let table = self.table.within_memory(self.network.graph(), part * self.bytes_per_second);
            Problem::new(self.network.graph(), self.network.chain(), self.board, &table)
        };
        let all = problem(1.0)?;
        let mut plans = ModestPlans { whole_networks: whole_network_plans(&all), ..ModestPlans::default() };
        for part in PARTS {
            if should_stop() {
                return Ok(plans);
            }
            plans.starved.extend(pareto_front(&problem(part)?)?);
        }
        for problem in [all.clone(), all.without_replicas()] {
            if should_stop() {
                return Ok(plans);
            }
            plans.single_processors.extend(pareto_front(&problem)?);
        }
        Ok(plans)
    }

    /// Of plans that a search on [costs within the memory's bandwidth](CostTable::within_memory_of) found, and of
    /// [modest](Self::modest_plans) ones, those that have been simulated: all of a short front; of a long one some, and
    /// for longer whatever is best for an objective.
    pub(crate) fn simulated_front(
        &self,
        problem: &Problem,
        plans: Vec<Plan>,
        modest: ModestPlans,
        aim: &Aim,
    ) -> Result<Vec<Plan>, Error> {
        let mut plans = plans;
        let mut places = BTreeSet::new();
        let mut begin = 0;
        for more in [modest.starved, modest.single_processors] {
            for plan in more {
                place_of(plan, &mut plans);
            }
            let step = (plans.len() - begin).div_ceil(MOST_SIMULATED).max(1);
            places.extend((begin..plans.len()).step_by(step));
            begin = plans.len();
        }
        places.extend(modest.whole_networks.into_iter().map(|plan| place_of(plan, &mut plans)));
        let places: Vec<usize> = places.into_iter().collect();

        let mut known: Vec<Known> = vec![Known::Searched; plans.len()];
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        for (place, glimpsed) in self.simulate_briefly(problem, &plans, &places, threads) {
            (plans[place], known[place]) = (glimpsed?, Known::Glimpsed);
        }
        // What would be chosen without limits is looked at as long as ever, so that limits are held against the same
        // numbers.
        let (unlimited, limits) = (Constraints::default(), aim.limits());
        self.look_at_best(problem, &mut plans, &mut known, &unlimited)?;
        if limits != unlimited {
            self.look_at_best(problem, &mut plans, &mut known, &limits)?;
        }

        let looked_at = plans.into_iter().zip(known).filter(|(_, known)| *known != Known::Searched);
        let mut looked_at: Vec<(Plan, Known)> = looked_at.collect();
        self.simulate_chosen(problem, &mut looked_at, aim)?;
        Ok(looked_at.into_iter().map(|(plan, _)| plan).collect())
    }

    /// Short simulations of the plans at some places, each on whichever of so many threads is free.
    fn simulate_briefly(
        &self,
        problem: &Problem,
        plans: &[Plan],
        places: &[usize],
        threads: usize,
    ) -> Vec<(usize, Result<Plan, Error>)> {
        let simulate = |piece: usize| {
            let place = places[piece];
            (place, self.simulated(problem, &plans[place], FEW_FRAMES))
        };
        on_threads(threads, places.len(), simulate)
    }

    /// Simulates what is best for each objective within limits until what is best has been simulated for long.
    ///
    /// Simulated numbers are hardly ever better than the others: what is best with them is best. Where too many look
    /// better than they are, the best of those is taken that have been looked at. What short simulations see just
    /// beyond a limit may be within it.
    fn look_at_best(
        &self,
        problem: &Problem,
        plans: &mut [Plan],
        known: &mut [Known],
        limits: &Constraints,
    ) -> Result<(), Error> {
        let nearly = limits.divided_by(1.0 - LARGEST_ERROR);
        for objective in Objective::ALL {
            for steps in 0.. {
                let is_open = |place: &usize| steps < MOST_STEPS || known[*place] != Known::Searched;
                let may_be_allowed = |place: &usize| match known[*place] {
                    Known::Glimpsed => nearly.allow(&plans[*place]),
                    Known::Searched | Known::Simulated => limits.allow(&plans[*place]),
                };
                let allowed: Vec<usize> = (0..plans.len()).filter(may_be_allowed).filter(is_open).collect();
                let among: Vec<&Plan> = allowed.iter().map(|&place| &plans[place]).collect();
                let Some(&best) = choose(&among, objective).and_then(|index| allowed.get(index)) else { break };
                (plans[best], known[best]) = match known[best] {
                    Known::Searched => (self.simulated(problem, &plans[best], FEW_FRAMES)?, Known::Glimpsed),
                    Known::Glimpsed => (self.simulated(problem, &plans[best], SteadyState::FRAMES)?, Known::Simulated),
                    Known::Simulated => break,
                };
            }
        }
        Ok(())
    }

    /// Simulates for long what objectives choose once plans that others beat are gone: of plans alike, another one may
    /// be left then. So are the ends of the front, which say what limits can be kept.
    fn simulate_chosen(&self, problem: &Problem, looked_at: &mut [(Plan, Known)], aim: &Aim) -> Result<(), Error> {
        let limits = aim.limits();
        loop {
            let plans: Vec<Plan> = looked_at.iter().map(|(plan, _)| plan.clone()).collect();
            let front = if aim.wants_energy { Plan::undominated_with_energy(plans) } else { Plan::undominated(plans) };
            let allowed: Vec<&Plan> = front.iter().filter(|plan| limits.allow(plan)).collect();
            let chosen = Objective::ALL.into_iter().filter_map(|objective| allowed.get(choose(&allowed, objective)?));
            let ends = [front.iter().min_by_key(|plan| plan.period), front.iter().min_by_key(|plan| plan.latency)];
            let chosen: Vec<&Plan> = chosen.copied().chain(ends.into_iter().flatten()).collect();

            let is_open = |(plan, known): &(Plan, Known)| {
                *known == Known::Glimpsed && chosen.iter().any(|other| other.is_same_pipeline(plan))
            };
            let Some(place) = looked_at.iter().position(is_open) else { return Ok(()) };
            let plan = self.simulated(problem, &looked_at[place].0, SteadyState::FRAMES)?;
            looked_at[place] = (plan, Known::Simulated);
        }
    }
}

/// A plan with the numbers of its steady state over so many frames. Nothing is below the least that its evaluation
/// says.
pub(crate) fn simulated(
    plan: &Plan,
    schedule: &Schedule,
    network: &Network,
    table: &CostTable,
    memory_bytes_per_second: Option<f64>,
    frames: usize,
) -> Result<Plan, Error> {
    let graph = network.graph();
    let SteadyState { evaluation, energy } =
        SteadyState::over(frames, schedule, graph, table, memory_bytes_per_second)?;
    let least = schedule.evaluate(graph, table)?.least_period();
    let times = evaluation.stages.into_iter().map(|stage| stage.replica_times).collect();
    Ok(Plan {
        latency: evaluation.latency,
        energy: energy.map(|energy| Nanojoules::from_joules(energy.joules_per_frame)),
        ..plan.clone().with_measured(times, evaluation.period.max(least))
    })
}

/// Plans that others would beat if nobody waited for memory. They want less of it, or fewer want it at a time.
#[derive(Debug, Default)]
pub(crate) struct ModestPlans {
    /// Those of a single stage.
    whole_networks: Vec<Plan>,
    /// Pipelines of single processors that are good where everybody gets a part of the memory's bandwidth.
    starved: Vec<Plan>,
    /// Pipelines of single processors that are good if everybody gets all of it, with replicas and without.
    single_processors: Vec<Plan>,
}

/// Where a plan is among others, to which it is added if it is not.
fn place_of(plan: Plan, plans: &mut Vec<Plan>) -> usize {
    let known = plans.iter().position(|other| other.is_same_pipeline(&plan));
    known.unwrap_or_else(|| {
        plans.push(plan);
        plans.len() - 1
    })
}

/// Where a plan's numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// From a search, as if nobody waited for memory.
    Searched,
    /// From a short simulation.
    Glimpsed,
    /// From a long one.
    Simulated,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::path::{Path, PathBuf};

    use millstream_onnx::ReadOptions;

    use super::*;
    use crate::machine::Machine;
    use crate::measuring::CostSource;

    fn fixture(folder: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder).join("khadas-vim3.json")
    }

    fn squeezenet() -> (Machine, Network, CostTable) {
        let machine = Machine::read(&fixture("boards")).unwrap();
        let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
        let table = CostSource::Models(&fixture("costs")).table(&network, &machine).unwrap();
        (machine, network, table)
    }

    /// However much else is found.
    #[test]
    fn whole_networks_and_pipelines_without_replicas_are_simulated() {
        let (machine, network, table) = squeezenet();
        let memory = SharedMemory::new(&network, machine.board(), &table).unwrap();
        let problem = Problem::new(network.graph(), network.chain(), machine.board(), &memory.searched).unwrap();
        let modest = memory.modest_plans(&|| false).unwrap();
        let single = pareto_front(&problem.clone().without_replicas()).unwrap();
        let found = |plans: &[Plan], wanted: &Plan| plans.iter().any(|plan| plan.is_same_pipeline(wanted));
        assert!(single.iter().all(|plan| found(&modest.single_processors, plan)));

        let whole = modest.whole_networks.clone();
        let others = modest.starved.len();
        assert!(whole.len() > 6 && others > MOST_SIMULATED, "{} {others}", whole.len());
        let simulated = memory.simulated_front(&problem, Vec::new(), modest, &Aim::default()).unwrap();
        assert!(whole.iter().all(|plan| found(&simulated, plan)));
    }

    #[test]
    fn simulations_are_the_same_on_any_number_of_threads() {
        let (machine, network, table) = squeezenet();
        let memory = SharedMemory::new(&network, machine.board(), &table).unwrap();
        let problem = Problem::new(network.graph(), network.chain(), machine.board(), &memory.searched).unwrap();
        let plans = memory.modest_plans(&|| false).unwrap().starved;
        assert!(plans.len() > 8, "{}", plans.len());
        assert!(memory.modest_plans(&|| true).unwrap().starved.is_empty());
        let places: Vec<usize> = (0..plans.len()).step_by(2).collect();
        let simulated = |threads| -> Vec<(usize, Plan)> {
            let results = memory.simulate_briefly(&problem, &plans, &places, threads);
            results.into_iter().map(|(place, plan)| (place, plan.unwrap())).collect()
        };
        let alone = simulated(1);
        assert_eq!(alone.iter().map(|(place, _)| *place).collect::<Vec<_>>(), places);
        assert!(alone.iter().any(|(place, plan)| plan.period > plans[*place].period));
        assert_eq!(simulated(3), alone);
        assert_eq!(simulated(1000), alone);
    }
}
