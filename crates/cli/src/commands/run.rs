use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use millstream_backend::{Backend, Segment, Tensor};
use millstream_board::{Board, Processor};
use millstream_cost::Statistics;
use millstream_profile::sample_frame;
use millstream_report::{MeasuredStage, StageRow, milliseconds, percent, stage_table};
use millstream_runtime::{Engine, EngineOptions, FrameResult};
use millstream_schedule::{Replica, Schedule, ScheduleDocument, Stage};
use serde::Serialize;

use crate::arguments::RunCommand;
use crate::backends::Backends;
use crate::commands::schedule::stage_rows;
use crate::model::Network;
use crate::run_trace::trace;
use crate::scheduled::Scheduled;
use crate::{files, interrupt, machine, output, profiling, steady};

/// Different frames that take turns.
const DIFFERENT_FRAMES: u64 = 4;
/// Results may differ from sequential inference by this much, relative to the largest element.
const TOLERANCE: f32 = 1e-4;

#[derive(Serialize)]
struct Report {
    configuration: String,
    frames: usize,
    predicted_period_seconds: f64,
    measured_period_seconds: Option<f64>,
    predicted_latency_seconds: f64,
    measured_latency_seconds: f64,
    latency_with_queues_seconds: f64,
    largest_difference: f32,
    checked_frames: usize,
    stages: Vec<StageReport>,
    warnings: Vec<String>,
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
    let Scheduled { document, network, board, schedule } = Scheduled::load(&command.scheduled)?;
    machine::check_usable(&board)?;
    interrupt::listen();
    let profile = profiling::cached(&network, &board);
    let backends = Backends::open(&board, &network.model, profile.as_ref())?;
    if let Some(profile) = &profile {
        backends.choose_threads(&network, &board, profile)?;
    }
    let backend = backends.all;
    let options = EngineOptions {
        frames_in_flight: command.in_flight.map(|count| count as usize),
        keeps_steps: command.trace.is_some(),
        takes_over: true,
        ..EngineOptions::default()
    };
    let stream = stream(&network, &board, &schedule, &backend, command.frames, &options)?;
    let check = check(&network, &backend, &board, &stream)?;
    if let Some(path) = &command.trace {
        files::write(path, &trace(&schedule, network.model.graph(), &stream.results))?;
        output::remark(format!("wrote {}; open it with https://ui.perfetto.dev", path.display()));
    }
    let report = report(&document, &schedule, &network, &stream, &check);
    if command.json {
        output::json(&report)?;
    } else {
        print(&document, &schedule, &network, &report);
    }
    if check.largest_difference > TOLERANCE || check.largest_difference.is_nan() {
        bail!(
            "results differ from sequential inference by {:.1e} (relative to the largest element), more than {TOLERANCE:.0e}",
            check.largest_difference
        );
    }
    Ok(())
}

/// What streaming showed.
struct Stream {
    frames: Vec<Vec<Tensor>>,
    results: Vec<FrameResult>,
    /// Outputs of the last result of each different frame.
    outputs: BTreeMap<u64, Vec<Tensor>>,
    metrics: Vec<millstream_runtime::StageMetrics>,
    warnings: Vec<String>,
}

