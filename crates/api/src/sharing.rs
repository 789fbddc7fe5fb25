//! Several networks that share a board.

use std::cell::Cell;
use std::time::Duration;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_pipeline::{
    Objective, PipelineError, Problem, Sharing, TeamSpace, Tenant, ThroughputBound, divide_as_rated, divide_memory,
    divide_processors, share, take_turns,
};
use millstream_schedule::{
    Energy, Prediction, SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, Schedule, ScheduleDocument, ScheduleSetDocument,
    SharedSchedule, check_memory_together,
};
use millstream_sim::{Conditions, SimulatedNetwork, Simulation, SteadyState, simulate_streams};

use crate::document::document;
use crate::memory_parts::boards_with_parts;
use crate::network_share::check;
use crate::planning::{PlanOn, measured_costs};
use crate::plans::{algorithm, with_timed_engines};
use crate::simulating::rounds_hertz;
use crate::{Control, Error, Machine, Network, NetworkShare};

/// Frames of the network with the fewest, after which a simulation of networks that take turns has shown what frames wait for.
const SIMULATED_ROUNDS: f64 = 400.0;
/// The same where deadlines count: what is late is rare.
const DEADLINE_ROUNDS: f64 = 2000.0;

/// How several networks share a board.
pub struct Shared {
    /// The file of their schedules.
    pub document: ScheduleSetDocument,
    /// Rounds a second of the other way to share, by turns or with processors of their own, where it is possible.
    pub other_rounds_per_second: Option<f64>,
    /// The longest that a frame of each network took in a simulation, where networks take turns.
    pub simulated_latencies: Option<Vec<Duration>>,
}

/// Finds how most rounds of frames of all networks pass a board: by turns on all processors, or each on processors of its own. Which
/// division is best is found exactly where stages run on one processor each; where deadlines cost rounds then, stages of several processors
/// are tried as well. What networks that take turns wait for each other is simulated, and their rounds are as simulated.
///
/// # Errors
/// [`Error::Pipeline`] if the deadlines can't all be met, [`Error::Unfit`] without a share for each network; whatever keeps costs from being known.
pub fn plan_shared(
    machine: &Machine,
    networks: &[Network],
    shares: &[NetworkShare],
    on: PlanOn<'_>,
    control: &Control,
) -> Result<Shared, Error> {
    check(networks, shares)?;
    let board = machine.board();
    let costs = |network: &Network| match on {
        PlanOn::Costs(costs) => costs.table(network, machine),
        PlanOn::ThisMachine => Ok(measured_costs(machine, network, None, control)?.0),
        PlanOn::ThisMachineAnew(budget) => Ok(measured_costs(machine, network, Some(budget), control)?.0),
    };
    let tables: Vec<CostTable> = networks.iter().map(costs).collect::<Result<_, Error>>()?;
    let ground = Ground { networks, tables: &tables, shares, board };
    let found = ground.share_within_memory(Teams::Without);
    // Several processors for each frame may keep deadlines that one for each does not keep, or keeps only with fewer frames.
    let is_held_up = match &found {
        Ok((sharing, other)) => ground.is_held_up(sharing, *other),
        Err(Error::Pipeline(error)) => matches!(
            error,
            PipelineError::Deadline { .. } | PipelineError::DeadlineBeside { .. } | PipelineError::Infeasible
        ),
        Err(_) => false,
    };
    let found = if is_held_up { better(found, ground.share_within_memory(Teams::With)) } else { found };
    ground.shared(found?)
}

/// A way to share, and rounds a second of the other one.
type Found = (Sharing, Option<f64>);

