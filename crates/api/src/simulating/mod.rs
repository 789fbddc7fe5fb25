//! Schedules in simulation, on a board that need not be here.

mod missed;
mod options;

use std::path::Path;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Schedule, ScheduleDocument};
use millstream_sim::{
    Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, Simulation, SimulationError, SteadyState, Unit,
    simulate_streams_until,
};

use crate::control::Control;
use crate::error::{Error, InFile};
use crate::files;
use crate::machine::Machine;
use crate::schedules::Scheduled;

pub use options::{MemoryCompetition, SimulateOptions};

/// More frames would fill the memory with what is known of each.
const MOST_FRAMES: f64 = 1e7;

/// A network in simulation.
pub struct Simulated {
    /// What happened.
    pub simulation: Simulation,
    /// What was to be expected of the network alone, without noise, heat or disturbances.
    pub expected: SteadyState,
    /// The costs that it happened with.
    pub table: CostTable,
}

/// Rounds per second: how often all networks of a set pass as many frames as their weights say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// As simulated.
    pub simulated_hertz: f64,
    /// As their schedules promise.
    pub promised_hertz: f64,
}

impl Rounds {
    /// Those of a set and what its simulation showed.
    pub fn of(set: &[Scheduled], simulated: &[Simulated]) -> Self {
        let weights = || set.iter().map(|scheduled| scheduled.weight);
        let simulated = simulated.iter().map(|result| result.simulation.period_seconds());
        let promised = set.iter().map(|scheduled| scheduled.expected_period_seconds);
        Self {
            simulated_hertz: rounds_hertz(simulated.zip(weights())),
            promised_hertz: rounds_hertz(promised.zip(weights())),
        }
    }
}

/// Rounds a second of networks with these times between two frames, in seconds, and weights: the network that passes
/// the fewest decides.
pub fn rounds_hertz(networks: impl Iterator<Item = (f64, f64)>) -> f64 {
    networks.map(|(period_seconds, weight)| 1.0 / (period_seconds.max(1e-12) * weight)).fold(f64::INFINITY, f64::min)
}

/// Simulates frames through the schedules of networks that share a board. Several networks go on until all of them are
/// through with their frames, and those that take turns keep to their weights.
///
/// # Errors
/// [`Error::Unfit`] if the board lacks what the options need, or their numbers mean nothing; [`Error::NoProfile`] or
/// [`Error::File`] without costs; [`Error::Simulation`] for conditions without a meaning; [`Error::Interrupted`] if the
/// caller ended it.
pub fn simulate(
    machine: &Machine,
    set: &[Scheduled],
    options: &SimulateOptions<'_>,
    control: &Control,
) -> Result<Vec<Simulated>, Error> {
    options.check()?;
    let machine = &set.first().map_or_else(|| machine.clone(), |first| machine.as_planned(&first.document));
    let board = machine.board();
    let mut tables = Vec::new();
    for scheduled in set {
        tables.push(options.costs.table(&scheduled.network, machine)?.at_clocks(board, &scheduled.document.clocks));
    }
    let fallback = options.fallback.map(|path| read_fallback(path, set, board)).transpose()?;
    let interval = options.frame_rate_hertz.map(|hertz| Nanoseconds::from_seconds(1.0 / hertz));
    let frames = |scheduled: &Scheduled| (f64::from(options.frames) * scheduled.weight).round().max(1.0);
    if let Some(scheduled) = set.iter().find(|scheduled| frames(scheduled) > MOST_FRAMES) {
        let (name, frames) = (scheduled.network.name(), frames(scheduled));
        return Err(Error::Unfit(format!("{frames:.0} frames of {name} are too many; {MOST_FRAMES} is the most")));
    }

    let streams: Vec<SimulatedNetwork<'_>> = set
        .iter()
        .zip(&tables)
        .map(|(scheduled, table)| SimulatedNetwork {
            schedule: &scheduled.schedule,
            graph: scheduled.network.graph(),
            table,
            frames: frames(scheduled) as usize,
            frames_in_flight: options.frames_in_flight,
            interval,
            weight: scheduled.weight,
            takes_turns: scheduled.takes_turns,
            fallback: fallback.as_ref(),
        })
        .collect();

    let conditions = conditions(board, &tables, set, options)?;
    let simulations = match simulate_streams_until(&streams, &conditions, &|| control.is_cancelled()) {
        Err(SimulationError::Cancelled) => return Err(Error::Interrupted),
        other => other?,
    };

    let expected = |scheduled: &Scheduled, table: &CostTable| {
        SteadyState::of(&scheduled.schedule, scheduled.network.graph(), table, conditions.memory_bytes_per_second)
    };
    let expected =
        set.iter().zip(&tables).map(|(scheduled, table)| expected(scheduled, table)).collect::<Result<Vec<_>, _>>()?;
    let all = simulations.into_iter().zip(expected).zip(tables);
    Ok(all.map(|((simulation, expected), table)| Simulated { simulation, expected, table }).collect())
}

