//! Several networks that share a board.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::{Objective, Problem, Tenant, best_period, divide_processors, share, take_turns};
use millstream_report::{Align, Table, milliseconds, percent};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{
    Prediction, SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, Schedule, ScheduleDocument, ScheduleSetDocument,
    SharedSchedule,
};
use serde::Serialize;

use crate::arguments::{RunCommand, ScheduleCommand, ScheduledArguments};
use crate::backends::Backends;
use crate::commands::run::{frames, measured_period, start, warm_up};
use crate::model::Network;
use crate::planning::PROFILE_BUDGET;
use crate::reference::Reference;
use crate::{files, interrupt, machine, output, planning, profiling};

/// Rounds that a network may be ahead of the others that take turns with it, and how often it looks whether it is.
const MOST_AHEAD: f64 = 1.0;
const TURN: Duration = Duration::from_micros(200);

/// Divides the board among the networks of a command.
pub(crate) fn schedule(command: &ScheduleCommand, board: &Board) -> Result<()> {
    let wants = command.aim();
    if command.objective != Objective::Throughput || command.clocks || wants.constraints != Default::default() {
        bail!(
            "several networks are scheduled for their common throughput: use --weight and --deadline instead of other objectives and limits"
        );
    }
    let networks: Vec<Network> =
        command.models.iter().map(|source| Network::load(source, &command.dimensions)).collect::<Result<_>>()?;
    check_names(command, &networks)?;
    let tables: Vec<CostTable> =
        networks.iter().map(|network| costs(command, network, board)).collect::<Result<_>>()?;
    let problems: Vec<Problem> = networks
        .iter()
        .zip(&tables)
        .map(|(network, table)| Problem::new(network.model.graph(), &network.chain, board, table))
        .collect::<Result<_, _>>()?;
    let is_of = |name: &str, network: &Network| name == network.name() || name == network.source;
    let wish = |network: &Network| -> (f64, Option<Nanoseconds>) {
        let weight = command.weights.iter().find(|(name, _)| is_of(name, network)).map_or(1.0, |(_, weight)| *weight);
        let deadline = command.deadlines.iter().find(|(name, _)| is_of(name, network));
        (weight, deadline.map(|(_, time)| Nanoseconds::from(time.0)))
    };
    let wishes: Vec<(f64, Option<Nanoseconds>)> = networks.iter().map(wish).collect();
    let tenants: Vec<Tenant<'_>> = networks
        .iter()
        .zip(&problems)
        .zip(&wishes)
        .map(|((network, problem), &(weight, deadline))| Tenant { name: network.name(), problem, weight, deadline })
        .collect();
    let sharing = share(&tenants)?;
    let alone = problems.iter().map(best_period).collect::<Result<Vec<_>, _>>()?;
    let other = if sharing.takes_turns { divide_processors(&tenants) } else { take_turns(&tenants) };
    let other = other.ok().map(|other| other.rounds_per_second);
    let mut shared = Vec::new();
    for (index, network) in networks.iter().enumerate() {
        let (plan, schedule, table) = (&sharing.plans[index], &sharing.schedules[index], &tables[index]);
        let graph = network.model.graph();
        let lower_bound = alone[index].period.min(plan.period).seconds();
        let predicted =
            Prediction::new(&schedule.evaluate(graph, table)?, lower_bound).with_energy(schedule.energy(graph, table)?);
        let document = planning::document(schedule, predicted, "exact", Objective::Throughput, network, board);
        let (weight, deadline) = wishes[index];
        shared.push(SharedSchedule {
            weight,
            deadline_seconds: deadline.map(Nanoseconds::seconds),
            schedule: document,
        });
    }
    let document = ScheduleSetDocument {
        format: SCHEDULE_SET_FORMAT.to_owned(),
        version: SCHEDULE_SET_VERSION,
        rounds_per_second: sharing.rounds_per_second,
        takes_turns: sharing.takes_turns,
        networks: shared,
    };
    files::write(&command.output, &serde_json::to_string_pretty(&document)?)?;
    if command.json {
        output::json(&document)?;
    } else {
        print_shared(&document, board, other);
    }
    output::remark(format!("wrote {}; run it with: cargo xtask run --schedule {0}", command.output.display()));
    Ok(())
}

fn check_names(command: &ScheduleCommand, networks: &[Network]) -> Result<()> {
    let names = command.weights.iter().map(|(name, _)| name).chain(command.deadlines.iter().map(|(name, _)| name));
    for name in names {
        if !networks.iter().any(|network| name == network.name() || *name == network.source) {
            let known: Vec<&str> = networks.iter().map(Network::name).collect();
            bail!("no network is called '{name}'; there are {}", known.join(", "));
        }
    }
    Ok(())
}

