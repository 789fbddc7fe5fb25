//! Our schedules beside what one would use otherwise, in one interleaved run.

mod busy;
mod contender;

use std::time::Duration;

use millstream_board::{Board, CoreId};
use millstream_pipeline::Objective;
use millstream_predict::Summary;
use serde::Serialize;

use crate::learning::refine;
use crate::profiling::known_or_measured;
use crate::{Aim, Control, Error, Machine, Network, backends};
pub use busy::BusyLoops;
use contender::{Contender, Measurement};

/// How long a contender works in one round at least.
const TURN: Duration = Duration::from_millis(1500);
/// And at least so many times as long as a frame takes in our slowest pipeline.
const TURN_FRAMES: u32 = 8;

/// A core, and how many times slower it is made or taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowCore {
    /// The core.
    pub core: CoreId,
    /// A whole number: one share of the core for the work and one for each busy loop.
    pub factor: u32,
}

/// What came of comparing ways to run a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkContest {
    /// The network.
    pub network: String,
    /// The ways, ours first.
    pub contenders: Vec<ContenderReport>,
}

/// What one way to run a network did: medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContenderReport {
    /// What it is.
    pub name: String,
    /// The processors that it uses.
    pub configuration: String,
    /// Whether results come in the order of the frames.
    pub in_order: bool,
    /// Predicted time between two frames; for schedules only.
    pub predicted_period_seconds: Option<f64>,
    /// Predicted time of a frame through the pipeline; for schedules only.
    pub predicted_latency_seconds: Option<f64>,
    /// Sum of the stages' mean times; for schedules only.
    pub measured_latency_seconds: Option<f64>,
    /// Frames that passed.
    pub frames_per_second: f64,
    /// Median absolute deviation of that over the rounds.
    pub frames_per_second_mad: f64,
    /// Median over the rounds of the round's median time of a frame.
    pub median_frame_seconds: f64,
    /// Median over the rounds of the round's longest time of a frame.
    pub worst_frame_seconds: f64,
}

/// Lets our schedules of a network, and what one would use otherwise, take turns for some rounds. `budget` is for measuring the
/// network if it is not known. If the caller asks to stop, the rounds so far count.
///
/// # Errors
/// [`Error::NotHere`] if the board is not this computer; whatever keeps a contender from running.
pub fn compare(
    machine: &Machine,
    network: &Network,
    rounds: usize,
    budget: Duration,
    control: &Control,
) -> Result<NetworkContest, Error> {
    machine.check_usable()?;
    let board = machine.board();
    let known = machine.cache.load(network, board);
    let (mut profile, opened) = known_or_measured(network, machine, known, budget, control)?;
    let backend = opened.backend();
    let frame = network.first_frame(&*backend, board)?.to_vec();
    let usual = backends::as_it_comes(board, network.model())?;
    let rivals = [
        Contender::session_over_all_cores(network, board, &usual)?,
        Contender::session_on_fastest_cluster(network, board, &backend)?,
        Contender::instance_per_core(network, board, &backend)?,
    ];
    // The rivals are there already when our schedules are tried out: several sessions in one process cost each other
    // something, multi-threaded ones most, and everybody should be chosen and measured under the same conditions.
    for rival in &rivals {
        rival.measure(&frame, TURN / 4)?;
    }

    let objectives = [Objective::Throughput, Objective::Balanced, Objective::Latency];
    let plans = refine(network, board, &backend, &mut profile, &objectives, Aim::default(), control)?;
    machine.cache.store(&profile, network, board);
    let mut contenders: Vec<Contender> = Vec::new();
    for objective in objectives {
        let plan = plans.chosen(objective)?;
        let is_same = |other: &&mut Contender| other.plan.as_ref().is_some_and(|other| other.is_same_pipeline(plan));
        match contenders.iter_mut().find(is_same) {
            Some(contender) => contender.name = format!("{}, {objective}", contender.name),
            None => contenders.push(Contender::schedule(network, &plans.problem, plan, objective, &backend)?),
        }
    }
    contenders.extend(rivals);
    take_turns(network, &contenders, &frame, rounds, control)
}

fn take_turns(
    network: &Network,
    contenders: &[Contender],
    frame: &[millstream_backend::Tensor],
    rounds: usize,
    control: &Control,
) -> Result<NetworkContest, Error> {
    let slowest = contenders.iter().filter_map(|contender| Some(contender.plan.as_ref()?.latency.seconds()));
    let turn = TURN.max(Duration::from_secs_f64(slowest.fold(0.0, f64::max)) * TURN_FRAMES);
    let mut steps = control.steps(format!("comparing on {}", network.name()), rounds);
    let mut measurements: Vec<Vec<Measurement>> = vec![Vec::new(); contenders.len()];
    for contender in contenders {
        contender.measure(frame, turn / 4)?;
    }
    for round in 0..rounds {
        for (contender, measurements) in contenders.iter().zip(&mut measurements) {
            measurements.push(contender.measure(frame, turn)?);
        }
        steps.set(round + 1, rounds);
        if control.is_cancelled() {
            break;
        }
    }
    let reports = contenders.iter().zip(&measurements).map(|(contender, rounds)| report(contender, rounds));
    Ok(NetworkContest { network: network.name().to_owned(), contenders: reports.collect() })
}

fn report(contender: &Contender, rounds: &[Measurement]) -> ContenderReport {
    let over = |of: &dyn Fn(&Measurement) -> f64| {
        let values: Vec<f64> = rounds.iter().map(of).collect();
        Summary::of(&values)
    };
    let median = |of: &dyn Fn(&Measurement) -> f64| over(of).map_or(0.0, |summary| summary.median);
    let throughput = |measurement: &Measurement| measurement.frames_per_second;
    let plan = contender.plan.as_ref();
    ContenderReport {
        name: contender.name.clone(),
        configuration: contender.configuration.clone(),
        in_order: contender.in_order,
        predicted_period_seconds: plan.map(|plan| plan.period.seconds()),
        predicted_latency_seconds: plan.map(|plan| plan.latency.seconds()),
        measured_latency_seconds: plan.map(|_| median(&|measurement| measurement.stage_seconds.unwrap_or(0.0))),
        frames_per_second: median(&throughput),
        frames_per_second_mad: over(&throughput).map_or(0.0, |summary| summary.deviation),
        median_frame_seconds: median(&|measurement| measurement.median_frame_seconds),
        worst_frame_seconds: median(&|measurement| measurement.worst_frame_seconds),
    }
}

/// The machine with some cores taken to be slower, each in a cluster of its own. [`BusyLoops`] make them so.
///
/// # Errors
/// [`Error::Board`] if a core does not exist.
pub fn with_slow_cores(machine: &Machine, slow_cores: &[SlowCore]) -> Result<Machine, Error> {
    let slowed: Vec<(CoreId, f64)> = slow_cores.iter().map(|slow| (slow.core, f64::from(slow.factor))).collect();
    let board: Board = machine.board().with_slowdown(&slowed)?;
    Ok(machine.with_board(board))
}