/// The one of two ways to share that passes more rounds, beside the best that either found of the other way.
fn better(one: Result<Found, Error>, other: Result<Found, Error>) -> Result<Found, Error> {
    let (one, other) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (found @ Ok(_), Err(_)) | (Err(_), found) => return found,
    };
    let (best, second) = if other.0.passes_more_than(&one.0) { (other, one) } else { (one, other) };
    let is_alike = best.0.takes_turns == second.0.takes_turns;
    let of_second = if is_alike { second.1 } else { Some(second.0.rounds_per_second) };
    let other_rounds = [best.1, of_second].into_iter().flatten().reduce(f64::max);
    Ok((best.0, other_rounds))
}

/// Whether several processors may work on one frame.
#[derive(Debug, Clone, Copy)]
enum Teams {
    With,
    Without,
}

/// Networks that share a board, with what each costs.
struct Ground<'a> {
    networks: &'a [Network],
    tables: &'a [CostTable],
    shares: &'a [NetworkShare],
    board: &'a Board,
}

/// What networks do beside each other, in a simulation.
struct Together {
    rounds_per_second: f64,
    periods_seconds: Vec<f64>,
    /// The longest that a frame of each took: with its waiting for others where networks take turns, without queues where they do not.
    latencies: Vec<Duration>,
    /// Of each, where it is known.
    energies: Vec<Option<Energy>>,
}

