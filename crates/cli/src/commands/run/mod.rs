//! `run`: streams frames through a schedule, checks every result, and shows what was measured beside what was
//! predicted.

pub(crate) mod facts;
mod followers;
mod page;
mod set_table;
mod table;
mod watched;

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use followers::Followers;
use millstream::{
    Control, Error, Loaded, Machine, NetworkOutcome, RunReport, RunSource, Scheduled, Taken, files, run_observed,
};

use watched::Watched;

use crate::arguments::RunCommand;
use crate::control::control;
use crate::distinct::NamedFiles;
use crate::{html, interrupt, output};

/// The file that is read where none is named.
const DEFAULT_SCHEDULE: &str = "schedule.json";

/// All but what is in the folder of results, whose files are named after frames.
fn named_files(command: &RunCommand) -> NamedFiles {
    let files = command.scheduled.named().reads_inputs(&command.inputs.inputs);
    let files = files.reads("--expect", command.expect.as_deref());
    let files = files.writes("--csv", command.csv.as_deref()).writes("--trace", command.trace.as_deref());
    files.writes("--html", command.html.as_deref())
}

pub(crate) fn run(command: &RunCommand) -> Result<()> {
    named_files(command).check()?;
    for path in command.trace.iter().chain(&command.csv).chain(&command.html) {
        files::check_writable(path)?;
    }
    if let Some(folder) = &command.output {
        files::check_folder(folder)?;
    }

    let machine = command.scheduled.board.machine()?;
    let control = control();
    let Loaded { sets, has_sizes } = load(command, &machine, &control)?;
    check(command, &sets)?;
    machine.check_usable()?;

    let (options, followers) = (command.options(), Followers::new(command));
    let (mut outcomes, mut chapters) = (Vec::<NetworkOutcome>::new(), Vec::new());
    for set in &sets {
        let watched: Vec<Watched> = set.iter().map(|_| Watched::default()).collect();
        let sizes = set.iter().map(|scheduled| has_sizes.then(|| scheduled.network.sizes()));
        let sizes: Vec<Option<String>> = sizes.collect();
        let follow = |index: usize, frame: &Taken| {
            let sizes = sizes.get(index).and_then(Option::as_deref);
            let Some(scheduled) = set.get(index) else { return Ok(()) };
            if let Some(watched) = watched.get(index).filter(|_| command.html.is_some()) {
                watched.take(scheduled, frame);
            }
            followers.take(scheduled, sizes, frame)
        };
        let done = match is_followed(command).then_some(&follow) {
            Some(follow) => run_observed(&machine, set, &options, &control, follow)?,
            None => millstream::run(&machine, set, &options, &control)?,
        };
        show(command, set, &done);
        let told = set.iter().zip(&done).zip(&watched).filter(|_| command.html.is_some());
        chapters.extend(told.map(|((scheduled, outcome), watched)| page::chapter(scheduled, outcome, watched)));
        outcomes.extend(done);
        if interrupt::requested() {
            output::remark("interrupted; the report is of the frames until then");
            break;
        }
    }

    followers.finish()?;
    if let Some(folder) = &command.output {
        let frames: usize = outcomes.iter().map(|outcome| outcome.report.frames).sum();
        output::remark(format!("wrote the results of {frames} frames to {}", folder.display()));
    }

    let (reports, verdicts): (Vec<_>, Vec<_>) =
        outcomes.into_iter().map(|outcome| (outcome.report, outcome.verdict)).unzip();
    if command.json {
        output::json(&RunReport::new(reports))?;
    }
    // After everything that is printed: a page that can't be written loses nothing of it.
    if let Some(path) = &command.html {
        html::write(path, "What the run showed", chapters)?;
    }
    Ok(verdicts.into_iter().collect::<Result<(), _>>()?)
}

/// Whether something is written or drawn of each frame. Only what is not can be measured again where it was disturbed.
fn is_followed(command: &RunCommand) -> bool {
    command.csv.is_some() || command.trace.is_some() || command.html.is_some()
}

/// The schedules, and a word about how to make them where there are none.
fn load(command: &RunCommand, machine: &Machine, control: &Control) -> Result<Loaded> {
    Loaded::read(machine, &source(command)?, control).map_err(|error| {
        let schedule = &command.scheduled.schedule;
        let is_missing = matches!(&error, Error::Io { action: "read", path, source }
            if path == schedule && source.kind() == ErrorKind::NotFound);
        if is_missing {
            let model =
                command.scheduled.model.model.as_ref().map_or_else(String::new, |model| format!(" --model {model}"));
            anyhow!("{error}; make a schedule with: cargo xtask schedule{model} --output {}", schedule.display())
        } else {
            error.into()
        }
    })
}

/// Shows what was seen of the networks of a set.
fn show(command: &RunCommand, set: &[Scheduled], outcomes: &[NetworkOutcome]) {
    match (set, outcomes) {
        _ if command.json => {}
        ([only], [outcome]) => table::print(only, outcome),
        _ => set_table::print(set, outcomes),
    }
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