fn read_fallback(path: &Path, set: &[Scheduled], board: &Board) -> Result<Schedule, Error> {
    let [single] = set else { return Err(Error::Unfit("several networks have no common fallback".to_owned())) };
    let document = ScheduleDocument::from_json(&files::read(path)?).in_file(path)?;
    document.resolve(single.network.graph(), single.network.digest(), board).in_file(path)
}

/// What the options ask for, and what the board says of it.
fn conditions(
    board: &Board,
    tables: &[CostTable],
    set: &[Scheduled],
    options: &SimulateOptions<'_>,
) -> Result<Conditions, Error> {
    let mut known = Conditions::of(board);
    // Costs are those at the schedule's clocks: no cluster goes above its.
    for thermal in &mut known.thermals {
        let clocks = set.iter().filter_map(|network| network.document.clocks.get(&thermal.cluster));
        if let Some(&clock) = clocks.max() {
            thermal.operating_points.retain(|point| point.hertz <= clock);
        }
    }

    let name = board.name();
    if options.memory == MemoryCompetition::Always && known.memory_bytes_per_second.is_none() {
        let remedy = "give its file a 'memory' with 'bytes_per_second'";
        return Err(Error::Unfit(format!("board '{name}' does not say what its memory moves: {remedy}")));
    }
    if options.has_heat && known.thermals.is_empty() {
        let remedy = "give one in its file a 'thermal'";
        return Err(Error::Unfit(format!("board '{name}' does not say how its clusters heat up: {remedy}")));
    }

    let disturbances: Vec<Disturbance> =
        options.disturbances.iter().map(|disturbance| in_system(disturbance, tables)).collect();
    for disturbance in &disturbances {
        check(&disturbance.kind, board, tables)?;
    }

    Ok(Conditions {
        keeps_all_busy: set.len() > 1,
        noise: options.noise,
        seed: options.seed,
        keeps_spans: options.keeps_spans,
        memory_bytes_per_second: known.memory_bytes_per_second.filter(|_| options.memory != MemoryCompetition::Never),
        thermals: if options.has_heat { known.thermals } else { Vec::new() },
        disturbances,
    })
}

/// What a label means that is not one of the board but the name of a host of its system, or of a link between two.
fn in_system(disturbance: &Disturbance, tables: &[CostTable]) -> Disturbance {
    let is_host = |name: &str| tables.iter().any(|table| table.hosts().contains(&name));
    let is_link = |name: &str| tables.iter().flat_map(CostTable::crossings).any(|crossing| crossing.link == name);
    let of_host = |unit: &Unit| match unit {
        Unit::Accelerator(name) if is_host(name) => Unit::Host(name.clone()),
        other => other.clone(),
    };
    let kind = match &disturbance.kind {
        DisturbanceKind::Speed { label, factor } if is_link(label) => {
            DisturbanceKind::Link { link: label.clone(), factor: *factor }
        }
        DisturbanceKind::Lost(unit) => DisturbanceKind::Lost(of_host(unit)),
        DisturbanceKind::Restored(unit) => DisturbanceKind::Restored(of_host(unit)),
        other => other.clone(),
    };
    Disturbance { kind, ..*disturbance }
}

/// Whether the board has what is disturbed.
fn check(kind: &DisturbanceKind, board: &Board, tables: &[CostTable]) -> Result<(), Error> {
    let hosts: Vec<&str> = tables.iter().flat_map(CostTable::hosts).collect();
    let of_system = if hosts.is_empty() { String::new() } else { format!("; its hosts are {}", hosts.join(", ")) };
    let mut links: Vec<&str> = tables.iter().flat_map(CostTable::crossings).map(|way| way.link.as_str()).collect();
    links.dedup();
    let of_links = if links.is_empty() { String::new() } else { format!(", its links {}", links.join(", ")) };
    if let (DisturbanceKind::Lost(Unit::Core(core)) | DisturbanceKind::Restored(Unit::Core(core)), false) =
        (kind, hosts.is_empty())
    {
        return Err(Error::Unfit(format!(
            "every host has cores of its own, so that core {core} says nothing{of_system}"
        )));
    }

    let is_label = |label: &str| board.cluster(label).is_ok() || board.accelerator(label).is_some();
    let (what, is_known) = match kind {
        DisturbanceKind::Speed { label, .. } => (label.clone(), is_label(label)),
        DisturbanceKind::Lost(Unit::Core(core)) | DisturbanceKind::Restored(Unit::Core(core)) => {
            (format!("core {core}"), board.cores().any(|known| known.id == *core))
        }
        DisturbanceKind::Lost(Unit::Accelerator(label)) | DisturbanceKind::Restored(Unit::Accelerator(label)) => {
            (format!("accelerator {label}"), board.accelerator(label).is_some())
        }
        // These were found by their names.
        DisturbanceKind::Link { .. }
        | DisturbanceKind::Lost(Unit::Host(_))
        | DisturbanceKind::Restored(Unit::Host(_)) => return Ok(()),
    };

    let missing = || Error::Unfit(format!("board '{}' has no {what}{of_system}{of_links}", board.name()));
    if is_known { Ok(()) } else { Err(missing()) }
}