impl Ground<'_> {
    /// The search's problem of each network on a board of its own, which differ only in what memory accelerators have.
    fn problems(&self, boards: &[Board], teams: Teams) -> Result<Vec<Problem>, Error> {
        let problem = |((network, table), board): ((&Network, &CostTable), &Board)| {
            let board = &with_timed_engines(board, table);
            let searched = table.within_memory_of(board, network.graph());
            let teams = match teams {
                Teams::With => TeamSpace::of(board).teams(board),
                Teams::Without => Vec::new(),
            };
            Problem::with_teams(network.graph(), network.chain(), board, &searched, &teams)
        };
        Ok(self.networks.iter().zip(self.tables).zip(boards).map(problem).collect::<Result<_, _>>()?)
    }

    /// The best that is found of sharing the board and its memories. Where what is best without a look at memory does not fit, all that fit
    /// are tried, and also what each network does within a part of the memories.
    fn share_within_memory(&self, teams: Teams) -> Result<Found, Error> {
        let is_roomy = Cell::new(true);
        let mut best = self.share(&self.problems(&vec![self.board.clone(); self.networks.len()], teams)?, &is_roomy);
        if is_roomy.get() {
            return best;
        }
        for boards in boards_with_parts(self.board, self.networks)? {
            let divided = divide_memory(&self.problems(&boards, teams)?).map_err(Error::from);
            best = match (best, divided.and_then(|divided| self.share(&divided, &is_roomy))) {
                (Ok(one), Ok(other)) if other.0.rounds_per_second > one.0.rounds_per_second => Ok(other),
                (Ok(one), _) | (Err(_), Ok(one)) => Ok(one),
                (Err(_), Err(error)) => Err(error),
            };
        }
        best
    }

    /// The best that is found of sharing the board, of all that fits into its memories, and rounds a second of the other way to share. Says if
    /// something did not fit.
    fn share(&self, problems: &[Problem], is_roomy: &Cell<bool>) -> Result<Found, Error> {
        let tenants = self.tenants(problems);
        let rate = |sharing: &Sharing| {
            if !self.fit(sharing) {
                is_roomy.set(false);
                return None;
            }
            let Some(together) = self.simulate(sharing).ok()? else { return Some(sharing.rounds_per_second) };
            self.are_in_time(&together).then_some(together.rounds_per_second)
        };
        let sharing = share(&tenants, rate)?;

        let other_rounds_per_second = if sharing.takes_turns {
            divide_as_rated(&tenants, rate).ok().map(|other| other.rounds_per_second)
        } else {
            let turns = take_turns(&tenants).ok().filter(|turns| self.fit(turns));
            turns.and_then(|turns| self.rounds_per_second(&turns))
        };
        Ok((sharing, other_rounds_per_second))
    }

    fn tenants<'p>(&'p self, problems: &'p [Problem]) -> Vec<Tenant<'p>> {
        let tenant = |((network, problem), share): ((&'p Network, &'p Problem), &NetworkShare)| Tenant {
            name: network.name(),
            problem,
            weight: share.weight,
            deadline: share.planned_deadline().map(Nanoseconds::from),
        };
        self.networks.iter().zip(problems).zip(self.shares).map(tenant).collect()
    }

    /// Rounds a second of a way to share, as simulated where networks wait for each other.
    fn rounds_per_second(&self, sharing: &Sharing) -> Option<f64> {
        let together = self.simulate(sharing).ok()?;
        Some(together.map_or(sharing.rounds_per_second, |together| together.rounds_per_second))
    }

    /// Whether a division of the processors, one for each stage, would pass more rounds if nobody had a deadline, or can't be at all.
    fn is_held_up(&self, sharing: &Sharing, other_rounds_per_second: Option<f64>) -> bool {
        if self.shares.iter().all(|share| share.deadline.is_none()) {
            return sharing.takes_turns && other_rounds_per_second.is_none();
        }
        let Ok(problems) = self.problems(&vec![self.board.clone(); self.networks.len()], Teams::Without) else {
            return false;
        };
        let tenants = self.tenants(&problems).into_iter().map(|own| Tenant { deadline: None, ..own });
        let Ok(free) = divide_processors(&tenants.collect::<Vec<_>>()) else { return true };
        let rounds_per_second = self.rounds_per_second(&free).unwrap_or(0.0);
        Sharing { rounds_per_second, ..free }.passes_more_than(sharing)
    }

    /// Whether what all networks hold fits into the memories together.
    fn fit(&self, sharing: &Sharing) -> bool {
        let graphs = self.networks.iter().map(|network| &**network.graph());
        let schedules: Vec<(&Schedule, &Graph)> = sharing.schedules.iter().zip(graphs).collect();
        check_memory_together(&schedules, self.board).is_ok()
    }

    /// The file of what was found.
    fn shared(&self, (sharing, other_rounds_per_second): Found) -> Result<Shared, Error> {
        let graphs = self.networks.iter().map(|network| &**network.graph());
        let schedules: Vec<(&Schedule, &Graph)> = sharing.schedules.iter().zip(graphs).collect();
        check_memory_together(&schedules, self.board)?;
        let together = self.simulate(&sharing)?;
        let document = self.document(&sharing, together.as_ref())?;
        let simulated_latencies = together.filter(|_| sharing.takes_turns).map(|turns| turns.latencies);
        Ok(Shared { document, other_rounds_per_second, simulated_latencies })
    }

    /// Simulates networks that take turns or compete for memory or links, for longer where frames that wait for other networks have deadlines.
    /// `None` if nobody waits for anybody, so that each does what it does alone.
    fn simulate(&self, sharing: &Sharing) -> Result<Option<Together>, Error> {
        let has_deadlines = self.shares.iter().any(|share| share.deadline.is_some());
        match self.simulate_rounds(sharing, SIMULATED_ROUNDS)? {
            Some(short) if sharing.takes_turns && has_deadlines && self.are_in_time(&short) => {
                // Rounds are compared with those of other ways to share, over as many frames.
                let long = self.simulate_rounds(sharing, DEADLINE_ROUNDS)?;
                Ok(long.map(|long| Together { latencies: long.latencies, ..short }))
            }
            found => Ok(found),
        }
    }

    /// Whether all keep to their deadlines.
    fn are_in_time(&self, together: &Together) -> bool {
        together.latencies.iter().zip(self.shares).all(|(&latency, share)| share.is_met_by(latency))
    }

    /// The same over so many frames of the network with the fewest.
    fn simulate_rounds(&self, sharing: &Sharing, rounds: f64) -> Result<Option<Together>, Error> {
        let memory_bytes_per_second = self.board.memory_bytes_per_second();
        if !sharing.takes_turns && memory_bytes_per_second.is_none() && self.board.links().is_empty() {
            return Ok(None);
        }
        let least = self.shares.iter().map(|share| share.weight).fold(f64::INFINITY, f64::min);
        let stream = |(index, share): (usize, &NetworkShare)| SimulatedNetwork {
            weight: share.weight,
            takes_turns: sharing.takes_turns,
            ..SimulatedNetwork::new(
                &sharing.schedules[index],
                self.networks[index].graph(),
                &self.tables[index],
                (share.weight / least * rounds).ceil() as usize,
            )
        };
        let streams: Vec<SimulatedNetwork<'_>> = self.shares.iter().enumerate().map(stream).collect();

        let conditions = Conditions { keeps_all_busy: true, memory_bytes_per_second, ..Conditions::default() };
        let simulations = simulate_streams(&streams, &conditions)?;
        let periods_seconds: Vec<f64> = simulations.iter().map(Simulation::period_seconds).collect();
        let latency = |own: &Simulation| match sharing.takes_turns {
            true => own.worst_latency(),
            false => own.worst_time_in_stages(),
        };
        let weights = self.shares.iter().map(|share| share.weight);
        let ran = simulations.iter().zip(&sharing.schedules).zip(self.tables);
        Ok(Some(Together {
            energies: ran.map(|((own, schedule), table)| own.steady_energy(schedule, table)).collect(),
            rounds_per_second: rounds_hertz(periods_seconds.iter().copied().zip(weights)),
            periods_seconds,
            latencies: simulations.iter().map(|own| Duration::from_nanos(latency(own).0)).collect(),
        }))
    }

    /// The file of the schedules. Of each network it says what it does by itself where it takes turns, and beside the others where it has
    /// processors of its own.
    fn document(&self, sharing: &Sharing, together: Option<&Together>) -> Result<ScheduleSetDocument, Error> {
        let mut shared = Vec::with_capacity(self.networks.len());
        for (index, (network, share)) in self.networks.iter().zip(self.shares).enumerate() {
            let deadline_seconds = share.deadline.map(|deadline| deadline.as_secs_f64());
            let margin = deadline_seconds.and(Some(share.margin).filter(|margin| *margin > 0.0));
            let schedule = self.network_document(sharing, together, (index, network))?;
            shared.push(SharedSchedule { weight: share.weight, deadline_seconds, margin, schedule });
        }
        Ok(ScheduleSetDocument {
            format: SCHEDULE_SET_FORMAT.to_owned(),
            version: SCHEDULE_SET_VERSION,
            rounds_per_second: sharing.rounds_per_second,
            takes_turns: sharing.takes_turns,
            networks: shared,
        })
    }

    fn network_document(
        &self,
        sharing: &Sharing,
        together: Option<&Together>,
        (index, network): (usize, &Network),
    ) -> Result<ScheduleDocument, Error> {
        let (schedule, table, board) = (&sharing.schedules[index], &self.tables[index], self.board);
        let lower_bound = ThroughputBound::of(network.graph(), board, table).period.seconds();
        let alone = SteadyState::of(schedule, network.graph(), table, board.memory_bytes_per_second())?;
        let has_teams = schedule.stages.iter().flat_map(|stage| &stage.replicas).any(|own| own.assignments.len() > 1);
        let algorithm = algorithm(has_teams, together.is_some());
        let mut predicted = Prediction::new(&alone.evaluation, lower_bound).with_energy(alone.energy);
        if let Some(together) = together.filter(|_| !sharing.takes_turns) {
            predicted.period_seconds = together.periods_seconds[index];
            predicted.latency_seconds = together.latencies[index].as_secs_f64();
            predicted = predicted.with_energy(together.energies[index]);
        }
        Ok(document(schedule, predicted, algorithm, Objective::Throughput, network, board))
    }
}
