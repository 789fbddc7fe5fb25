//! `simulate`: schedules in simulation, compared with what was predicted for them.

use std::path::Path;

use anyhow::{Context, Result};
use millstream::{CostSource, Hosts, Rounds, Scheduled, Simulated, files, read_schedules, simulate};
use millstream_cost::CostTable;
use millstream_report::{
    Align, Fact, Table, joules, milliseconds, rate, rate_beside, simulation_trace, than_predicted,
};
use millstream_schedule::{Energy, Evaluation, MissedConstraint, SharedLink};
use millstream_sim::{Simulation, SpeedChange, SteadyState};
use serde::Serialize;

use crate::arguments::{SimulateCommand, only};
use crate::commands::schedule::link_fact;
use crate::control::control;
use crate::distinct::NamedFiles;
use crate::output;

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
    /// Beside the other networks, as their schedules promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    promised_period_seconds: Option<f64>,
    simulated_period_seconds: f64,
    predicted_latency_seconds: f64,
    worst_latency_seconds: f64,
    /// Constraints that the schedule was planned for and that the simulation missed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missed_constraints: Vec<MissedConstraint>,
    /// The longest that a frame took, with its waiting in queues, where that is beyond a limit that was planned
    /// without.
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond_with_queues: Option<MissedConstraint>,
    /// If the power of all processors is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    joules_per_frame: Option<f64>,
    events: u64,
}

impl Report {
    /// What is so of a network alone.
    fn of(scheduled: &Scheduled, simulation: &Simulation, evaluation: &Evaluation, table: &CostTable) -> Self {
        Self {
            network: scheduled.network.name().to_owned(),
            configuration: scheduled.schedule.to_string(),
            frames: simulation.frames.len(),
            unfinished: simulation.unfinished,
            predicted_period_seconds: evaluation.period.seconds(),
            promised_period_seconds: None,
            simulated_period_seconds: simulation.period_seconds(),
            predicted_latency_seconds: evaluation.latency.seconds(),
            missed_constraints: Vec::new(),
            beyond_with_queues: scheduled.beyond_with_queues(simulation.worst_latency().seconds()),
            worst_latency_seconds: simulation.worst_latency().seconds(),
            joules_per_frame: simulation.joules_per_frame(&scheduled.schedule, table),
            events: simulation.events,
        }
    }
}

fn named_files(command: &SimulateCommand) -> NamedFiles {
    let files = command.scheduled.named().reads("--profile", command.profile.as_deref());
    let files = files.reads("--system", command.system.as_deref());
    let files = files.reads("--cost", command.cost.as_deref()).reads("--fallback", command.fallback.as_deref());
    files.writes("--trace", command.trace.as_deref())
}

pub(crate) fn run(command: &SimulateCommand) -> Result<()> {
    named_files(command).check()?;
    if let Some(trace) = &command.trace {
        files::check_writable(trace)?;
    }

    let hosts = command.system.as_deref().map(Hosts::read).transpose()?;
    let machine = match &hosts {
        Some(hosts) => hosts.machine().clone(),
        None => command.scheduled.board.machine()?,
    };
    let model = &command.scheduled.model;
    let dimensions = model.dimensions.read_options()?;
    let loaded = read_schedules(&command.scheduled.schedule, machine.board(), model.model.as_deref(), &dimensions)?;
    let loaded: Vec<Scheduled> = loaded.into_iter().map(|scheduled| scheduled.with_engines_of(&machine)).collect();

    let context = || command.scheduled.schedule.display().to_string();
    let mut options = command.options();
    let table = hosts.as_ref().map(|hosts| anyhow::Ok(hosts.table(&only(&loaded)?.network)?)).transpose()?;
    if let Some(table) = &table {
        options.costs = CostSource::Table(table);
    }
    let simulated = simulate(&machine, &loaded, &options, &control()).with_context(context)?;

    if let Some(path) = &command.trace {
        write_trace(path, &loaded, &simulated)?;
    }

    let mut reports = Vec::new();
    for (scheduled, Simulated { simulation, expected, table }) in loaded.iter().zip(&simulated) {
        let SteadyState { evaluation, energy } = expected;
        let missed_constraints = scheduled.missed(simulation, table, &options);
        if !command.json {
            if !reports.is_empty() {
                output::line("");
            }
            print_stages(scheduled, evaluation, simulation);
            print_speed((evaluation, simulation), options.frame_rate_hertz, loaded.len() > 1);
            print_links(evaluation);
            print_energy(scheduled, (energy.as_ref(), table), simulation);
            missed_constraints.iter().for_each(|missed| output::fact(&Fact::bad("Missed", missed.to_string())));
            let longest = simulation.worst_latency().seconds();
            if let Some(beyond) = scheduled.beyond_with_queues(longest) {
                output::fact(&Fact::warning("Queues", beyond.to_string()));
            }
        }
        let promised_period_seconds = (loaded.len() > 1).then_some(scheduled.expected_period_seconds);
        let report = Report::of(scheduled, simulation, evaluation, table);
        reports.push(Report { promised_period_seconds, missed_constraints, ..report });
    }

    if command.json {
        return match reports.as_slice() {
            [single] => output::json(single),
            several => output::json(&several),
        };
    }
    print_together(&loaded, &simulated, options.frame_rate_hertz.is_some());
    Ok(())
}

