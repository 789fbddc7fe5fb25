//! Our schedules beside plain ONNX Runtime and OpenVINO, in one interleaved run.

mod advantages;
mod contender;
mod measurement;
mod session_options;
mod sessions;
mod slowing;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use millstream_backend::Backend;
use millstream_board::{Board, CoreId, EngineName};
use millstream_cost::Nanoseconds;
use millstream_graph::OperatorId;
use millstream_pipeline::Objective;
use millstream_schedule::Schedule;
use serde::Serialize;

use crate::backends;
use crate::backends::first_core::first_core_with;
use crate::control::{Control, Event};
use crate::error::Error;
use crate::learning::measured::Measured;
use crate::machine::Machine;
use crate::measuring::profiling::cached;
use crate::measuring::quantile::quantile;
use crate::network::Network;
use crate::plans::{Aim, Plans};
use advantages::{OPENVINO_BY_ITSELF, advantage_of_integers, advantage_of_plain};
use contender::{Contender, PinnedEngine, cores_of, is_one_at_a_time, left_out_by};
use measurement::Measurement;
use turns::{Rounds, Turn};

pub use session_options::{MeasuredSession, SessionContest, SessionOptions, Waiting, session_options};
pub use slowing::{SlowedCores, Slowing};

/// A core, and how many times slower it is made or taken to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowCore {
    /// The core.
    pub core: CoreId,
    /// How many times longer work takes there: above 1.
    pub factor: f64,
}

impl SlowCore {
    /// The largest factor: the system keeps real-time threads from taking more of a core away.
    pub const MOST: f64 = 16.0;
}

/// What our schedules are chosen for.
const OBJECTIVES: [Objective; 3] = [Objective::Throughput, Objective::Balanced, Objective::Latency];

/// How long a turn is at least where nothing else is said.
pub const TURN: Duration = Duration::from_millis(1500);

/// Settings of the turns that contenders take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnOptions {
    /// Rounds in which every contender has a turn.
    pub rounds: usize,
    /// How long a turn is at least; it has eight frames of our slowest schedule, or of the slowest session, in any
    /// case.
    pub turn: Duration,
}

impl TurnOptions {
    /// So many rounds, of turns that last [`TURN`] at least.
    pub fn new(rounds: usize) -> Self {
        Self { rounds, turn: TURN }
    }

    /// Of turns that last this long at least. In less than 100 ms, a single tick of somebody else makes a turn a
    /// disturbed one.
    #[must_use]
    pub fn with_turn(self, turn: Duration) -> Self {
        Self { turn, ..self }
    }
}

/// The result of a comparison: a report for each contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkContest {
    /// The network.
    pub network: String,
    /// The ways, ours first.
    pub contenders: Vec<ContenderReport>,
}

/// Measurements of one contender: medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContenderReport {
    /// What it is.
    pub name: String,
    /// The engine that a rival is; a schedule of ours may have several, which its processors name.
    pub rival: Option<EngineName>,
    /// The processors that it uses.
    pub configuration: String,
    /// The schedule, if it is one of ours; not in documents.
    #[serde(skip)]
    pub schedule: Option<Schedule>,
    /// Whether results come in the order of the frames.
    pub in_order: bool,
    /// Whether a frame is started only when the last one is done: a pipeline, or replicas, that were chosen for latency
    /// alone.
    pub is_one_at_a_time: bool,
    /// Predicted time between two frames; for schedules only.
    pub predicted_period_seconds: Option<f64>,
    /// Predicted time of a frame through the pipeline; for schedules only.
    pub predicted_latency_seconds: Option<f64>,
    /// Sum of the stages' mean times; for schedules only.
    pub measured_latency_seconds: Option<f64>,
    /// Frames that passed.
    pub frames_per_second: f64,
    /// A quarter of the rounds passed fewer.
    pub frames_per_second_p25: f64,
    /// A quarter of the rounds passed more.
    pub frames_per_second_p75: f64,
    /// What passed in each round.
    pub rounds: Vec<f64>,
    /// Rounds during which other programs, or a virtual machine's host, used more than a tenth of a core, or clocks were
    /// lowered because of heat, also when they were repeated.
    pub disturbed_rounds: usize,
    /// Median over the rounds of the round's median time of a frame.
    pub median_frame_seconds: f64,
    /// In a quarter of the rounds, it was less.
    pub frame_seconds_p25: f64,
    /// In a quarter of the rounds, it was more.
    pub frame_seconds_p75: f64,
    /// The median time of a frame in each round.
    pub frame_rounds: Vec<f64>,
    /// Median over the rounds of the round's longest time of a frame.
    pub worst_frame_seconds: f64,
}

