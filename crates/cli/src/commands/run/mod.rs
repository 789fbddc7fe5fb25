//! `run`: streams frames through a schedule, checks every result, and shows what was measured beside what was predicted.

mod frame_log;
mod operators;
mod plans;
pub(crate) mod report;
pub(crate) mod sink;
pub(crate) mod supply;
mod table;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use millstream_backend::Backend;
use millstream_board::{Board, Processor};
use millstream_cost::CostTable;
use millstream_frames::Golden;
use millstream_machine::PowerSensors;
use millstream_pipeline::Objective;
use millstream_runtime::{
    Engine, EngineOptions, FrameResult, Goal, StageMetrics, TuningEvent, TuningEventKind, TuningPolicy,
};
use millstream_schedule::{Prediction, Replica, Schedule, ScheduleDocument, ScheduleSetDocument, Stage};

use crate::adaptive::ModelPlanner;
use crate::arguments::{RunCommand, WarmUp};
use crate::backends::Backends;
use crate::commands::schedule::stage_rows;
use crate::commands::several;
use crate::model::Network;
use crate::reference::Reference;
use crate::run_trace::trace;
use crate::{clocks, files, interrupt, machine, output, planning, profiling, steady};
use plans::Planned;
use report::{
    AdaptationReport, ExpectedReport, LatencySummary, NetworkRun, RUN_REPORT_FORMAT, RUN_REPORT_VERSION, RunReport,
    StageReport,
};
use sink::{Sink, Taken};
use supply::Camera;

/// Between two looks at the power sensors.
const POWER_WINDOW: Duration = Duration::from_millis(200);
/// Frames that are streamed if nobody says how many.
pub(crate) const USUAL_FRAMES: u64 = 50;

pub(crate) fn run(command: &RunCommand) -> Result<()> {
    let mut command = command.clone();
    command.inputs.must_be_complete = command.output.is_some() || command.expect.is_some();
    let command = &command;
    for path in command.trace.iter().chain(&command.csv) {
        files::check_writable(path)?;
    }
    if let Some(folder) = &command.output {
        files::check_folder(folder)?;
    }
    let path = &command.scheduled.schedule;
    // With a model, the default file may well be another one's.
    let is_meant = command.scheduled.model.model.is_none() || path != Path::new(plans::DEFAULT_SCHEDULE);
    if is_meant && std::fs::read_to_string(path).is_ok_and(|text| ScheduleSetDocument::is_one(&text)) {
        return several::run(command);
    }
    let (board, planned) = plans::load(command)?;
    if planned.len() > 1 && (command.adaptive || command.trace.is_some()) {
        bail!("frames of several sizes run without --adaptive and --trace");
    }
    machine::check_usable(&board)?;
    interrupt::listen();
    let mut runs = Vec::new();
    let mut taken: Vec<(Option<String>, Vec<Taken>)> = Vec::new();
    let mut verdict = Ok(());
    for own in &planned {
        let (run, frames, own_verdict) = run_one(command, own, &board)?;
        let sizes = (planned.len() > 1).then(|| own.network.sizes());
        taken.push((sizes, frames));
        verdict = verdict.and(own_verdict);
        runs.push(run);
        if interrupt::requested() {
            break;
        }
    }
    if let Some(path) = &command.csv {
        let frames = taken.iter().flat_map(|(sizes, own)| own.iter().map(|frame| (sizes.as_deref(), frame)));
        frame_log::write(path, &frames.collect::<Vec<_>>(), command.deadline.map(|deadline| deadline.0.as_secs_f64()))?;
        output::remark(format!("wrote {}", path.display()));
    }
    if let Some(folder) = &command.output {
        output::remark(format!(
            "wrote the results of {} frames to {}",
            runs.iter().map(|run| run.frames).sum::<usize>(),
            folder.display()
        ));
    }
    if command.json {
        output::json(&report(runs))?;
    }
    verdict
}

/// The report of some networks' runs.
pub(crate) fn report(networks: Vec<NetworkRun>) -> RunReport {
    RunReport {
        format: RUN_REPORT_FORMAT.to_owned(),
        version: RUN_REPORT_VERSION,
        provenance: profiling::provenance(),
        networks,
    }
}

