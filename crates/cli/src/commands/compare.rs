use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use millstream_backend::Backend;
use millstream_backend_ort::{Environment, OrtBackend, SessionSettings, Spinning};
use millstream_board::{Board, CoreId};
use millstream_pipeline::Objective;
use millstream_predict::Statistics;
use millstream_report::{Align, Table, milliseconds, percent};
use serde::Serialize;

use crate::arguments::{CompareCommand, DEFAULT_MODEL, SlowCore};
use crate::backends::Backends;
use crate::busy::BusyLoops;
use crate::contender::{Contender, Measurement};
use crate::model::{Network, sources};
use crate::planning::{Aim, Plans};
use crate::progress::Steps;
use crate::{interrupt, machine, output, profiling};

/// How long a contender works in one round at least.
const TURN: Duration = Duration::from_millis(1500);
/// And at least so many times as long as a frame takes in our slowest pipeline.
const TURN_FRAMES: u32 = 8;

#[derive(Serialize)]
struct Report {
    slow_cores: Vec<String>,
    networks: Vec<NetworkReport>,
}

#[derive(Serialize)]
struct NetworkReport {
    network: String,
    contenders: Vec<ContenderReport>,
}

#[derive(Serialize)]
struct ContenderReport {
    name: String,
    configuration: String,
    in_order: bool,
    predicted_period_seconds: Option<f64>,
    predicted_latency_seconds: Option<f64>,
    /// Sum of the stages' mean times; for schedules only.
    measured_latency_seconds: Option<f64>,
    frames_per_second: f64,
    frames_per_second_mad: f64,
    /// Median over the rounds of the round's median and longest frame.
    median_frame_seconds: f64,
    worst_frame_seconds: f64,
}

pub(crate) fn run(command: &CompareCommand) -> Result<()> {
    let plain = machine::board(command.board.board.as_deref())?;
    machine::check_usable(&plain)?;
    let slowed: Vec<(CoreId, f64)> =
        command.slow_cores.iter().map(|slow| (slow.core, f64::from(slow.factor))).collect();
    let board = plain.with_slowdown(&slowed)?;
    let mut sources = sources(&command.models);
    if sources.is_empty() {
        sources.push(DEFAULT_MODEL.to_owned());
    }
    command.inputs.check_only_network(sources.len())?;
    interrupt::listen();
    let environment = Environment::load()?;
    let load = BusyLoops::start(&command.slow_cores)?;
    let mut report = Report { slow_cores: command.slow_cores.iter().map(describe).collect(), networks: Vec::new() };
    for source in &sources {
        let network = Network::load(source, &command.dimensions)?.with_inputs(&command.inputs)?;
        let compared = compare(&network, &board, &environment, command)?;
        if !command.json {
            print(&compared, &report.slow_cores);
        }
        report.networks.push(compared);
        if interrupt::requested() {
            output::remark("interrupted; the networks so far are complete");
            break;
        }
    }
    drop(load);
    if command.json {
        output::json(&report)?;
    } else if report.networks.len() > 1 {
        summary(&report);
    }
    Ok(())
}

fn describe(slow: &SlowCore) -> String {
    format!("core {} {} times slower", slow.core, slow.factor)
}

/// Lets all contenders take turns, round by round.
fn compare(
    network: &Network,
    board: &Board,
    environment: &Environment,
    command: &CompareCommand,
) -> Result<NetworkReport> {
    let known = profiling::cached(network, board);
    let backends = Backends::open(board, &network.model, known.as_ref())?;
    let backend = Arc::clone(&backends.all);
    let mut profile = match known {
        Some(profile) => profile,
        None => profiling::make(network, board, &backends, command.budget.0)?,
    };
    let frame = network.first_frame(&*backend, board)?.to_vec();
    let settings = SessionSettings { spinning: Spinning::Always, pinned: false, ..SessionSettings::default() };
    let usual: Arc<dyn Backend> =
        Arc::new(OrtBackend::with_settings(environment, Arc::clone(&network.model), settings));
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
    let plans = Plans::refine(network, board, &backend, &mut profile, &objectives, Aim::default())?;
    profiling::cache(&profile, network, board);
    let mut contenders: Vec<Contender> = Vec::new();
    for objective in objectives {
        let plan = plans.chosen(objective)?;
        let same = contenders
            .iter_mut()
            .find(|contender| contender.plan.as_ref().is_some_and(|other| other.is_same_pipeline(plan)));
        match same {
            Some(contender) => contender.name = format!("{}, {objective}", contender.name),
            None => contenders.push(Contender::schedule(network, &plans.problem, plan, objective, &backend)?),
        }
    }
    contenders.extend(rivals);
    let slowest = contenders.iter().filter_map(|contender| Some(contender.plan.as_ref()?.latency.seconds()));
    let turn = TURN.max(Duration::from_secs_f64(slowest.fold(0.0, f64::max)) * TURN_FRAMES);
    let mut steps = Steps::new(format!("comparing on {}", network.name()), command.rounds as usize);
    let mut measurements: Vec<Vec<Measurement>> = vec![Vec::new(); contenders.len()];
    for contender in &contenders {
        contender.measure(&frame, turn / 4)?;
    }
    for round in 0..command.rounds as usize {
        for (contender, measurements) in contenders.iter().zip(&mut measurements) {
            measurements.push(contender.measure(&frame, turn)?);
        }
        steps.set(round + 1, command.rounds as usize);
        if interrupt::requested() {
            break;
        }
    }
    drop(steps);
    let reports = contenders.iter().zip(&measurements).map(|(contender, rounds)| contender_report(contender, rounds));
    Ok(NetworkReport { network: network.name().to_owned(), contenders: reports.collect() })
}