/// Lets our schedules of a network, and plain ONNX Runtime and OpenVINO, take turns. `budget` is for measuring the
/// network if it is not known. If the caller asks to stop, the rounds so far count.
///
/// # Errors
/// [`Error::NotHere`] if the board is not this computer; whatever keeps a contender from running.
pub fn compare(
    machine: &Machine,
    network: &Network,
    options: &TurnOptions,
    budget: Duration,
    control: &Control,
) -> Result<NetworkContest, Error> {
    machine.check_usable()?;
    let board = machine.board();
    let known = cached(machine, network, false, control);
    let mut measured = Measured::known_or_new(machine, network, known, budget, control)?;
    let backend = measured.backends.backend();
    let frame = network.first_frame(&*backend, board)?.to_vec();

    let mut rivals = Vec::new();
    let is_other = |engine: &EngineName| !EngineName::BUILT_IN.contains(engine) && *engine != OPENVINO_BY_ITSELF;
    let others = board.engines_in_use().filter(is_other);
    for engine in EngineName::BUILT_IN.into_iter().chain(others) {
        if let Some(refused) = refused_by(engine, network, board, &*backend) {
            control.emit(&Event::Warning(&refused));
            continue;
        }
        match rivals_with(engine, network, board) {
            Ok(built) => rivals.extend(built),
            Err(error) if board.engines_in_use().any(|used| used == engine) => return Err(error),
            Err(error) => control.emit(&Event::Warning(&format!("{} is no rival: {error}", engine.title()))),
        }
    }
    let left_out = left_out_by(board);
    let has_openvino = rivals.iter().any(|rival| rival.rival == Some(EngineName::OpenVino));
    let of_integers = has_openvino.then(|| advantage_of_integers(board, network.graph()));
    let advantages = [advantage_of_plain(board, &left_out), of_integers.flatten()];
    advantages.iter().flatten().for_each(|advantage| control.emit(&Event::Warning(advantage)));
    // The rivals are there already when our schedules are tried out: several sessions in one process cost each other
    // something, multi-threaded ones most, and everybody should be chosen and measured under the same conditions.
    for rival in &rivals {
        rival.measure(&frame, options.turn / 4)?;
    }

    let plans = measured.refine(&OBJECTIVES, Aim::default(), control)?;
    let backend = measured.backends.backend();
    let mut contenders = our_schedules(network, &plans, &backend)?;
    contenders.extend(rivals);
    let cores = cores_of(board).into_iter().chain(left_out).collect();
    let turns = Rounds::new(network, &contenders, &frame, cores, options.turn).play(options.rounds, control)?;
    let reports = contenders.iter().zip(&turns).map(|(contender, turns)| report(contender, turns));
    Ok(NetworkContest { network: network.name().to_owned(), contenders: reports.collect() })
}

/// The schedules that are chosen for the objectives, each once.
fn our_schedules(network: &Network, plans: &Plans, backend: &Arc<dyn Backend>) -> Result<Vec<Contender>, Error> {
    let mut contenders: Vec<Contender> = Vec::new();
    for objective in OBJECTIVES {
        let plan = plans.chosen(objective)?;
        let is_same =
            |other: &&mut Contender| other.own.as_ref().is_some_and(|planned| planned.plan.is_same_pipeline(plan));
        // What takes one frame at a time is another contender, whatever schedule it has.
        let is_alone = is_one_at_a_time(&plans.schedule(plan), objective);
        match contenders.iter_mut().find(is_same).filter(|_| !is_alone) {
            Some(contender) => contender.name = format!("{}, {objective}", contender.name),
            None => contenders.push(Contender::schedule(network, plans, plan, objective, backend)?),
        }
    }
    Ok(contenders)
}

/// An engine as it computes where nobody tells it how.
fn by_itself(engine: EngineName) -> EngineName {
    if engine == EngineName::OpenVino { OPENVINO_BY_ITSELF } else { engine }
}

