//! Several networks that share a board.

use std::time::Duration;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::{Objective, Problem, Sharing, Tenant, ThroughputBound, divide_processors, share, take_turns};
use millstream_schedule::{Prediction, SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, ScheduleSetDocument, SharedSchedule};
use millstream_sim::{Conditions, Stream, simulate_streams};

use crate::document::document;
use crate::planning::{PlanOn, measured_costs};
use crate::simulating::rounds_hertz;
use crate::{Control, Error, Machine, Network};

/// Frames of the network with the fewest, after which a simulation of networks that take turns has shown what frames wait for.
const SIMULATED_ROUNDS: f64 = 100.0;
/// Weights may differ by so many times.
const MOST_UNEVEN: f64 = 1000.0;

/// What is wanted of one of several networks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Frames for each frame of a network with weight 1.
    pub weight: f64,
    /// The longest that a frame may take: where networks take turns, waiting for others included; with processors of its own, waiting
    /// in queues left out.
    pub deadline: Option<Duration>,
}

impl Share {
    fn is_met_by(&self, latency: Duration) -> bool {
        self.deadline.is_none_or(|deadline| latency <= deadline)
    }
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1.0, deadline: None }
    }
}

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
/// division is best is found exactly; what networks that take turns wait for each other is simulated, and their rounds are as
/// simulated.
///
/// # Errors
/// [`Error::Pipeline`] if the deadlines can't all be met, [`Error::Unfit`] without a share for each network; whatever keeps costs from being known.
pub fn plan_shared(
    machine: &Machine,
    networks: &[Network],
    shares: &[Share],
    on: PlanOn<'_>,
    control: &Control,
) -> Result<Shared, Error> {
    check(networks, shares)?;
    let board = machine.board();
    let costs = |network: &Network| match on {
        PlanOn::Costs(costs) => costs.table(network, machine),
        PlanOn::ThisMachine => Ok(measured_costs(machine, network, false, control)?.0),
        PlanOn::ThisMachineAnew => Ok(measured_costs(machine, network, true, control)?.0),
    };
    let tables: Vec<CostTable> = networks.iter().map(costs).collect::<Result<_, Error>>()?;
    let problems = networks.iter().zip(&tables);
    let problems: Vec<Problem> = problems
        .map(|(network, table)| Problem::new(network.graph(), network.chain(), board, table))
        .collect::<Result<_, _>>()?;
    let tenants: Vec<Tenant<'_>> = networks
        .iter()
        .zip(&problems)
        .zip(shares)
        .map(|((network, problem), share)| Tenant {
            name: network.name(),
            problem,
            weight: share.weight,
            deadline: share.deadline.map(Nanoseconds::from),
        })
        .collect();

    let simulated = |sharing: &Sharing| simulate_turns(sharing, networks, &tables, shares);
    let sharing = share(&tenants, |turns| {
        let turns = simulated(turns).ok()?;
        let mut in_time = turns.latencies.iter().zip(shares).map(|(&latency, share)| share.is_met_by(latency));
        in_time.all(|is_met| is_met).then_some(turns.rounds_per_second)
    })?;
    let other_rounds_per_second = match sharing.takes_turns {
        true => divide_processors(&tenants).ok().map(|divided| divided.rounds_per_second),
        false => take_turns(&tenants).ok().and_then(|turns| Some(simulated(&turns).ok()?.rounds_per_second)),
    };
    let latencies = sharing.takes_turns.then(|| simulated(&sharing)).transpose()?.map(|turns| turns.latencies);
    let document = set_document(&sharing, networks, shares, &tables, board)?;
    Ok(Shared { document, other_rounds_per_second, simulated_latencies: latencies })
}

/// The file of the schedules, with what is predicted of each by itself.
fn set_document(
    sharing: &Sharing,
    networks: &[Network],
    shares: &[Share],
    tables: &[CostTable],
    board: &Board,
) -> Result<ScheduleSetDocument, Error> {
    let mut shared = Vec::with_capacity(networks.len());
    for (index, (network, share)) in networks.iter().zip(shares).enumerate() {
        let (schedule, table) = (&sharing.schedules[index], &tables[index]);
        let lower_bound = ThroughputBound::of(network.graph(), board, table).period.seconds();
        let predicted = Prediction::new(&schedule.evaluate(network.graph(), table)?, lower_bound)
            .with_energy(schedule.energy(network.graph(), table)?);
        shared.push(SharedSchedule {
            weight: share.weight,
            deadline_seconds: share.deadline.map(|deadline| deadline.as_secs_f64()),
            schedule: document(schedule, predicted, "exact", Objective::Throughput, network, board),
        });
    }
    Ok(ScheduleSetDocument {
        format: SCHEDULE_SET_FORMAT.to_owned(),
        version: SCHEDULE_SET_VERSION,
        rounds_per_second: sharing.rounds_per_second,
        takes_turns: sharing.takes_turns,
        networks: shared,
    })
}

/// Whether there is a share for each network, with a weight that is a number above 0 and not far from the others'.
fn check(networks: &[Network], shares: &[Share]) -> Result<(), Error> {
    if networks.len() != shares.len() {
        let (networks, shares) = (networks.len(), shares.len());
        return Err(Error::Unfit(format!("there are {networks} networks and {shares} shares, one is needed for each")));
    }
    if let Some(share) = shares.iter().find(|share| !(share.weight.is_finite() && share.weight > 0.0)) {
        return Err(Error::Unfit(format!("the weight {} is not a number above 0", share.weight)));
    }
    let weights = || shares.iter().map(|share| share.weight);
    let uneven = weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min);
    if uneven > MOST_UNEVEN {
        return Err(Error::Unfit(format!("the weights differ by {uneven:.0} times, where {MOST_UNEVEN} is the most")));
    }
    Ok(())
}

/// What networks do that take turns, in a simulation.
struct Turns {
    rounds_per_second: f64,
    /// The longest that a frame of each took.
    latencies: Vec<Duration>,
}

fn simulate_turns(
    sharing: &Sharing,
    networks: &[Network],
    tables: &[CostTable],
    shares: &[Share],
) -> Result<Turns, Error> {
    let least = shares.iter().map(|share| share.weight).fold(f64::INFINITY, f64::min);
    let stream = |(index, share): (usize, &Share)| Stream {
        weight: share.weight,
        takes_turns: true,
        ..Stream::new(
            &sharing.schedules[index],
            networks[index].graph(),
            &tables[index],
            (share.weight / least * SIMULATED_ROUNDS).ceil() as usize,
        )
    };
    let streams: Vec<Stream<'_>> = shares.iter().enumerate().map(stream).collect();
    let conditions = Conditions { keeps_all_busy: true, ..Conditions::default() };
    let simulations = simulate_streams(&streams, &conditions)?;
    let periods = simulations.iter().zip(shares).map(|(own, share)| (own.period_seconds(), share.weight));
    let latencies = simulations.iter().map(|own| Duration::from_nanos(own.worst_latency().0)).collect();
    Ok(Turns { rounds_per_second: rounds_hertz(periods), latencies })
}
