//! The schedules that a run may need: one, one for each size, or one made on the spot.

use std::path::Path;

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_frames::{Frame, FrameSet, FramesError, InputFile, Labels};
use millstream_pipeline::Objective;
use millstream_schedule::{ModelReference, Schedule, ScheduleDocument, SizesDocument};

use crate::arguments::{InputArguments, RunCommand};
use crate::model::Network;
use crate::planning::Aim;
use crate::{files, machine, output, profiling};

/// The file that is read where none is named.
pub(crate) const DEFAULT_SCHEDULE: &str = "schedule.json";

/// A schedule with its network.
pub(crate) struct Planned {
    pub(crate) network: Network,
    pub(crate) schedule: Schedule,
    pub(crate) document: ScheduleDocument,
}

/// Loads what the command names. A model without a schedule of its own is planned for on the spot.
pub(crate) fn load(command: &RunCommand) -> Result<(Board, Vec<Planned>)> {
    let path = &command.scheduled.schedule;
    let board = machine::board(command.scheduled.board.board.as_deref())?;
    let model = command.scheduled.model.model.as_deref();
    let text = files::read(path);
    if let (Some(source), true) = (model, path == Path::new(DEFAULT_SCHEDULE))
        && !text.as_ref().is_ok_and(|text| are_sizes_of(text, source))
    {
        let planned = load_or_plan(command, source, text.ok().as_deref(), &board)?;
        return Ok((board, vec![planned]));
    }
    let text = text.map_err(|error| {
        anyhow::anyhow!("{error:#}; make a schedule with: cargo xtask schedule --output {}", path.display())
    })?;
    let sizes = command.scheduled.model.dimensions.single()?;
    if SizesDocument::is_one(&text) {
        let planned = load_sizes(command, &text, &sizes, &board)?;
        return Ok((board, planned));
    }
    let document = ScheduleDocument::from_json(&text).with_context(|| path.display().to_string())?;
    let network = match model {
        Some(source) => Network::load(source, &command.scheduled.model.dimensions)?,
        None if sizes.iter().any(|size| !document.model.dimensions.contains(size)) => {
            bail!("{}: the schedule is for {}, not for other sizes", path.display(), sizes_of(&document.model));
        }
        None => Network::of_schedule(&document.model)?,
    };
    let planned = resolve(network.with_inputs(&command.inputs)?, document, &board, path)?;
    Ok((board, vec![planned]))
}

/// Whether a file has plans for several sizes, all of this model.
fn are_sizes_of(text: &str, source: &str) -> bool {
    SizesDocument::from_json(text).is_ok_and(|own| own.plans.iter().all(|plan| plan.model.source == source))
}

/// A model with the schedule in the default file, which may be of another model or not be there at all: then with one made on the
/// spot.
fn load_or_plan(command: &RunCommand, source: &str, text: Option<&str>, board: &Board) -> Result<Planned> {
    let network = Network::load(source, &command.scheduled.model.dimensions)?;
    let known = text.and_then(|text| ScheduleDocument::from_json(text).ok());
    let own = known.filter(|document| document.model.digest == network.model.digest());
    let network = network.with_inputs(&command.inputs)?;
    match own {
        Some(document) => resolve(network, document, board, &command.scheduled.schedule),
        None => plan(network, board),
    }
}

/// The plans of a file for several sizes that the command asks for, each with the frames of its size.
fn load_sizes(command: &RunCommand, text: &str, sizes: &[(String, usize)], board: &Board) -> Result<Vec<Planned>> {
    let path = &command.scheduled.schedule;
    let model = command.scheduled.model.model.as_ref();
    let mut documents = SizesDocument::from_json(text).with_context(|| path.display().to_string())?.plans;
    if let Some(source) = model.filter(|source| documents.iter().any(|own| own.model.source != **source)) {
        bail!("{}: the plans are for another network than {source}", path.display());
    }
    let planned = documents.iter().map(|own| sizes_of(&own.model)).collect::<Vec<_>>().join(", ");
    documents.retain(|own| sizes.iter().all(|size| own.model.dimensions.contains(size)));
    if documents.is_empty() {
        bail!("{}: there is no plan for these sizes; there are plans for {planned}", path.display());
    }
    let load = |document: ScheduleDocument| resolve(Network::of_schedule(&document.model)?, document, board, path);
    let planned = documents.into_iter().map(load).collect::<Result<Vec<_>>>()?;
    assign(planned, &command.inputs)
}

/// The sizes that a plan is for, such as `sequence=64`.
fn sizes_of(model: &ModelReference) -> String {
    let sizes = model.dimensions.iter().map(|(name, size)| format!("{name}={size}"));
    if model.dimensions.is_empty() { "fixed sizes".to_owned() } else { sizes.collect::<Vec<_>>().join(" ") }
}

fn resolve(network: Network, document: ScheduleDocument, board: &Board, path: &Path) -> Result<Planned> {
    let schedule = document.resolve(network.model.graph(), network.model.digest(), board);
    let schedule = schedule.with_context(|| path.display().to_string())?;
    Ok(Planned { network, schedule, document })
}

/// The best schedule for throughput, as `schedule` finds it.
fn plan(network: Network, board: &Board) -> Result<Planned> {
    machine::check_usable(board)?;
    output::remark(format!("there is no schedule of {} here: planning one ...", network.name()));
    let plans = profiling::measured_plans(&network, board, false, &[Objective::Throughput], Aim::default())?;
    let chosen = plans.chosen(Objective::Throughput)?;
    let (schedule, document) = plans.document(chosen, Objective::Throughput, &network, board);
    Ok(Planned { network, schedule, document })
}

/// Gives every plan the frames of its size. Without frames of the user's, every plan makes up its own.
fn assign(planned: Vec<Planned>, inputs: &InputArguments) -> Result<Vec<Planned>> {
    if inputs.inputs.is_empty() {
        return Ok(planned.into_iter().map(|own| Planned { network: own.network.labelled_by_size(), ..own }).collect());
    }
    let Some(first) = planned.first() else { bail!("the file has no plan") };
    let files = inputs.files(first.network.model.graph());
    let mut frames: Vec<Vec<Frame>> = planned.iter().map(|_| Vec::new()).collect();
    // Results are written under the labels, whatever the size.
    let mut labels = Labels::default();
    for group in InputFile::groups(&files)? {
        let (place, mut set) = fitting(&planned, &group, inputs)?;
        for frame in &mut set.frames {
            frame.label = labels.unused(&frame.label);
        }
        frames[place].extend(set.frames);
    }
    let with_frames = |(own, frames): (Planned, Vec<Frame>)| {
        (!frames.is_empty()).then(|| Planned { network: own.network.with_frames(FrameSet { frames }), ..own })
    };
    Ok(planned.into_iter().zip(frames).filter_map(with_frames).collect())
}

/// The plan that files fit, and their frames.
fn fitting(planned: &[Planned], group: &[InputFile], inputs: &InputArguments) -> Result<(usize, FrameSet)> {
    let mut misfit: Option<FramesError> = None;
    for (place, own) in planned.iter().enumerate() {
        match own.network.read_frames(group, inputs) {
            Ok(set) => return Ok((place, set)),
            Err(error @ FramesError::Io { .. }) => return Err(error.into()),
            // The first plan's word, of which the type may be wrong as well as the size.
            Err(error) => misfit = misfit.or(Some(error)),
        }
    }
    let sizes: Vec<String> = planned.iter().map(|own| own.network.sizes()).collect();
    let misfit = misfit.map_or_else(String::new, |error| error.to_string());
    bail!("{misfit}; the file has plans for {}, and none takes it", sizes.join(", "));
}