/// Why an engine that the board uses is no rival: it does not run the whole network. `None` if it does, or is not used.
fn refused_by(engine: EngineName, network: &Network, board: &Board, backend: &dyn Backend) -> Option<String> {
    let core = first_core_with(board, engine)?;
    let order = network.graph().order();
    let refused: Vec<OperatorId> = order.iter().copied().filter(|&id| !backend.supports(id, &core)).collect();
    let first = network.graph().operator(*refused.first()?);
    let why = backend.why_refused(*refused.first()?, &core).map_or_else(String::new, |why| format!(": {why}"));
    Some(format!(
        "{} is no rival: it does not run {} of {} operators, '{}' ({}) the first of them{why}",
        engine.title(),
        refused.len(),
        order.len(),
        first.name,
        first.op_type
    ))
}

/// What the users of an engine would pick.
fn rivals_with(engine: EngineName, network: &Network, board: &Board) -> Result<Vec<Contender>, Error> {
    let mut rivals = Vec::new();
    for plain in backends::plainly(engine, network.model())? {
        rivals.push(Contender::plain(network, board, engine, &plain)?);
    }
    let backend = &backends::pinned(board, by_itself(engine), network.model())?;
    let pinned = PinnedEngine { name: engine, backend };
    // Of one cluster, it would be much the same as the engine as it comes.
    if board.clusters().len() > 1 || engine == EngineName::OnnxRuntime {
        rivals.push(Contender::session_on_fastest_cluster(network, board, pinned)?);
    }
    rivals.push(Contender::instance_per_core(network, board, pinned)?);
    Ok(rivals)
}

fn report(contender: &Contender, turns: &[Turn]) -> ContenderReport {
    let values =
        |of: &dyn Fn(&Measurement) -> f64| turns.iter().map(|turn| of(&turn.measurement)).collect::<Vec<f64>>();
    let median = |of: &dyn Fn(&Measurement) -> f64| quantile(&values(of), 0.5);
    let throughput = values(&|measurement| measurement.frames_per_second);
    let frames = values(&|measurement| measurement.median_frame_seconds);
    let own = contender.own.as_ref();
    ContenderReport {
        name: contender.name.clone(),
        rival: contender.rival,
        configuration: contender.configuration.clone(),
        schedule: own.map(|own| own.schedule.clone()),
        in_order: contender.in_order,
        is_one_at_a_time: own.is_some_and(|own| own.is_one_at_a_time),
        predicted_period_seconds: own.and_then(|own| own.expected_period()).map(Nanoseconds::seconds),
        predicted_latency_seconds: own.map(|own| own.plan.latency.seconds()),
        measured_latency_seconds: own.map(|_| median(&|measurement| measurement.stage_seconds.unwrap_or(0.0))),
        frames_per_second: quantile(&throughput, 0.5),
        frames_per_second_p25: quantile(&throughput, 0.25),
        frames_per_second_p75: quantile(&throughput, 0.75),
        rounds: throughput,
        disturbed_rounds: turns.iter().filter(|turn| turn.is_disturbed()).count(),
        median_frame_seconds: quantile(&frames, 0.5),
        frame_seconds_p25: quantile(&frames, 0.25),
        frame_seconds_p75: quantile(&frames, 0.75),
        frame_rounds: frames,
        worst_frame_seconds: median(&|measurement| measurement.worst_frame_seconds),
    }
}

impl ContenderReport {
    /// How many times the frames of another one passed: the median over the rounds of what each round says. The other one
    /// had its turn a few seconds away, and a shared machine differs less between these than between rounds.
    pub fn frames_over(&self, other: &Self) -> f64 {
        quantile(&ratios(&self.rounds, &other.rounds), 0.5)
    }

    /// How many times as long a frame took as with another one: the median over the rounds in the same way.
    pub fn frame_time_over(&self, other: &Self) -> f64 {
        quantile(&ratios(&self.frame_rounds, &other.frame_rounds), 0.5)
    }

    /// Whether the two passed as many frames as far as the rounds can tell: 1 is within the interval that has the
    /// median of the rounds' ratios with 95 % (by their ranks, whatever their distribution). With less than six rounds
    /// nothing is certain that much.
    pub fn is_within_noise_of(&self, other: &Self) -> bool {
        are_alike(&self.rounds, &other.rounds)
    }

