//! `tune`: a search by trials, and the table of them.

use anyhow::Result;
use millstream::{Machine, Network, TuneOn, Tuned, files, read_schedules, tune};
use millstream_report::{Align, Table, counted, milliseconds};
use millstream_schedule::Schedule;
use serde::Serialize;

use crate::arguments::{DEFAULT_MODEL, TuneCommand};
use crate::control::control;
use crate::output;

#[derive(Serialize)]
struct Report {
    algorithm: String,
    trials: Vec<TrialReport>,
    best: String,
    period_seconds: f64,
    /// The shortest of any pipeline of stages on single processors, replicas included, by the costs that the search
    /// began with.
    shortest_predicted_on_single_processors_seconds: f64,
}

#[derive(Serialize)]
struct TrialReport {
    configuration: String,
    period_seconds: f64,
    stage_seconds: Vec<f64>,
    spent_seconds: f64,
}

pub(crate) fn run(command: &TuneCommand) -> Result<()> {
    files::check_writable(&command.output)?;
    let machine = command.board.machine()?;
    if matches!(command.on(), TuneOn::ThisMachine) {
        machine.check_usable()?;
    }
    let (machine, network, start) = start(command, machine)?;
    let options = command.options();
    if !matches!(options.algorithm, millstream::TuneAlgorithm::ModelGuided) {
        output::remark(format!("{} over {}", options.algorithm.name(), options.place_names(&network, &machine)?));
    }
    let tuned = tune(&machine, &network, start, command.on(), &options, &control())?;
    files::write(&command.output, &files::to_json(&tuned.document)?)?;
    report(command, &network, &tuned)?;
    output::remark(format!("wrote {}; {}", command.output.display(), command.next_command()));
    Ok(())
}

/// The network, and the schedule that is named to start from, with the engines that it was planned for.
fn start(command: &TuneCommand, machine: Machine) -> Result<(Machine, Network, Option<Schedule>)> {
    let options = command.dimensions.read_options()?;
    let model = command.model.as_deref();
    let Some(path) = &command.schedule else {
        return Ok((machine, Network::open(model.unwrap_or(DEFAULT_MODEL), options)?, None));
    };
    let mut set = read_schedules(path, machine.board(), model, &options)?;
    match set.pop().filter(|_| set.is_empty()) {
        Some(only) => {
            let only = only.with_engines_of(&machine);
            Ok((machine.as_planned(&only.document), only.network, Some(only.schedule)))
        }
        None => anyhow::bail!("{}: schedules of several networks are not tuned together", path.display()),
    }
}

/// How many operators each stage has.
fn operators(schedule: &Schedule) -> String {
    let count = |stage: &millstream_schedule::Stage| {
        stage.replicas.first().map_or(0, |replica| replica.operators().count()).to_string()
    };
    schedule.stages.iter().map(count).collect::<Vec<_>>().join(" ")
}

fn report(command: &TuneCommand, network: &Network, tuned: &Tuned) -> Result<()> {
    let Tuned {
        trials, best: (best, found), shortest_predicted_on_single_processors_seconds: shortest_on_single, ..
    } = tuned;
    let algorithm = &tuned.document.algorithm;
    if command.json {
        let reports = trials.iter().map(|(schedule, trial)| TrialReport {
            configuration: schedule.to_string(),
            period_seconds: trial.period.seconds(),
            stage_seconds: trial.stage_times.iter().map(|time| time.seconds()).collect(),
            spent_seconds: trial.spent.seconds(),
        });
        return output::json(&Report {
            algorithm: algorithm.clone(),
            trials: reports.collect(),
            best: best.to_string(),
            period_seconds: found.period.seconds(),
            shortest_predicted_on_single_processors_seconds: *shortest_on_single,
        });
    }

    let mut table = Table::new([
        ("trial", Align::Right),
        ("configuration", Align::Left),
        ("operators", Align::Left),
        ("stages ms", Align::Left),
        ("frames/s", Align::Right),
        ("best so far", Align::Right),
    ]);
    let mut shortest = f64::INFINITY;
    for (index, (schedule, trial)) in trials.iter().enumerate() {
        shortest = shortest.min(trial.period.seconds());
        let stages: Vec<String> = trial.stage_times.iter().map(|time| milliseconds(time.seconds())).collect();
        table.row([
            (index + 1).to_string(),
            schedule.to_string(),
            operators(schedule),
            stages.join(" "),
            format!("{:.1}", 1.0 / trial.period.seconds()),
            format!("{:.1}", 1.0 / shortest),
        ]);
    }

    let (simulated, in_simulation) = match command.on() {
        TuneOn::Simulation { .. } => ("simulated ", " in simulation"),
        TuneOn::ThisMachine => ("", ""),
    };
    let number = counted(trials.len() as u64, &format!("{simulated}trial"), &format!("{simulated}trials"));
    output::line(format!("{}: {number} by {algorithm}\n", network.name()));
    output::table(&table);
    output::prose(format!(
        "\nBest: {best} with {:.1} frames/s{in_simulation}. By the costs that it began with, no pipeline of contiguous stages of whole blocks, each on one processor or with replicas on one each, has more than {:.1}.",
        1.0 / found.period.seconds(),
        1.0 / shortest_on_single
    ));
    Ok(())
}