/// Runs one network at one size. Returns its report, its frames, and whether results were as expected.
fn run_one(command: &RunCommand, planned: &Planned, board: &Board) -> Result<(NetworkRun, Vec<Taken>, Result<()>)> {
    let Planned { network, schedule, document } = planned;
    let profile = profiling::cached(network, board);
    let backends = Backends::open(board, &network.model, profile.as_ref())?;
    let costs = profile.map(|profile| backends.choose_threads(network, board, &profile)).transpose()?;
    let backend = backends.all;
    let options = EngineOptions {
        frames_in_flight: command.in_flight.map(|count| count as usize),
        keeps_steps: command.trace.is_some(),
        takes_over: true,
        ..EngineOptions::default()
    };
    if command.adaptive && costs.is_none() {
        bail!(
            "adapting needs a profile of {} on this board, and none is cached; make one with: cargo xtask schedule --model {}",
            network.name(),
            network.source
        );
    }
    let costs = costs.filter(|_| command.adaptive);
    clocks::check(&document.clocks, board);
    let reference = Reference::new(network, &backend, board)?;
    let golden = golden(command, network, &*backend, board)?;
    let engine = start(network, board, schedule, &backend, &options)?;
    let objective = document.objective;
    let adaptation =
        costs.as_ref().map(|costs| (ModelPlanner::new(network, board, costs, objective), policy(objective)));
    let sink = Sink::new(&reference).writing_to(command.output.clone()).expecting(golden, command.tolerance);
    let stream = stream(&engine, &reference, sink, command, adaptation, network.has_own_frames())?;
    if let Some(path) = &command.trace {
        let results: Vec<&FrameResult> = stream.sink.taken.iter().map(|taken| &taken.result).collect();
        files::write(path, &trace(schedule, network.model.graph(), &results))?;
        output::remark(format!("wrote {}; open it with https://ui.perfetto.dev", path.display()));
    }
    let at_work = engine.schedule()?;
    let document = match &costs {
        Some(costs) if at_work != *schedule => &adapted(document, &at_work, network, board, costs, objective)?,
        _ => document,
    };
    drop(engine);
    let mut run = summary(document, &at_work, network, &stream, command, document.predicted.period_seconds);
    if command.operators {
        let frame = network.first_frame(&*backend, board)?;
        run.operators = operators::measure(network.model.graph(), &at_work, &*backends.observed, frame)?;
    }
    if !command.json {
        table::print(document, &at_work, network, &run);
    }
    let verdict = stream.sink.verdict();
    Ok((run, stream.sink.taken, verdict))
}

/// The results that the user expects.
fn golden(command: &RunCommand, network: &Network, backend: &dyn Backend, board: &Board) -> Result<Option<Golden>> {
    let Some(path) = &command.expect else { return Ok(None) };
    Ok(Some(Golden::read(path, network.model.graph(), network.frames(backend, board)?)?))
}

/// What adapting is for.
fn policy(objective: Objective) -> TuningPolicy {
    let goal = match objective {
        Objective::Throughput | Objective::Energy => Goal::Throughput,
        Objective::Latency => Goal::Latency,
        Objective::Balanced => Goal::Balanced,
    };
    // Conditions may differ from those of the profile from the beginning.
    TuningPolicy { goal, at_once: true, ..TuningPolicy::default() }
}

/// What streaming showed.
pub(crate) struct Stream<'a> {
    pub(crate) sink: Sink<'a>,
    pub(crate) metrics: Vec<StageMetrics>,
    pub(crate) events: Vec<TuningEvent>,
    pub(crate) warnings: Vec<String>,
    /// Mean power of the machine's processors, where it has sensors.
    pub(crate) watts: Option<f64>,
    /// By when each frame should have been answered.
    pub(crate) deadline_seconds: Option<f64>,
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
fn stream<'a>(
    engine: &Engine,
    reference: &'a Reference,
    mut sink: Sink<'a>,
    command: &RunCommand,
    adaptation: Option<(ModelPlanner, TuningPolicy)>,
    has_own_frames: bool,
) -> Result<Stream<'a>> {
    let first = warm_up(engine, reference, command.warm_up)?;
    let wanted = frames_wanted(command, reference, has_own_frames);
    let is_over = AtomicBool::new(false);
    let (events, watts) = std::thread::scope(|scope| {
        let adapting = adaptation.map(|(mut planner, policy)| {
            let is_over = || is_over.load(Ordering::Relaxed);
            scope.spawn(move || {
                let mut tell = |event: &TuningEvent| output::remark(format!("after {event}"));
                engine.tune(&mut planner, &policy, &is_over, &mut tell)
            })
        });
        let power = scope.spawn(|| mean_power(&is_over));
        let begin = Instant::now();
        let is_enough = |count: u64| match command.duration {
            Some(duration) => begin.elapsed() >= duration.0,
            None => count >= wanted,
        };
        let streamed = match command.frame_rate {
            None => supply::stream(engine, reference, is_enough, first, &mut sink),
            Some(rate) => {
                let camera = Camera { interval: Duration::from_secs_f64(1.0 / rate), when_late: command.when_late };
                camera.stream(engine, reference, is_enough, &mut sink)
            }
        };
        is_over.store(true, Ordering::Relaxed);
        let events = match adapting {
            Some(thread) => thread.join().map_err(|_| anyhow::anyhow!("the tuner panicked"))??,
            None => Vec::new(),
        };
        streamed.map(|()| (events, power.join().ok().flatten()))
    })?;
    Ok(Stream {
        sink,
        metrics: engine.metrics(),
        events,
        warnings: engine.warnings(),
        watts,
        deadline_seconds: command.deadline_seconds(),
    })
}