/// Starts the engine; if the schedule needs accelerators, with the fastest cores ready to go on should one get lost.
fn start(
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

fn stream(
    network: &Network,
    board: &Board,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    count: u64,
    options: &EngineOptions,
) -> Result<Stream> {
    let graph = network.model.graph();
    let frames = (0..DIFFERENT_FRAMES).map(|seed| sample_frame(graph, seed)).collect::<Result<Vec<_>, _>>()?;
    let engine = start(network, board, schedule, backend, options)?;
    // Fills every worker's caches and memory pools.
    let warm_up = 2 * schedule.processors().count() + 2;
    for result in engine.run(std::iter::repeat_n(frames[0].clone(), warm_up)) {
        result.outcome?;
    }
    engine.reset_metrics();
    let mut outputs = BTreeMap::new();
    let supply = frames.iter().cycle().take(count as usize).take_while(|_| !interrupt::requested()).cloned();
    let mut results = Vec::new();
    for (index, mut result) in engine.run(supply).enumerate() {
        let made = std::mem::replace(&mut result.outcome, Ok(Vec::new())).with_context(|| format!("frame {index}"))?;
        outputs.insert(index as u64 % DIFFERENT_FRAMES, made);
        results.push(result);
    }
    if results.is_empty() {
        bail!("interrupted before the first frame");
    }
    Ok(Stream { results, outputs, metrics: engine.metrics(), warnings: engine.warnings().to_vec(), frames })
}

/// The comparison with sequential inference.
struct Check {
    largest_difference: f32,
    frames: usize,
}

/// Runs the network as a whole, on one core, on the different frames, and compares element by element.
fn check(network: &Network, backend: &Arc<dyn Backend>, board: &Board, stream: &Stream) -> Result<Check> {
    let cluster = board.clusters().first().context("the board has no cluster")?;
    let core = cluster.cores.first().context("the cluster has no core")?.id;
    let processor = Processor { cluster: cluster.label.clone(), cores: vec![core] };
    let mut whole = backend.prepare(&Segment::whole(network.model.graph()), &processor)?;
    let order = whole_outputs(network);
    let mut check = Check { largest_difference: 0.0, frames: 0 };
    for (&seed, made) in &stream.outputs {
        let expected = whole.run(&stream.frames[seed as usize])?;
        for (position, tensor) in made.iter().enumerate() {
            let reference =
                order.get(position).and_then(|&place| expected.get(place)).context("an output is missing")?;
            check.largest_difference = check.largest_difference.max(difference(tensor, reference)?);
        }
        check.frames += 1;
    }
    Ok(check)
}

/// For each output of the network, its position among the outputs of the segment that is the whole network.
fn whole_outputs(network: &Network) -> Vec<usize> {
    let graph = network.model.graph();
    let made = Segment::whole(graph).boundary.outputs;
    graph.outputs().iter().filter_map(|output| made.iter().position(|value| value == output)).collect()
}

/// Largest difference of two tensors, relative to the largest element of the reference.
fn difference(tensor: &Tensor, reference: &Tensor) -> Result<f32> {
    if tensor.shape() != reference.shape() || tensor.data_type() != reference.data_type() {
        bail!("an output is {} where sequential inference gives {}", tensor.description(), reference.description());
    }
    match (tensor.as_f32(), reference.as_f32()) {
        (Some(left), Some(right)) => {
            let scale = right.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
            // NaN in one and not in the other must not be lost in a maximum.
            let differs =
                |(left, right): (&f32, &f32)| if left.is_nan() == right.is_nan() { 0.0 } else { f32::INFINITY };
            let apart = |(left, right): (&f32, &f32)| ((left - right).abs() / scale).max(0.0);
            Ok(left.iter().zip(right).map(|pair| apart(pair).max(differs(pair))).fold(0.0, f32::max))
        }
        _ => Ok(if tensor.bytes() == reference.bytes() { 0.0 } else { f32::INFINITY }),
    }
}

fn report(
    document: &ScheduleDocument,
    schedule: &Schedule,
    network: &Network,
    stream: &Stream,
    check: &Check,
) -> Report {
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
    Report {
        configuration: document.configuration.clone(),
        frames: stream.results.len(),
        predicted_period_seconds: document.predicted.period_seconds,
        measured_period_seconds: measured_period(&stream.results, schedule.processors().count()),
        predicted_latency_seconds: document.predicted.latency_seconds,
        measured_latency_seconds: stream.metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum(),
        latency_with_queues_seconds: Statistics::of(&times).map_or(0.0, |statistics| statistics.median_seconds),
        largest_difference: check.largest_difference,
        checked_frames: check.frames,
        stages: stages.collect(),
        warnings: stream.warnings.clone(),
    }
}

/// Mean time between the ends of frames while they flow.
fn measured_period(results: &[FrameResult], workers: usize) -> Option<f64> {
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
    output::line(format!(
        "Results:    {} frames checked against sequential inference, largest difference {:.1e} of the largest element",
        report.checked_frames, report.largest_difference
    ));
    for warning in &report.warnings {
        output::line(format!("Warning:    {warning}"));
    }
}
