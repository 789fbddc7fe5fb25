//! Schedules of one network for frames of several sizes.

use std::path::Path;

use millstream_board::Board;
use millstream_frames::{Frame, FrameSet, FramesError, InputFile, Labels};
use millstream_schedule::{ModelReference, ScheduleDocument, SizesDocument};

use crate::error::{Error, InFile};
use crate::network::{Inputs, Network};
use crate::schedules::Scheduled;

/// The schedules of a file for several sizes, as far as they are for the given ones, each with the frames of its size.
/// Without frames of the user's, every network makes up its own.
///
/// # Errors
/// [`Error::Unfit`] if there is no schedule for the sizes, or for one of the frames.
pub(crate) fn schedules_for(
    sizes: &[(String, usize)],
    document: SizesDocument,
    path: &Path,
    inputs: &Inputs,
    board: &Board,
) -> Result<Vec<Scheduled>, Error> {
    let mut documents = document.plans;
    let planned = documents.iter().map(|document| sizes_text(&document.model)).collect::<Vec<_>>().join(", ");
    documents.retain(|document| sizes.iter().all(|size| document.model.dimensions.contains(size)));
    if documents.is_empty() {
        let detail = format!("there is no plan for these sizes; there are plans for {planned}");
        return Err(Error::Unfit(detail)).in_file(path);
    }
    let load = |document: ScheduleDocument| {
        let network = Network::of_schedule(&document.model)?;
        Scheduled::alone(network, document, board).in_file(path)
    };
    assign(documents.into_iter().map(load).collect::<Result<_, Error>>()?, inputs)
}

/// Whether all schedules of a file are of the model that is from `source`.
pub(crate) fn are_of(document: &SizesDocument, source: &str) -> bool {
    document.plans.iter().all(|plan| plan.model.source == source)
}

/// The sizes that a schedule is for, such as `sequence=64`.
pub(crate) fn sizes_text(model: &ModelReference) -> String {
    let sizes = model.dimensions.iter().map(|(name, size)| format!("{name}={size}"));
    if model.dimensions.is_empty() { "fixed sizes".to_owned() } else { sizes.collect::<Vec<_>>().join(" ") }
}

/// Gives every network the frames of its size; networks for which there are none are left out.
fn assign(set: Vec<Scheduled>, inputs: &Inputs) -> Result<Vec<Scheduled>, Error> {
    if inputs.files.is_empty() {
        let labelled = |scheduled: Scheduled| Scheduled { network: scheduled.network.labelled_by_size(), ..scheduled };
        return Ok(set.into_iter().map(labelled).collect());
    }
    let Some(first) = set.first() else { return Ok(set) };
    let mut frames: Vec<Vec<Frame>> = set.iter().map(|_| Vec::new()).collect();
    // Results are written under the labels, whatever the size.
    let mut labels = Labels::default();
    for group in InputFile::groups(&inputs.of_network(first.network.graph()))? {
        let (place, mut fitting) = fitting(&set, &group, inputs)?;
        for frame in &mut fitting.frames {
            frame.label = labels.unused(&frame.label);
        }
        frames[place].extend(fitting.frames);
    }
    let with_frames = |(scheduled, frames): (Scheduled, Vec<Frame>)| {
        (!frames.is_empty())
            .then(|| Scheduled { network: scheduled.network.with_frames(FrameSet { frames }), ..scheduled })
    };
    Ok(set.into_iter().zip(frames).filter_map(with_frames).collect())
}

/// The network that files fit, and their frames.
fn fitting(set: &[Scheduled], group: &[InputFile], inputs: &Inputs) -> Result<(usize, FrameSet), Error> {
    let mut misfit: Option<FramesError> = None;
    for (place, scheduled) in set.iter().enumerate() {
        match scheduled.network.read_frames(group, inputs) {
            Ok(frames) => return Ok((place, frames)),
            Err(error @ FramesError::Io { .. }) => return Err(error.into()),
            // The first network's word, of which the type may be wrong as well as the size.
            Err(error) => misfit = misfit.or(Some(error)),
        }
    }
    let sizes: Vec<String> = set.iter().map(|scheduled| scheduled.network.sizes()).collect();
    let misfit = misfit.map_or_else(String::new, |error| error.to_string());
    Err(Error::Unfit(format!("{misfit}; the file has plans for {}, and none takes it", sizes.join(", "))))
}
