use anyhow::{Context, Result};
use millstream_report::{Align, Table, TraceEvent, chrome_trace, milliseconds, percent};
use millstream_schedule::{Evaluation, Schedule};
use millstream_sim::{Settings, Simulation, simulate};
use serde::Serialize;

use crate::arguments::SimulateCommand;
use crate::model::Network;
use crate::scheduled::Scheduled;
use crate::{files, output, profiling};

#[derive(Serialize)]
struct Report {
    configuration: String,
    frames: usize,
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
    let Scheduled { network, board, schedule, .. } = Scheduled::load(&command.scheduled)?;
    let graph = network.model.graph();
    let table = profiling::costs(command.cost.as_deref(), command.profile.as_deref(), &network, &board)?;
    let context = || command.scheduled.schedule.display().to_string();
    let evaluation = schedule.evaluate(graph, &table).with_context(context)?;
    let settings = Settings {
        frames: command.frames as usize,
        queue: command.queue as usize,
        noise: command.noise / 100.0,
        seed: command.seed,
        keeps_spans: command.trace.is_some(),
    };
    let simulation = simulate(&schedule, graph, &table, &settings)?;
    if let Some(path) = &command.trace {
        files::write(path, &trace(&schedule, &network, &simulation))?;
        output::remark(format!("wrote {}; open it at https://ui.perfetto.dev", path.display()));
    }
    if command.json {
        return output::json(&Report {
            configuration: schedule.to_string(),
            frames: simulation.frames.len(),
            predicted_period_seconds: evaluation.period.seconds(),
            simulated_period_seconds: simulation.period_seconds(),
            predicted_latency_seconds: evaluation.latency.seconds(),
            worst_latency_seconds: simulation.worst_latency().seconds(),
            joules_per_frame: simulation.joules_per_frame(&schedule, &table),
            events: simulation.events,
        });
    }
    print(&network, &schedule, &evaluation, &simulation);
    if let Some(joules) = simulation.joules_per_frame(&schedule, &table) {
        let predicted = schedule.energy(graph, &table)?.map_or(f64::NAN, |energy| energy.joules_per_frame);
        output::line(format!(
            "Energy:     {joules:.3} J per frame simulated, {predicted:.3} by the analytic evaluation ({:.2} frames/J)",
            1.0 / joules
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

fn trace(schedule: &Schedule, network: &Network, simulation: &Simulation) -> String {
    let mut tracks = Vec::new();
    let mut first_track = Vec::new();
    for (index, stage) in schedule.stages.iter().enumerate() {
        let mut of_stage = Vec::new();
        for replica in &stage.replicas {
            of_stage.push(tracks.len());
            let names = replica.assignments.iter();
            tracks.extend(names.map(|assignment| format!("stage {} {}", index + 1, assignment.processor)));
        }
        first_track.push(of_stage);
    }
    let graph = network.model.graph();
    let event = |span: &millstream_sim::Span| TraceEvent {
        name: format!("frame {} {}", span.frame, graph.operator(span.operator).name),
        track: first_track[span.stage][span.replica] + span.processor,
        start_microseconds: span.start.seconds() * 1e6,
        duration_microseconds: (span.end - span.start).seconds() * 1e6,
    };
    chrome_trace(&tracks, &simulation.spans.iter().map(event).collect::<Vec<_>>())
}
