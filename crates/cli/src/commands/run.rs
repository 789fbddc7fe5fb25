use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use millstream_backend::Backend;
use millstream_board::{Board, Processor};
use millstream_cost::{CostTable, Statistics};
use millstream_pipeline::Objective;
use millstream_profile::PowerSensors;
use millstream_report::{MeasuredStage, StageRow, milliseconds, percent, stage_table};
use millstream_runtime::{Engine, EngineOptions, FrameResult, Goal, TuningEvent, TuningEventKind, TuningPolicy};
use millstream_schedule::{Prediction, Replica, Schedule, ScheduleDocument, ScheduleSetDocument, Stage};
use serde::Serialize;

use crate::adaptive::ModelPlanner;
use crate::arguments::RunCommand;
use crate::backends::Backends;
use crate::commands::schedule::stage_rows;
use crate::commands::several;
use crate::model::Network;
use crate::reference::Reference;
use crate::run_trace::trace;
use crate::scheduled::Scheduled;
use crate::{clocks, files, interrupt, machine, output, planning, profiling, steady};

/// Between two looks at the power sensors.
const POWER_WINDOW: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct Report {
    configuration: String,
    frames: usize,
    predicted_period_seconds: f64,
    measured_period_seconds: Option<f64>,
    predicted_latency_seconds: f64,
    measured_latency_seconds: f64,
    latency_with_queues_seconds: f64,
    /// By the machine's power sensors, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_joules_per_frame: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_joules_per_frame: Option<f64>,
    largest_difference: f32,
    checked_frames: usize,
    stages: Vec<StageReport>,
    /// What happened while the schedule was adapted.
    adaptations: Vec<AdaptationReport>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct AdaptationReport {
    seconds: f64,
    what: &'static str,
    configuration: Option<String>,
    period_seconds: Option<f64>,
    text: String,
}

#[derive(Serialize)]
struct StageReport {
    stage: usize,
    processor: String,
    predicted_seconds: f64,
    measured_seconds: f64,
    frames: u64,
    queue_wait_seconds: f64,
    utilisation: f64,
}

pub(crate) fn run(command: &RunCommand) -> Result<()> {
    if let Some(path) = &command.trace {
        files::check_writable(path)?;
    }
    if ScheduleSetDocument::is_one(&files::read(&command.scheduled.schedule)?) {
        return several::run(command);
    }
    let Scheduled { document, network, board, schedule } = Scheduled::load(&command.scheduled)?;
    machine::check_usable(&board)?;
    interrupt::listen();
    let profile = profiling::cached(&network, &board);
    let backends = Backends::open(&board, &network.model, profile.as_ref())?;
    let costs = profile.map(|profile| backends.choose_threads(&network, &board, &profile)).transpose()?;
    let backend = backends.all;
    let options = EngineOptions {
        frames_in_flight: command.in_flight.map(|count| count as usize),
        keeps_steps: command.trace.is_some(),
        takes_over: true,
        ..EngineOptions::default()
    };
    let costs = match costs.filter(|_| command.adaptive) {
        None if command.adaptive => bail!(
            "adapting needs a profile of {} on this board, and none is cached; make one with: cargo xtask schedule --model {}",
            network.name(),
            network.source
        ),
        costs => costs,
    };
    clocks::check(&document.clocks, &board);
    let reference = Reference::new(&network, &backend, &board)?;
    let engine = start(&network, &board, &schedule, &backend, &options)?;
    let objective: Objective = document.objective.parse().unwrap_or(Objective::Throughput);
    let adaptation = costs.as_ref().map(|costs| {
        let goal = match objective {
            Objective::Throughput | Objective::Energy => Goal::Throughput,
            Objective::Latency => Goal::Latency,
            Objective::Balanced => Goal::Balanced,
        };
        let planner = ModelPlanner::new(&network, &board, costs, objective);
        // Conditions may differ from those of the profile from the beginning.
        (planner, TuningPolicy { goal, at_once: true, ..TuningPolicy::default() })
    });
    let stream = stream(&engine, &reference, command, adaptation)?;
    if let Some(path) = &command.trace {
        files::write(path, &trace(&schedule, network.model.graph(), &stream.results))?;
        output::remark(format!("wrote {}; open it with https://ui.perfetto.dev", path.display()));
    }
    let at_work = engine.schedule()?;
    let document = match &costs {
        Some(costs) if at_work != schedule => adapted(&document, &at_work, &network, &board, costs, objective)?,
        _ => document,
    };
    let report = report(&document, &at_work, &network, &stream);
    if command.json {
        output::json(&report)?;
    } else {
        print(&document, &at_work, &network, &report);
    }
    Ok(())
}

/// What streaming showed.
struct Stream {
    results: Vec<FrameResult>,
    largest_difference: f32,
    metrics: Vec<millstream_runtime::StageMetrics>,
    events: Vec<TuningEvent>,
    warnings: Vec<String>,
    /// Mean power of the machine's processors, where it has sensors.
    watts: Option<f64>,
}

/// Starts the engine; if the schedule needs accelerators, with the fastest cores ready to go on should one get lost.
pub(crate) fn start(
    network: &Network,
    board: &Board,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    options: &EngineOptions,
) -> Result<Engine> {
    let graph = network.model.graph();
    let backends = std::slice::from_ref(backend);
    if !schedule.processors().any(Processor::is_accelerator) {
        return Ok(Engine::new(graph, schedule, backends, options)?);
    }
    let cluster = board.clusters().first().context("the board has no cluster")?;
    let cores = cluster.cores.iter().map(|core| core.id).collect();
    let processor = Processor { cluster: cluster.label.clone(), cores };
    let fallback =
        Schedule { stages: vec![Stage { replicas: vec![Replica::single(processor, graph.order().to_vec())] }] };
    Ok(Engine::with_fallback(graph, schedule, &fallback, backends, options)?)
}

/// Streams frames, checks each result, and adapts the schedule meanwhile if there are costs to plan with.
fn stream(
    engine: &Engine,
    reference: &Reference,
    command: &RunCommand,
    adaptation: Option<(ModelPlanner, TuningPolicy)>,
) -> Result<Stream> {
    let warm_up = warm_up(engine, reference)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let adapting = adaptation.map(|(mut planner, policy)| {
            let is_over = || is_over.load(Ordering::Relaxed);
            scope.spawn(move || {
                let mut tell = |event: &TuningEvent| output::remark(format!("after {event}"));
                engine.tune(&mut planner, &policy, &is_over, &mut tell)
            })
        });
        let is_measured = AtomicBool::new(false);
        let (streamed, watts) = std::thread::scope(|scope| {
            let power = scope.spawn(|| mean_power(&is_measured));
            let begin = Instant::now();
            let is_enough = |count: u64| match command.duration {
                Some(duration) => begin.elapsed() >= duration.0,
                None => count >= command.frames,
            };
            let streamed = frames(engine, reference, is_enough, warm_up);
            is_measured.store(true, Ordering::Relaxed);
            (streamed, power.join().ok().flatten())
        });
        is_over.store(true, Ordering::Relaxed);
        let events = match adapting {
            Some(thread) => thread.join().map_err(|_| anyhow::anyhow!("the tuner panicked"))??,
            None => Vec::new(),
        };
        let (results, largest_difference) = streamed?;
        let warnings = engine.warnings();
        Ok(Stream { results, largest_difference, metrics: engine.metrics(), events, warnings, watts })
    })
}