/// How many frames are streamed: each of the user's once if that is what the results are for.
fn frames_wanted(command: &RunCommand, reference: &Reference, has_own_frames: bool) -> u64 {
    let different = reference.different_frames() as u64;
    let is_for_results = has_own_frames && (command.output.is_some() || command.expect.is_some());
    let usual = if is_for_results { different } else { USUAL_FRAMES.max(if has_own_frames { different } else { 0 }) };
    command.frames.unwrap_or(usual)
}

/// Fills every worker's caches and memory pools. Returns how many frames that took.
pub(crate) fn warm_up(engine: &Engine, reference: &Reference, wanted: Option<WarmUp>) -> Result<u64> {
    let begin = Instant::now();
    let usual = WarmUp::Frames(2 * engine.schedule()?.processors().count() as u64 + 2);
    let is_enough = |count: u64| match wanted.unwrap_or(usual) {
        WarmUp::Frames(frames) => count >= frames,
        WarmUp::Time(time) => begin.elapsed() >= time,
    };
    let mut count = 0;
    let supply = std::iter::from_fn(|| {
        let is_over = is_enough(count) || interrupt::requested();
        count += u64::from(!is_over);
        (!is_over).then(|| reference.frame(count - 1))
    });
    for (number, result) in (0..).zip(engine.run(supply)) {
        reference.check(number, &result.outcome?)?;
    }
    engine.reset_metrics();
    Ok(count)
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

/// What a run showed of a network; `period_seconds` is what was expected of it.
pub(crate) fn summary(
    document: &ScheduleDocument,
    schedule: &Schedule,
    network: &Network,
    stream: &Stream<'_>,
    command: &RunCommand,
    period_seconds: f64,
) -> NetworkRun {
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
    let sink = &stream.sink;
    let latencies: Vec<f64> = sink.taken.iter().map(Taken::latency_seconds).collect();
    let measured_period_seconds = measured_period(&sink.taken, schedule.processors().count());
    let missed = |deadline: f64| latencies.iter().filter(|latency| **latency > deadline).count() as u64 + sink.dropped;
    let expected = sink.golden().map(|golden| ExpectedReport {
        path: golden.path().display().to_string(),
        checked_frames: sink.taken.len(),
        wrong_frames: sink.wrong_frames,
        largest_difference: sink.golden_difference,
    });
    NetworkRun {
        network: network.name().to_owned(),
        dimensions: network.reference().dimensions,
        configuration: document.configuration.clone(),
        frames: sink.taken.len(),
        different_frames: sink.different_frames(),
        has_own_frames: network.has_own_frames(),
        frames_per_second_offered: command.frame_rate,
        dropped_frames: sink.dropped,
        predicted_period_seconds: period_seconds,
        measured_period_seconds,
        predicted_latency_seconds: document.predicted.latency_seconds,
        measured_latency_seconds: stream.metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum(),
        deadline_seconds: stream.deadline_seconds,
        missed_deadlines: stream.deadline_seconds.map(missed),
        latency: LatencySummary::of(latencies.clone()),
        measured_joules_per_frame: stream.watts.zip(measured_period_seconds).map(|(watts, period)| watts * period),
        predicted_joules_per_frame: document.predicted.joules_per_frame,
        largest_difference: sink.largest_difference,
        checked_frames: sink.taken.len(),
        expected,
        stages: stages.collect(),
        operators: Vec::new(),
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
        what: what.to_owned(),
        configuration: configuration.cloned(),
        period_seconds: period.map(Duration::as_secs_f64),
        text: event.to_string(),
    }
}

/// Mean time between the ends of frames while they flow.
fn measured_period(taken: &[Taken], workers: usize) -> Option<f64> {
    let ends = taken.iter().filter_map(|taken| taken.result.spans.last()).map(|span| span.end).collect();
    let stop = taken.last()?.result.submitted;
    steady::interval(ends, workers, stop).map(|time| time.as_secs_f64())
}
