//! The schedules that a run needs: of one network, of several that share a board, of several sizes, or made on the
//! spot.

use std::path::{Path, PathBuf};

use millstream_onnx::ReadOptions;
use millstream_schedule::{ScheduleDocument, ScheduleSetDocument, SizesDocument};

use crate::control::{Control, Event};
use crate::error::{Error, InFile};
use crate::files;
use crate::machine::Machine;
use crate::network::{Inputs, Network};
use crate::planning::{PlanOn, plan};
use crate::plans::Aim;
use crate::schedules::Scheduled;
use crate::schedules::sizes::{are_of, schedules_for, sizes_text};
use crate::schedules::{names_its_networks, open, schedules_of};

/// The source of what runs: a schedule file or a network.
#[derive(Debug, Clone)]
pub struct RunSource {
    /// The file of the schedule, or of several.
    pub schedule: PathBuf,
    /// Whether the file is the default one: then it may be missing, or be of another network than the model.
    pub is_usual_file: bool,
    /// Where the network is, if not where the schedule says.
    pub model: Option<String>,
    /// How the network is read; its sizes choose among schedules for several.
    pub options: ReadOptions,
    /// Its frames, if they are not made up.
    pub inputs: Inputs,
}

/// Schedules to run: networks that share a set run at once, sets one after the other.
pub struct Loaded {
    /// The sets.
    pub sets: Vec<Vec<Scheduled>>,
    /// Whether the sets are of one network at several sizes.
    pub has_sizes: bool,
}

impl Loaded {
    /// Loads what a source names. A model without a schedule of its own is planned for on the spot.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Io`] if the file is not usable, [`Error::Unfit`] if it has nothing for the sizes or
    /// the frames; as [`Machine::plan`] if there is no schedule.
    pub fn read(machine: &Machine, source: &RunSource, control: &Control) -> Result<Self, Error> {
        let Self { sets, has_sizes } = Self::as_planned(machine, source, control)?;
        let on_machine = |set: Vec<Scheduled>| set.into_iter().map(|own| on_machine(own, machine, control)).collect();
        Ok(Self { sets: sets.into_iter().map(on_machine).collect(), has_sizes })
    }

    /// The same with the engines that the schedules were planned for.
    fn as_planned(machine: &Machine, source: &RunSource, control: &Control) -> Result<Self, Error> {
        let path = &source.schedule;
        let text = files::read(path);
        // A damaged file is told as such, not taken for another network's.
        let sizes = match &text {
            Ok(text) if SizesDocument::is_one(text) => Some(SizesDocument::from_json(text).in_file(path)?),
            _ => None,
        };
        let is_meant = |sizes: &SizesDocument| source.model.as_ref().is_none_or(|model| are_of(sizes, model));
        match (sizes, &source.model) {
            (Some(sizes), _) if !source.is_usual_file || is_meant(&sizes) => Self::of_sizes(machine, source, sizes),
            (_, Some(model)) if source.is_usual_file => {
                let planned = read_or_plan(machine, source, model, text.ok().as_deref(), control)?;
                Ok(Self { sets: vec![vec![planned]], has_sizes: false })
            }
            _ => Ok(Self { sets: vec![source.schedules(&text?, machine)?], has_sizes: false }),
        }
    }

    /// The schedules of a file for several sizes, as far as the source asks for them.
    fn of_sizes(machine: &Machine, source: &RunSource, sizes: SizesDocument) -> Result<Self, Error> {
        let path: &Path = &source.schedule;
        if let Some(model) = source.model.as_deref().filter(|model| !are_of(&sizes, model)) {
            return Err(Error::Unfit(format!("the plans are for another network than {model}"))).in_file(path);
        }
        let set = schedules_for(&source.sizes(), sizes, path, &source.inputs, machine.board())?;
        let has_sizes = set.len() > 1;
        Ok(Self { sets: set.into_iter().map(|scheduled| vec![scheduled]).collect(), has_sizes })
    }
}

/// A schedule with the engines that somebody asked for, who is told if it was planned for others.
fn on_machine(scheduled: Scheduled, machine: &Machine, control: &Control) -> Scheduled {
    let planned = scheduled.schedule.to_string();
    let scheduled = scheduled.with_engines_of(machine);
    let now = scheduled.schedule.to_string();
    if now != planned {
        let network = scheduled.network.name();
        control.warn(&format!(
            "{network} was planned as {planned} and runs as {now}: times that are expected are those of the former"
        ));
    }
    scheduled
}

impl RunSource {
    /// The sizes that are named.
    fn sizes(&self) -> Vec<(String, usize)> {
        self.options.dimensions.clone().into_iter().collect()
    }

    /// The schedules of one network, or of several that share a board.
    fn schedules(&self, text: &str, machine: &Machine) -> Result<Vec<Scheduled>, Error> {
        if ScheduleSetDocument::is_one(text) {
            self.refuse_for_several().in_file(&self.schedule)?;
        }
        let mut network = |document: &ScheduleDocument| self.network(document);
        schedules_of(text, &self.schedule, machine.board(), &mut network)
    }

    /// The network that a schedule is for.
    fn network(&self, document: &ScheduleDocument) -> Result<Network, Error> {
        let is_other =
            self.model.is_none() && self.sizes().iter().any(|size| !document.model.dimensions.contains(size));
        if is_other {
            let planned = sizes_text(&document.model);
            return Err(Error::Unfit(format!("the schedule is for {planned}, not for other sizes")))
                .in_file(&self.schedule);
        }
        // What is wrong with a file of frames says so itself.
        open(document, self.model.as_deref(), &self.options).in_file(&self.schedule)?.with_inputs(&self.inputs)
    }

    /// What can't be said of several networks at once.
    fn refuse_for_several(&self) -> Result<(), Error> {
        if self.model.is_some() {
            return Err(names_its_networks());
        }
        if !self.inputs.files.is_empty() {
            return Err(Error::Unfit("frames are for one network; the file has several".to_owned()));
        }
        Ok(())
    }
}

/// A model with the schedule of the usual file, which may be of another model or not be there at all: then with one
/// made on the spot.
fn read_or_plan(
    machine: &Machine,
    source: &RunSource,
    model: &str,
    text: Option<&str>,
    control: &Control,
) -> Result<Scheduled, Error> {
    let network = Network::open(model, source.options.clone())?;
    let known = text.and_then(|text| ScheduleDocument::from_json(text).ok());
    let matching = known.filter(|document| document.model.digest == network.digest());
    let network = network.with_inputs(&source.inputs)?;
    if let Some(document) = matching {
        return Scheduled::alone(network, document, machine.board()).in_file(&source.schedule);
    }
    machine.check_usable()?;
    control.emit(&Event::Planning { network: network.name() });
    let planned = plan(machine, &network, &Aim::default(), PlanOn::ThisMachine, control)?;
    Scheduled::alone(network, planned.document, machine.board())
}