/// Fills every worker's caches and memory pools. Returns how many frames that took.
pub(crate) fn warm_up(engine: &Engine, reference: &Reference) -> Result<u64> {
    let frames = 2 * engine.schedule()?.processors().count() as u64 + 2;
    for result in engine.run((0..frames).map(|number| reference.frame(number))) {
        reference.check(result.sequence, result.outcome)?;
    }
    engine.reset_metrics();
    Ok(frames)
}

/// What the machine's sensors show until somebody says that it is over; `None` without sensors.
fn mean_power(is_over: &AtomicBool) -> Option<f64> {
    let sensors = PowerSensors::detect()?;
    let mut readings = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        readings.push(sensors.watts(POWER_WINDOW)?);
    }
    Some(readings.iter().sum::<f64>() / readings.len().max(1) as f64).filter(|watts| *watts > 0.0)
}

/// Submits and receives until there are enough. Returns the results, and the largest difference from sequential inference.
pub(crate) fn frames(
    engine: &Engine,
    reference: &Reference,
    is_enough: impl Fn(u64) -> bool,
    first: u64,
) -> Result<(Vec<FrameResult>, f32)> {
    let mut count = 0;
    let supply = std::iter::from_fn(|| {
        let is_over = is_enough(count) || interrupt::requested();
        count += 1;
        (!is_over).then(|| reference.frame(first + count - 1))
    });
    let mut results = Vec::new();
    let mut largest = 0.0_f32;
    for mut result in engine.run(supply) {
        let outcome = std::mem::replace(&mut result.outcome, Ok(Vec::new()));
        let sequence = result.sequence;
        if sequence != first + results.len() as u64 {
            bail!("the result of frame {sequence} came out of turn");
        }
        results.push(result);
        largest = largest.max(reference.check(sequence, outcome)?);
    }
    if results.is_empty() {
        bail!("interrupted before the first frame");
    }
    Ok((results, largest))
}

/// The document of the schedule that is at work at the end, with what the profile predicts of it.
fn adapted(
    document: &ScheduleDocument,
    schedule: &Schedule,
    network: &Network,
    board: &Board,
    costs: &CostTable,
    objective: Objective,
) -> Result<ScheduleDocument> {
    let evaluation = schedule.evaluate(network.model.graph(), costs)?;
    let lower_bound = document.predicted.lower_bound_period_seconds.min(evaluation.period.seconds());
    let energy = schedule.energy(network.model.graph(), costs)?;
    let predicted = Prediction::new(&evaluation, lower_bound).with_energy(energy);
    Ok(planning::document(schedule, predicted, "adaptive", objective, network, board))
}