fn contender_report(contender: &Contender, rounds: &[Measurement]) -> ContenderReport {
    let over = |of: &dyn Fn(&Measurement) -> f64| {
        let values: Vec<f64> = rounds.iter().map(of).collect();
        Statistics::of(&values)
    };
    let median = |of: &dyn Fn(&Measurement) -> f64| over(of).map_or(0.0, |statistics| statistics.median_seconds);
    let throughput = |measurement: &Measurement| measurement.frames_per_second;
    ContenderReport {
        name: contender.name.clone(),
        configuration: contender.configuration.clone(),
        in_order: contender.in_order,
        predicted_period_seconds: contender.plan.as_ref().map(|plan| plan.period.seconds()),
        predicted_latency_seconds: contender.plan.as_ref().map(|plan| plan.latency.seconds()),
        measured_latency_seconds: contender
            .plan
            .as_ref()
            .map(|_| median(&|measurement| measurement.stage_seconds.unwrap_or(0.0))),
        frames_per_second: median(&throughput),
        frames_per_second_mad: over(&throughput).map_or(0.0, |statistics| statistics.mad_seconds),
        median_frame_seconds: median(&|measurement| measurement.median_frame_seconds),
        worst_frame_seconds: median(&|measurement| measurement.worst_frame_seconds),
    }
}

fn print(report: &NetworkReport, slow_cores: &[String]) {
    let conditions = if slow_cores.is_empty() { "all cores free".to_owned() } else { slow_cores.join(", ") };
    output::line(format!("{}, {conditions}: medians over the rounds\n", report.network));
    let best = report.contenders.first().map_or(1.0, |contender| contender.frames_per_second);
    let mut table = Table::new([
        ("contender", Align::Left),
        ("processors", Align::Left),
        ("frames/s", Align::Right),
        ("ours is", Align::Right),
        ("frame ms", Align::Right),
        ("worst ms", Align::Right),
        ("order kept", Align::Left),
        ("period error", Align::Right),
        ("latency error", Align::Right),
    ]);
    for contender in &report.contenders {
        table.row([
            contender.name.clone(),
            contender.configuration.clone(),
            format!("{:.1}", contender.frames_per_second),
            format!("{:.2}x", best / contender.frames_per_second),
            milliseconds(contender.median_frame_seconds),
            milliseconds(contender.worst_frame_seconds),
            if contender.in_order { "yes" } else { "no" }.to_owned(),
            period_error(contender).map_or("-".to_owned(), percent),
            latency_error(contender).map_or("-".to_owned(), percent),
        ]);
    }
    output::line(table);
    output::line("");
}

fn period_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_period_seconds? * contender.frames_per_second - 1.0)
}

fn latency_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_latency_seconds? / contender.measured_latency_seconds? - 1.0)
}

/// One row per network: our best-throughput schedule over each rival.
fn summary(report: &Report) {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("frames/s", Align::Right),
        ("over instances", Align::Right),
        ("over session, all cores", Align::Right),
        ("over session, fastest", Align::Right),
        ("worst ms", Align::Right),
        ("instances' worst ms", Align::Right),
        ("period error", Align::Right),
        ("latency error", Align::Right),
    ]);
    let (mut periods, mut latencies) = (Vec::new(), Vec::new());
    for network in &report.networks {
        let [ours, .., all_cores, fastest, instances] = network.contenders.as_slice() else { continue };
        let ratio = |other: &ContenderReport| format!("{:.2}", ours.frames_per_second / other.frames_per_second);
        periods.extend(period_error(ours).map(f64::abs));
        latencies.extend(latency_error(ours).map(f64::abs));
        table.row([
            network.network.clone(),
            ours.configuration.clone(),
            format!("{:.1}", ours.frames_per_second),
            ratio(instances),
            ratio(all_cores),
            ratio(fastest),
            milliseconds(ours.worst_frame_seconds),
            milliseconds(instances.worst_frame_seconds),
            period_error(ours).map_or("-".to_owned(), percent),
            latency_error(ours).map_or("-".to_owned(), percent),
        ]);
    }
    output::line("Our schedule for throughput, network by network:\n");
    output::line(table);
    let median = |values: &[f64]| Statistics::of(values).map_or(0.0, |statistics| statistics.median_seconds * 100.0);
    output::line(format!(
        "\nMedian prediction error: {:.1} % of the period, {:.1} % of the latency",
        median(&periods),
        median(&latencies)
    ));
}