/// Costs from files, or from a cached or new profile.
fn costs(command: &ScheduleCommand, network: &Network, board: &Board) -> Result<CostTable> {
    if command.cost.is_some() || command.profile.is_some() {
        return profiling::costs(command.cost.as_deref(), command.profile.as_deref(), network, board);
    }
    machine::check_usable(board)?;
    let known = if command.fresh { None } else { profiling::cached(network, board) };
    let backends = Backends::open(board, &network.model, known.as_ref())?;
    let profile = match known {
        Some(profile) => profile,
        None => {
            let profile = profiling::make(network, board, &backends, PROFILE_BUDGET)?;
            profiling::cache(&profile, network, board);
            profile
        }
    };
    backends.choose_threads(network, board, &profile)
}

fn print_shared(document: &ScheduleSetDocument, board: &Board, other: Option<f64>) {
    let how = if document.takes_turns { "in turn on the same processors" } else { "each on processors of its own" };
    output::line(format!("{} networks on {}, {how}\n", document.networks.len(), board.name()));
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("weight", Align::Right),
        ("frames/s", Align::Right),
        ("latency ms alone", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for own in &document.networks {
        let predicted = &own.schedule.predicted;
        table.row([
            own.schedule.model.name.clone(),
            own.schedule.configuration.clone(),
            own.weight.to_string(),
            format!(
                "{:.1}",
                if document.takes_turns {
                    own.weight * document.rounds_per_second
                } else {
                    1.0 / predicted.period_seconds
                }
            ),
            milliseconds(predicted.latency_seconds),
            own.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    output::line(table);
    let rounds = document.rounds_per_second;
    output::line(format!("\nPredicted: {rounds:.2} rounds of frames a second."));
    if let Some(other) = other {
        let how = if document.takes_turns { "With processors of their own" } else { "In turn on the whole board" };
        output::line(format!("{how} there would be {other:.2}: this is {:.2} times as many.", rounds / other));
    }
}

/// One of several networks, ready to run.
pub(crate) struct Loaded {
    pub(crate) network: Network,
    pub(crate) schedule: Schedule,
    pub(crate) document: ScheduleDocument,
    pub(crate) weight: f64,
    pub(crate) deadline_seconds: Option<f64>,
    /// Whether others use the same processors.
    pub(crate) takes_turns: bool,
    /// Time between two frames beside all others.
    expected_period_seconds: f64,
}

impl Loaded {
    /// A network that has the board for itself.
    pub(crate) fn alone(network: Network, schedule: Schedule, document: ScheduleDocument) -> Self {
        let expected_period_seconds = document.predicted.period_seconds;
        let (weight, deadline_seconds, takes_turns) = (1.0, None, false);
        Self { network, schedule, document, weight, deadline_seconds, takes_turns, expected_period_seconds }
    }
}

/// Reads the schedules of several networks and loads what they were made for.
pub(crate) fn load(arguments: &ScheduledArguments) -> Result<(Board, Vec<Loaded>)> {
    let path = &arguments.schedule;
    let context = || path.display().to_string();
    if arguments.model.model.is_some() {
        bail!("{}: the file names its networks; leave --model out", path.display());
    }
    let set = ScheduleSetDocument::from_json(&files::read(path)?).with_context(context)?;
    let board = machine::board(arguments.board.board.as_deref())?;
    let (takes_turns, rounds_per_second) = (set.takes_turns, set.rounds_per_second);
    let load = |own: SharedSchedule| {
        let network = Network::of_schedule(&own.schedule.model)?;
        let schedule =
            own.schedule.resolve(network.model.graph(), network.model.digest(), &board).with_context(context)?;
        let SharedSchedule { weight, deadline_seconds, schedule: document } = own;
        let loaded = Loaded::alone(network, schedule, document);
        // Who takes turns passes frames as often as all rounds allow.
        let expected = if takes_turns { 1.0 / (rounds_per_second * weight) } else { loaded.expected_period_seconds };
        Ok(Loaded { weight, deadline_seconds, takes_turns, expected_period_seconds: expected, ..loaded })
    };
    let loaded = set.networks.into_iter().map(load).collect::<Result<Vec<_>>>()?;
    Ok((board, loaded))
}

#[derive(Serialize)]
struct NetworkReport {
    network: String,
    configuration: String,
    frames: usize,
    predicted_period_seconds: f64,
    measured_period_seconds: Option<f64>,
    predicted_latency_seconds: f64,
    measured_latency_seconds: f64,
    deadline_seconds: Option<f64>,
    largest_difference: f32,
}

/// Streams frames of every network at once, and checks all results.
pub(crate) fn run(command: &RunCommand) -> Result<()> {
    if command.adaptive || command.trace.is_some() {
        bail!("several networks run without --adaptive and --trace");
    }
    let (board, loaded) = load(&command.scheduled)?;
    machine::check_usable(&board)?;
    interrupt::listen();
    let options = EngineOptions {
        frames_in_flight: command.in_flight.map(|count| count as usize),
        takes_over: true,
        ..EngineOptions::default()
    };
    let mut running: Vec<(Engine, Reference, u64)> = Vec::new();
    for own in &loaded {
        let profile = profiling::cached(&own.network, &board);
        let backends = Backends::open(&board, &own.network.model, profile.as_ref())?;
        profile.map(|profile| backends.choose_threads(&own.network, &board, &profile)).transpose()?;
        let backend = Arc::clone(&backends.all);
        let reference = Reference::new(&own.network, &backend, &board)?;
        let engine = start(&own.network, &board, &own.schedule, &backend, &options)?;
        let first = warm_up(&engine, &reference)?;
        running.push((engine, reference, first));
    }
    // All go on until the slowest has had enough frames, so that everybody is measured beside all the others.
    let counts: Vec<AtomicU64> = running.iter().map(|_| AtomicU64::new(0)).collect();
    let begin = Instant::now();
    let streamed = std::thread::scope(|scope| {
        let stream = |index: usize| {
            let (engine, reference, first) = &running[index];
            let counts = &counts;
            let loaded = &loaded;
            let is_enough = move |count: u64| {
                counts[index].store(count, Ordering::Relaxed);
                let is_over = || match command.duration {
                    Some(duration) => begin.elapsed() >= duration.0,
                    None => counts.iter().all(|own| own.load(Ordering::Relaxed) >= command.frames),
                };
                // Who takes turns lets the others keep up, so that frames pass as the weights say.
                let rounds = |(own, count): (&Loaded, &AtomicU64)| count.load(Ordering::Relaxed) as f64 / own.weight;
                let own_rounds = count as f64 / loaded[index].weight;
                let is_ahead = || {
                    let least = loaded.iter().zip(counts).map(rounds).fold(f64::INFINITY, f64::min);
                    own_rounds > least + MOST_AHEAD
                };
                while loaded[index].takes_turns && is_ahead() && !is_over() && !interrupt::requested() {
                    std::thread::sleep(TURN);
                }
                is_over()
            };
            scope.spawn(move || frames(engine, reference, is_enough, *first))
        };
        let threads: Vec<_> = (0..running.len()).map(stream).collect();
        threads
            .into_iter()
            .map(|own| own.join().map_err(|_| anyhow::anyhow!("a network's thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    let mut reports = Vec::new();
    for ((own, (engine, ..)), (results, largest_difference)) in loaded.iter().zip(&running).zip(&streamed) {
        let predicted = &own.document.predicted;
        reports.push(NetworkReport {
            network: own.network.name().to_owned(),
            configuration: own.document.configuration.clone(),
            frames: results.len(),
            predicted_period_seconds: own.expected_period_seconds,
            measured_period_seconds: measured_period(results, own.schedule.processors().count()),
            predicted_latency_seconds: predicted.latency_seconds,
            measured_latency_seconds: engine.metrics().iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum(),
            deadline_seconds: own.deadline_seconds,
            largest_difference: *largest_difference,
        });
    }
    if command.json {
        return output::json(&reports);
    }
    print_run(&reports, &loaded);
    Ok(())
}

fn print_run(reports: &[NetworkReport], loaded: &[Loaded]) {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("frames", Align::Right),
        ("frames/s", Align::Right),
        ("predicted", Align::Right),
        ("error", Align::Right),
        ("latency ms", Align::Right),
        ("alone, predicted", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for report in reports {
        let period = report.measured_period_seconds.unwrap_or(f64::NAN);
        table.row([
            report.network.clone(),
            report.configuration.clone(),
            report.frames.to_string(),
            format!("{:.1}", 1.0 / period),
            format!("{:.1}", 1.0 / report.predicted_period_seconds),
            percent(report.predicted_period_seconds / period - 1.0),
            milliseconds(report.measured_latency_seconds),
            milliseconds(report.predicted_latency_seconds),
            report.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    output::line(table);
    let rounds = reports
        .iter()
        .zip(loaded)
        .filter_map(|(report, own)| Some(1.0 / (report.measured_period_seconds? * own.weight)));
    output::line(format!("\nRounds:  {:.2} a second measured", rounds.fold(f64::INFINITY, f64::min)));
    let largest = reports.iter().map(|report| report.largest_difference).fold(0.0, f32::max);
    let frames: usize = reports.iter().map(|report| report.frames).sum();
    output::line(format!(
        "Results: {frames} frames checked against sequential inference, largest difference {largest:.1e} of the largest element"
    ));
    for report in
        reports.iter().filter(|own| own.deadline_seconds.is_some_and(|most| own.measured_latency_seconds > most))
    {
        output::line(format!("Missed:  {} takes longer than its deadline", report.network));
    }
}