fn report(document: &ScheduleDocument, schedule: &Schedule, network: &Network, stream: &Stream) -> Report {
    let rows = stage_rows(schedule, document, network);
    let replicas = stream.metrics.iter().flat_map(|stage| &stage.replicas);
    let stages = rows.iter().zip(replicas).map(|(row, metrics)| StageReport {
        stage: row.stage,
        processor: row.processor.clone(),
        predicted_seconds: row.predicted_seconds,
        measured_seconds: metrics.mean().as_secs_f64(),
        frames: metrics.frames,
        queue_wait_seconds: metrics.mean_queue_wait().as_secs_f64(),
        utilisation: metrics.utilisation(),
    });
    let times: Vec<f64> = stream.results.iter().map(|result| result.latency().as_secs_f64()).collect();
    let measured_period_seconds = measured_period(&stream.results, schedule.processors().count());
    Report {
        measured_joules_per_frame: stream.watts.zip(measured_period_seconds).map(|(watts, period)| watts * period),
        predicted_joules_per_frame: document.predicted.joules_per_frame,
        configuration: document.configuration.clone(),
        frames: stream.results.len(),
        predicted_period_seconds: document.predicted.period_seconds,
        measured_period_seconds,
        predicted_latency_seconds: document.predicted.latency_seconds,
        measured_latency_seconds: stream.metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum(),
        latency_with_queues_seconds: Statistics::of(&times).map_or(0.0, |statistics| statistics.median_seconds),
        largest_difference: stream.largest_difference,
        checked_frames: stream.results.len(),
        stages: stages.collect(),
        adaptations: stream.events.iter().map(adaptation).collect(),
        warnings: stream.warnings.clone(),
    }
}

fn adaptation(event: &TuningEvent) -> AdaptationReport {
    let (what, configuration, period) = match &event.kind {
        TuningEventKind::Drift { period, .. } => ("drift", None, Some(period)),
        TuningEventKind::Trial { configuration, period } => ("trial", Some(configuration), Some(period)),
        TuningEventKind::Settled { configuration, period } => ("settled", Some(configuration), Some(period)),
        TuningEventKind::Refused { configuration, .. } => ("refused", Some(configuration), None),
        _ => ("other", None, None),
    };
    AdaptationReport {
        seconds: event.at.as_secs_f64(),
        what,
        configuration: configuration.cloned(),
        period_seconds: period.map(Duration::as_secs_f64),
        text: event.to_string(),
    }
}

/// Mean time between the ends of frames while they flow.
pub(crate) fn measured_period(results: &[FrameResult], workers: usize) -> Option<f64> {
    let ends = results.iter().filter_map(|result| result.spans.last()).map(|span| span.end).collect();
    let stop = results.last()?.submitted;
    steady::interval(ends, workers, stop).map(|time| time.as_secs_f64())
}

fn print(document: &ScheduleDocument, schedule: &Schedule, network: &Network, report: &Report) {
    output::line(format!("{}: {} frames through {}\n", network.name(), report.frames, report.configuration));
    let mut rows: Vec<StageRow> = stage_rows(schedule, document, network);
    for (row, stage) in rows.iter_mut().zip(&report.stages) {
        row.measured = Some(MeasuredStage {
            seconds: stage.measured_seconds,
            frames: stage.frames,
            queue_wait_seconds: stage.queue_wait_seconds,
            utilisation: stage.utilisation,
        });
    }
    output::line(stage_table(&rows));
    if let Some(period) = report.measured_period_seconds {
        output::line(format!(
            "\nThroughput: {:.1} frames/s measured, {:.1} predicted ({} period)",
            1.0 / period,
            1.0 / report.predicted_period_seconds,
            percent(report.predicted_period_seconds / period - 1.0)
        ));
    }
    output::line(format!(
        "Latency:    {} ms measured, {} predicted ({}); {} ms with queues and order",
        milliseconds(report.measured_latency_seconds),
        milliseconds(report.predicted_latency_seconds),
        percent(report.predicted_latency_seconds / report.measured_latency_seconds - 1.0),
        milliseconds(report.latency_with_queues_seconds)
    ));
    let energy = |joules: f64| format!("{joules:.3} J per frame ({:.2} frames/J)", 1.0 / joules);
    match (report.measured_joules_per_frame, report.predicted_joules_per_frame) {
        (Some(measured), Some(predicted)) => {
            output::line(format!("Energy:     {} measured, {predicted:.3} J predicted", energy(measured)));
        }
        (Some(measured), None) => output::line(format!("Energy:     {} measured", energy(measured))),
        (None, Some(predicted)) => {
            output::line(format!("Energy:     {} predicted; this machine has no power sensors", energy(predicted)));
        }
        (None, None) => {}
    }
    output::line(format!(
        "Results:    {} frames checked against sequential inference, largest difference {:.1e} of the largest element",
        report.checked_frames, report.largest_difference
    ));
    for adaptation in &report.adaptations {
        output::line(format!("Adapted:    after {}", adaptation.text));
    }
    for warning in &report.warnings {
        output::line(format!("Warning:    {warning}"));
    }
}
