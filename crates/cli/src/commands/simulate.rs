use std::path::Path;

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_report::{Align, Table, TraceEvent, chrome_trace, milliseconds, percent};
use millstream_schedule::{Evaluation, Schedule, ScheduleDocument, ScheduleSetDocument};
use millstream_sim::{Conditions, DisturbanceKind, Simulation, Span, Stream, Unit, simulate_streams};
use serde::Serialize;

use crate::arguments::SimulateCommand;
use crate::commands::several::{self, Loaded};
use crate::model::Network;
use crate::scheduled::Scheduled;
use crate::{files, output, profiling};

/// Changes of speed that are shown.
const MOST_SPEEDS: usize = 8;

#[derive(Serialize)]
struct Report {
    network: String,
    configuration: String,
    frames: usize,
    /// Frames that never got through.
    unfinished: usize,
    predicted_period_seconds: f64,
    simulated_period_seconds: f64,
    predicted_latency_seconds: f64,
    worst_latency_seconds: f64,
    /// If the power of all processors is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    joules_per_frame: Option<f64>,
    events: u64,
}

pub(crate) fn run(command: &SimulateCommand) -> Result<()> {
    if let Some(trace) = &command.trace {
        files::check_writable(trace)?;
    }
    let (board, loaded) = load(command)?;
    let mut tables = Vec::new();
    for own in &loaded {
        let table = profiling::costs(command.cost.as_deref(), command.profile.as_deref(), &own.network, &board)?;
        tables.push(table.at_clocks(&board, &own.document.clocks));
    }
    let fallback = command.fallback.as_ref().map(|path| fallback(path, &loaded, &board)).transpose()?;
    let context = || command.scheduled.schedule.display().to_string();
    let streams: Vec<Stream<'_>> = loaded
        .iter()
        .zip(&tables)
        .map(|(own, table)| Stream {
            schedule: &own.schedule,
            graph: own.network.model.graph(),
            table,
            frames: (f64::from(command.frames) * own.weight).round().max(1.0) as usize,
            queue: command.queue as usize,
            interval: command.frame_rate.map(|rate| Nanoseconds::from_seconds(1.0 / rate)),
            fallback: fallback.as_ref(),
        })
        .collect();
    let simulations = simulate_streams(&streams, &conditions(command, &board, &loaded)?).with_context(context)?;
    if let Some(path) = &command.trace {
        files::write(path, &trace(&loaded, &simulations))?;
        output::remark(format!("wrote {}; open it at https://ui.perfetto.dev", path.display()));
    }
    let mut reports = Vec::new();
    for ((own, table), simulation) in loaded.iter().zip(&tables).zip(&simulations) {
        let evaluation = own.schedule.evaluate(own.network.model.graph(), table)?;
        if !command.json {
            if !reports.is_empty() {
                output::line("");
            }
            print(&own.network, &own.schedule, &evaluation, simulation);
            print_energy(own, table, simulation)?;
        }
        reports.push(Report {
            network: own.network.name().to_owned(),
            configuration: own.schedule.to_string(),
            frames: simulation.frames.len(),
            unfinished: simulation.unfinished,
            predicted_period_seconds: evaluation.period.seconds(),
            simulated_period_seconds: simulation.period_seconds(),
            predicted_latency_seconds: evaluation.latency.seconds(),
            worst_latency_seconds: simulation.worst_latency().seconds(),
            joules_per_frame: simulation.joules_per_frame(&own.schedule, table),
            events: simulation.events,
        });
    }
    if command.json {
        return match reports.as_slice() {
            [single] => output::json(single),
            several => output::json(&several),
        };
    }
    if let Some(first) = simulations.first() {
        for (at, label, factor) in first.speeds.iter().take(MOST_SPEEDS) {
            output::line(format!("After {:.2} s: {label} at {:.0} % of its speed", at.seconds(), 100.0 * factor));
        }
        if first.speeds.len() > MOST_SPEEDS {
            output::line(format!("and {} more changes of speed", first.speeds.len() - MOST_SPEEDS));
        }
    }
    Ok(())
}

/// The networks of a schedule file, whether it has one or several.
fn load(command: &SimulateCommand) -> Result<(Board, Vec<Loaded>)> {
    if ScheduleSetDocument::is_one(&files::read(&command.scheduled.schedule)?) {
        return several::load(&command.scheduled);
    }
    let Scheduled { network, board, schedule, document } = Scheduled::load(&command.scheduled)?;
    Ok((board, vec![Loaded::alone(network, schedule, document)]))
}

fn fallback(path: &Path, loaded: &[Loaded], board: &Board) -> Result<Schedule> {
    let [single] = loaded else { bail!("several networks have no common fallback") };
    let context = || path.display().to_string();
    let document = ScheduleDocument::from_json(&files::read(path)?).with_context(context)?;
    let model = &single.network.model;
    document.resolve(model.graph(), model.digest(), board).with_context(context)
}

/// What the flags ask for, and what the board file says of it.
fn conditions(command: &SimulateCommand, board: &Board, loaded: &[Loaded]) -> Result<Conditions> {
    let mut known = Conditions::of(board);
    // Costs are those at the schedule's clocks: no cluster goes above its.
    for own in &mut known.thermals {
        let clocks = loaded.iter().filter_map(|network| network.document.clocks.get(&own.cluster));
        if let Some(&clock) = clocks.max() {
            own.operating_points.retain(|point| point.hertz <= clock);
        }
    }
    if command.memory && known.memory_bytes_per_second.is_none() {
        bail!(
            "board '{}' does not say what its memory moves: give its file a 'memory' with 'bytes_per_second'",
            board.name()
        );
    }
    if command.heat && known.thermals.is_empty() {
        bail!("board '{}' does not say how its clusters heat up: give one in its file a 'thermal'", board.name());
    }
    let disturbances = command.speeds.iter().chain(&command.losses).chain(&command.restorations);
    for disturbance in disturbances.clone() {
        check(&disturbance.kind, board)?;
    }
    Ok(Conditions {
        noise: command.noise / 100.0,
        seed: command.seed,
        keeps_spans: command.trace.is_some(),
        memory_bytes_per_second: known.memory_bytes_per_second.filter(|_| command.memory),
        thermals: if command.heat { known.thermals } else { Vec::new() },
        disturbances: disturbances.cloned().collect(),
    })
}