/// What each network's simulation did, for a viewer of traces.
fn write_trace(path: &Path, loaded: &[Scheduled], simulated: &[Simulated]) -> Result<()> {
    let networks = loaded.iter().zip(simulated);
    let networks =
        networks.map(|(scheduled, result)| (&scheduled.schedule, &**scheduled.network.graph(), &result.simulation));
    files::write(path, &simulation_trace(&networks.collect::<Vec<_>>()))?;
    output::remark(format!("wrote {}; open it at https://ui.perfetto.dev", path.display()));
    Ok(())
}

/// The links that are bottlenecks.
fn print_links(evaluation: &Evaluation) {
    if let Some(link) = evaluation.link_bottleneck() {
        output::line(link_fact(link));
    }
    if let Some(link) = evaluation.board_link_bottleneck() {
        output::fact(&Fact::new("Link", link_text(link)));
    }
}

/// A link within a board that is the bottleneck of all stages that take frames over it.
fn link_text(link: &SharedLink) -> String {
    let SharedLink { sender, receiver, stages, period } = link;
    format!(
        "the link from {sender} to {receiver} is the bottleneck: {stages} stages share it, and a frame occupies it for {period}"
    )
}

/// What holds for the whole board.
fn print_together(loaded: &[Scheduled], simulated: &[Simulated], has_camera: bool) {
    if loaded.len() > 1 && !has_camera {
        let Rounds { simulated_hertz, promised_hertz } = Rounds::of(loaded, simulated);
        let words = match rate_beside(simulated_hertz, promised_hertz).as_str() {
            "the same" => "as promised".to_owned(),
            other => format!("{other} than promised"),
        };
        let text = format!("{simulated_hertz:.2} a second simulated, {promised_hertz:.2} promised: {words}");
        output::line("");
        output::fact(&Fact::new("Rounds", text));
    }
    if let Some(first) = simulated.first().map(|result| &result.simulation) {
        for SpeedChange { at, label, factor } in first.speeds.iter().take(MOST_SPEEDS) {
            output::line(format!("After {:.2} s: {label} at {:.0} % of its speed", at.seconds(), 100.0 * factor));
        }
        if first.speeds.len() > MOST_SPEEDS {
            output::line(format!("and {} more changes of speed", first.speeds.len() - MOST_SPEEDS));
        }
    }
}

fn print_energy(scheduled: &Scheduled, (expected, table): (Option<&Energy>, &CostTable), simulation: &Simulation) {
    if let (Some(own_joules), Some(expected)) = (simulation.joules_per_frame(&scheduled.schedule, table), expected) {
        let predicted = expected.joules_per_frame;
        let text = format!(
            "{} J per frame simulated, {} predicted ({:.2} frames/J)",
            joules(own_joules),
            joules(predicted),
            1.0 / own_joules
        );
        output::fact(&Fact::new("Energy", text));
    }
    if let Some(at) = simulation.fell_back {
        let text = format!("after {:.3} s, because a stage had lost all its replicas", at.seconds());
        output::fact(&Fact::warning("Fallback", text));
    }
    if simulation.unfinished > 0 {
        let text = format!(
            "{} frames, because a stage has lost all its replicas; --fallback names another schedule for them",
            simulation.unfinished
        );
        output::fact(&Fact::bad("Unfinished", text));
    }
}

fn print_stages(scheduled: &Scheduled, evaluation: &Evaluation, simulation: &Simulation) {
    let schedule = &scheduled.schedule;
    let (name, count) = (scheduled.network.name(), simulation.frames.len());
    output::line(format!("{name}: {count} frames through {schedule}, simulated\n"));
    let total = simulation.frames.iter().map(|frame| frame.end.seconds()).fold(0.0, f64::max);
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
    output::table(&table);
}

/// Beside what is predicted: where frames arrive at a rate of their own, that counts as well.
fn print_speed((evaluation, simulation): (&Evaluation, &Simulation), offered_hertz: Option<f64>, is_of_set: bool) {
    let period = simulation.period_seconds();
    let (simulated, predicted) = (rate(period), rate(evaluation.period.seconds()));
    let alone = if is_of_set { " of it alone" } else { "" };
    let throughput = match offered_hertz {
        Some(offered) => format!(
            "{simulated} frames/s simulated of {offered:.1} that arrived; {predicted} predicted{alone} if a frame is always waiting"
        ),
        None => {
            let beside = than_predicted(&rate_beside(1.0 / period, 1.0 / evaluation.period.seconds()));
            format!("{simulated} frames/s simulated, {predicted} predicted{alone}: {beside}")
        }
    };
    let latency = format!(
        "{} ms at most with queues, {} ms predicted without",
        milliseconds(simulation.worst_latency().seconds()),
        milliseconds(evaluation.latency.seconds())
    );
    output::line("");
    output::fact(&Fact::new("Throughput", throughput));
    output::fact(&Fact::new("Latency", latency));
}