    /// Whether a frame took as long with the two, as far as the rounds can tell in the same way.
    pub fn frames_are_within_noise_of(&self, other: &Self) -> bool {
        are_alike(&self.frame_rounds, &other.frame_rounds)
    }
}

/// What each round says.
fn ratios(ours: &[f64], others: &[f64]) -> Vec<f64> {
    ours.iter().zip(others).map(|(ours, other)| ours / other).collect()
}

/// Whether two numbers of each round are the same as far as the rounds can tell.
fn are_alike(ours: &[f64], others: &[f64]) -> bool {
    let mut ratios = ratios(ours, others);
    ratios.sort_unstable_by(f64::total_cmp);
    let rank = median_rank(ratios.len());
    let interval = rank.and_then(|rank| Some((ratios.get(rank)?, ratios.get(ratios.len() - 1 - rank)?)));
    interval.is_none_or(|(least, most)| *least <= 1.0 && 1.0 <= *most)
}

/// From which of so many values, counted from 0, to which from the end their median lies with 95 %: the chance that it
/// is beyond is that of as few heads in so many throws of a coin. `None` where no interval is that certain.
fn median_rank(values: usize) -> Option<usize> {
    const BEYOND_EITHER_END: f64 = 0.025;
    let mut chance = 0.5_f64.powi(i32::try_from(values).unwrap_or(i32::MAX));
    let (mut sum, mut rank) = (0.0, None);
    for heads in 0..values {
        sum += chance;
        if sum > BEYOND_EITHER_END {
            break;
        }
        rank = Some(heads);
        chance *= (values - heads) as f64 / (heads + 1) as f64;
    }
    rank
}

/// The machine with some cores taken to be slower, each in a cluster of its own. [`SlowedCores`] makes them so.
///
/// # Errors
/// [`Error::Board`] if a core does not exist.
pub fn with_slow_cores(machine: &Machine, slow_cores: &[SlowCore]) -> Result<Machine, Error> {
    let slowed: Vec<(CoreId, f64)> = slow_cores.iter().map(|slow| (slow.core, slow.factor)).collect();
    let board: Board = machine.board().with_slowdown(&slowed)?;
    Ok(machine.with_board(board))
}

#[cfg(test)]
mod tests {
    use millstream_board::ReducedPrecision;

    use super::{EngineName, OPENVINO_BY_ITSELF, are_alike, by_itself, median_rank, quantile, ratios};

    #[test]
    fn only_openvino_computes_otherwise_by_itself() {
        let by_itself: Vec<EngineName> = EngineName::known().map(by_itself).collect();
        let expected = |engine| if engine == EngineName::OpenVino { OPENVINO_BY_ITSELF } else { engine };
        assert_eq!(by_itself, EngineName::known().map(expected).collect::<Vec<_>>());
        assert_eq!(OPENVINO_BY_ITSELF.reduced_precision(), Some(ReducedPrecision::Int8));
    }

    #[test]
    fn rounds_tell_numbers_apart_that_always_differ_in_the_same_way() {
        let six = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let more = six.map(|value| value * 1.01);
        assert!(!are_alike(&six, &more) && !are_alike(&more, &six));
        let mut mixed = more;
        mixed[2] = 6.9;
        assert!(are_alike(&six, &mixed), "one of six was the other way round");
        assert!(are_alike(&six[..5], &more[..5]), "five are too few to tell");
    }

    /// The machine was twice as quick in some rounds, in which ours was so a little more often.
    #[test]
    fn rounds_are_compared_one_by_one() {
        let ours = [10.0, 20.0, 10.0, 20.0, 20.0];
        let other = [11.0, 22.0, 11.0, 20.0, 10.0];
        let [of_ours, of_other] = [ours, other].map(|values| quantile(&values, 0.5));
        assert_eq!(of_ours / of_other, 20.0 / 11.0, "the medians were in unlike rounds");
        assert_eq!(quantile(&ratios(&ours, &other), 0.5), 10.0 / 11.0);
    }

    /// Published tables of the sign test's intervals.
    #[test]
    fn intervals_of_the_median_are_those_of_the_sign_test() {
        assert_eq!(
            [1, 5, 6, 8, 9, 12, 20, 50].map(median_rank),
            [None, None, Some(0), Some(0), Some(1), Some(2), Some(5), Some(17)]
        );
    }
}