fn check(kind: &DisturbanceKind, board: &Board) -> Result<()> {
    let is_label = |label: &str| board.cluster(label).is_ok() || board.accelerator(label).is_some();
    let (what, is_known) = match kind {
        DisturbanceKind::Speed { label, .. } => (label.clone(), is_label(label)),
        DisturbanceKind::Lost(Unit::Core(core)) | DisturbanceKind::Restored(Unit::Core(core)) => {
            (format!("core {core}"), board.cores().any(|own| own.id == *core))
        }
        DisturbanceKind::Lost(Unit::Accelerator(label)) | DisturbanceKind::Restored(Unit::Accelerator(label)) => {
            (format!("accelerator {label}"), board.accelerator(label).is_some())
        }
    };
    if is_known { Ok(()) } else { bail!("board '{}' has no {what}", board.name()) }
}

fn print_energy(own: &Loaded, table: &CostTable, simulation: &Simulation) -> Result<()> {
    if let Some(joules) = simulation.joules_per_frame(&own.schedule, table) {
        let predicted = own.schedule.energy(own.network.model.graph(), table)?;
        let predicted = predicted.map_or(f64::NAN, |energy| energy.joules_per_frame);
        output::line(format!(
            "Energy:     {joules:.3} J per frame simulated, {predicted:.3} by the analytic evaluation ({:.2} frames/J)",
            1.0 / joules
        ));
    }
    if let Some(at) = simulation.fell_back {
        output::line(format!("Fallback:   after {:.3} s, because a stage had lost all its replicas", at.seconds()));
    }
    if simulation.unfinished > 0 {
        output::line(format!(
            "Unfinished: {} frames, because a stage has lost all its replicas; --fallback names another schedule for them",
            simulation.unfinished
        ));
    }
    Ok(())
}

fn print(network: &Network, schedule: &Schedule, evaluation: &Evaluation, simulation: &Simulation) {
    output::line(format!("{}: {} frames through {schedule}, simulated\n", network.name(), simulation.frames.len()));
    let total = simulation.frames.iter().map(|(_, end)| end.seconds()).fold(0.0, f64::max);
    let mut table = Table::new([
        ("stage", Align::Right),
        ("processor", Align::Left),
        ("operators", Align::Right),
        ("period ms", Align::Right),
        ("busy", Align::Right),
    ]);
    for (index, stage) in schedule.stages.iter().enumerate() {
        for (position, replica) in stage.replicas.iter().enumerate() {
            for (place, assignment) in replica.assignments.iter().enumerate() {
                let busy = simulation.busy[index][position][place].seconds() / total.max(f64::MIN_POSITIVE);
                table.row([
                    (index + 1).to_string(),
                    assignment.processor.to_string(),
                    assignment.operators.len().to_string(),
                    milliseconds(evaluation.stages[index].period.seconds()),
                    format!("{:.0} %", 100.0 * busy),
                ]);
            }
        }
    }
    output::line(table);
    let period = simulation.period_seconds();
    output::line(format!(
        "\nThroughput: {:.1} frames/s simulated, {:.1} by the analytic evaluation ({} period)",
        1.0 / period,
        evaluation.throughput_hertz(),
        percent(period / evaluation.period.seconds() - 1.0)
    ));
    output::line(format!(
        "Latency:    {} ms at most with queues, {} ms by the analytic evaluation without",
        milliseconds(simulation.worst_latency().seconds()),
        milliseconds(evaluation.latency.seconds())
    ));
}

/// The networks' tracks one after the other.
fn trace(loaded: &[Loaded], simulations: &[Simulation]) -> String {
    let mut tracks = Vec::new();
    let mut events = Vec::new();
    for (own, simulation) in loaded.iter().zip(simulations) {
        let prefix = if loaded.len() > 1 { format!("{} ", own.network.name()) } else { String::new() };
        let mut first_track = Vec::new();
        for (index, stage) in own.schedule.stages.iter().enumerate() {
            let mut of_stage = Vec::new();
            for replica in &stage.replicas {
                of_stage.push(tracks.len());
                let names = replica.assignments.iter();
                tracks.extend(names.map(|assignment| format!("{prefix}stage {} {}", index + 1, assignment.processor)));
            }
            first_track.push(of_stage);
        }
        let graph = own.network.model.graph();
        let event = |span: &Span| {
            Some(TraceEvent {
                name: format!("frame {} {}", span.frame, graph.operator(span.operator).name),
                track: first_track.get(span.stage)?.get(span.replica)? + span.processor,
                start_microseconds: span.start.seconds() * 1e6,
                duration_microseconds: (span.end - span.start).seconds() * 1e6,
            })
        };
        // A fallback has other stages: its spans belong to no track.
        let is_of_schedule = |span: &&Span| simulation.fell_back.is_none_or(|at| span.start < at);
        events.extend(simulation.spans.iter().filter(is_of_schedule).filter_map(event));
    }
    chrome_trace(&tracks, &events)
}
