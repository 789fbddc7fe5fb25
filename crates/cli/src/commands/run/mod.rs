//! `run`: streams frames through a schedule, checks every result, and shows what was measured beside what was predicted.

mod set_table;
mod table;

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use millstream::{
    Control, Error, Loaded, Machine, NetworkOutcome, RunOptions, RunReport, RunSource, Scheduled, Taken, files,
    frame_log, run as stream,
};
use millstream_runtime::FrameResult;

use crate::arguments::RunCommand;
use crate::control::control;
use crate::run_trace::trace;
use crate::{interrupt, output};

/// The file that is read where none is named.
const DEFAULT_SCHEDULE: &str = "schedule.json";

pub(crate) fn run(command: &RunCommand) -> Result<()> {
    for path in command.trace.iter().chain(&command.csv) {
        files::check_writable(path)?;
    }
    if let Some(folder) = &command.output {
        files::check_folder(folder)?;
    }
    let machine = command.scheduled.board.machine()?;
    let control = control();
    let Loaded { sets, has_sizes } = Loaded::read(&machine, &source(command)?, &control).map_err(|error| {
        let schedule = &command.scheduled.schedule;
        let is_missing = matches!(&error, Error::Io { action: "read", path, .. } if path == schedule);
        match is_missing {
            true => anyhow!("{error}; make a schedule with: cargo xtask schedule --output {}", schedule.display()),
            false => error.into(),
        }
    })?;
    check(command, &sets)?;
    machine.check_usable()?;

    let options = command.options();
    let mut outcomes: Vec<(Option<String>, NetworkOutcome)> = Vec::new();
    for set in &sets {
        let done = run_set(command, &machine, set, &options, &control)?;
        let sizes = set.iter().map(|own| has_sizes.then(|| own.network.sizes()));
        outcomes.extend(sizes.zip(done));
        if interrupt::requested() {
            output::remark("interrupted; the report is of the frames until then");
            break;
        }
    }
    write_files(command, &outcomes)?;
    let (reports, verdicts): (Vec<_>, Vec<_>) =
        outcomes.into_iter().map(|(_, outcome)| (outcome.report, outcome.verdict)).unzip();
    if command.json {
        output::json(&RunReport::new(reports))?;
    }
    Ok(verdicts.into_iter().collect::<Result<(), _>>()?)
}

/// Runs the networks of a set, and shows what was seen.
fn run_set(
    command: &RunCommand,
    machine: &Machine,
    set: &[Scheduled],
    options: &RunOptions,
    control: &Control,
) -> Result<Vec<NetworkOutcome>> {
    let outcomes = stream(machine, set, options, control)?;
    if let (Some(path), [only], [outcome]) = (&command.trace, set, outcomes.as_slice()) {
        let results: Vec<&FrameResult> = outcome.frames.iter().map(|taken| &taken.result).collect();
        files::write(path, &trace(&only.schedule, only.network.graph(), &results))?;
        output::remark(format!("wrote {}; open it with https://ui.perfetto.dev", path.display()));
    }
    if !command.json {
        match (set, outcomes.as_slice()) {
            ([only], [outcome]) => table::print(only, outcome),
            _ => set_table::print(set, &outcomes),
        }
    }
    Ok(outcomes)
}

/// What can't be asked for together.
fn check(command: &RunCommand, sets: &[Vec<Scheduled>]) -> Result<()> {
    let is_alone = sets.iter().all(|set| set.len() == 1);
    let has_files = !command.inputs.inputs.is_empty() || command.output.is_some() || command.csv.is_some();
    if !is_alone && (command.adaptive || command.trace.is_some() || command.frame_rate.is_some() || has_files) {
        bail!("several networks run without --adaptive, --trace, --frame-rate, --input, --output, --expect and --csv");
    }
    if sets.len() > 1 && (command.adaptive || command.trace.is_some()) {
        bail!("frames of several sizes run without --adaptive and --trace");
    }
    Ok(())
}

fn write_files(command: &RunCommand, outcomes: &[(Option<String>, NetworkOutcome)]) -> Result<()> {
    if let Some(path) = &command.csv {
        let rows = outcomes.iter().flat_map(|(sizes, own)| own.frames.iter().map(|frame| (sizes.as_deref(), frame)));
        let frames: Vec<(Option<&str>, &Taken)> = rows.collect();
        files::write(path, &frame_log(&frames, command.deadline.map(|deadline| deadline.0.as_secs_f64()))?)?;
        output::remark(format!("wrote {}", path.display()));
    }
    if let Some(folder) = &command.output {
        let frames: usize = outcomes.iter().map(|(_, own)| own.frames.len()).sum();
        output::remark(format!("wrote the results of {frames} frames to {}", folder.display()));
    }
    Ok(())
}

/// What the command wants to run.
fn source(command: &RunCommand) -> Result<RunSource> {
    let schedule = &command.scheduled.schedule;
    Ok(RunSource {
        schedule: schedule.clone(),
        // With a model, the usual file may well be another one's.
        is_usual_file: schedule == Path::new(DEFAULT_SCHEDULE),
        model: command.scheduled.model.model.clone(),
        options: command.scheduled.model.dimensions.read_options()?,
        inputs: command.frames_named(),
    })
}
