//! Measuring networks, and what it gives: costs.

use std::path::Path;
use std::time::Duration;

use millstream_board::{Board, Provenance};
use millstream_cost::CostTable;
use millstream_predict::samples::TransferSample;
use millstream_predict::{CostModels, LeftOutEngine, NetworkProfile, Profile, fit};
use millstream_profile::{
    OperatorSettings, PartSettings, ProfileSettings, Workload, measure, measure_accelerator_transfers,
    measure_accelerators, measure_operators, measure_parts,
};

use crate::backends::Backends;
use crate::disturbance::{DISTURBED, others_during};
use crate::error::InFile;
use crate::{Control, Error, Event, Machine, Network, built_in, files};

/// Time for a profile of a network that is needed on the way.
pub const PROFILE_BUDGET: Duration = Duration::from_secs(20);

/// Part of a network's time that goes to its operators in context; the rest goes to its segments.
const OPERATORS_SHARE: f64 = 0.2;
/// Part that goes to operators in parts.
const PARTS_SHARE: f64 = 0.2;

/// Where a document comes from: this version, now.
pub fn provenance() -> Provenance {
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Provenance { tool_version: env!("CARGO_PKG_VERSION").to_owned(), created }
}

/// Reads a profile from a file.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] with what is wrong.
pub fn read_profile(path: &Path) -> Result<Profile, Error> {
    Profile::from_json(&files::read(path)?).in_file(path)
}

/// Where the costs of a network come from.
#[derive(Debug, Clone, Copy)]
pub enum CostSource<'a> {
    /// A file of fitted models, or the name of a [built-in board](crate::BuiltInBoard): predicted.
    Models(&'a Path),
    /// A profile in a file.
    Profile(&'a Path),
    /// The profile that was made last of the network on the board.
    Cached,
    /// Costs that the caller has.
    Table(&'a CostTable),
}

impl CostSource<'_> {
    /// A machine with the engines that costs in a file are of, so that schedules that are planned on them run with these.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not usable, or [`Error::Unfit`] if somebody asked for an engine and it is another one.
    pub fn machine(self, machine: &Machine) -> Result<Machine, Error> {
        let (path, board) = match self {
            Self::Models(path) => (path, CostModels::from_json(&built_in::costs(path)?).in_file(path)?.board),
            Self::Profile(path) => (path, read_profile(path)?.board),
            Self::Cached | Self::Table(_) => return Ok(machine.clone()),
        };
        let board = Board::try_from(board).in_file(path)?;
        machine.with_only_engines(&board.engines()).in_file(path)
    }

    /// The costs of a network on a board.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not usable, [`Error::NoProfile`] if there is no cached profile.
    pub fn table(self, network: &Network, machine: &Machine) -> Result<CostTable, Error> {
        let board = machine.board();
        let fit = |profile: &Profile| fit(profile, board, network.digest(), network.graph(), network.chain());
        match self {
            Self::Table(table) => Ok(table.clone()),
            Self::Models(path) => {
                let models = CostModels::from_json(&built_in::costs(path)?).in_file(path)?;
                models.table(board, network.digest(), network.graph(), network.chain()).in_file(path)
            }
            Self::Profile(path) => fit(&read_profile(path)?).in_file(path),
            Self::Cached => match machine.cache.load(network, board) {
                Some(profile) => fit(&profile).in_file(Path::new("the cached profile")),
                None => Err(Error::no_profile(network, board)),
            },
        }
    }
}

/// The profile of a network that is `known`, or else a new one, and what runs its operators.
pub(crate) fn known_or_measured(
    network: &Network,
    machine: &Machine,
    known: Option<Profile>,
    budget: Duration,
    control: &Control,
) -> Result<(Profile, Backends), Error> {
    let board = machine.board();
    let backends = Backends::open(board, network.model(), known.as_ref())?;
    if let Some(profile) = known {
        return Ok((profile, backends));
    }
    let mut profile = Profile::new(board, provenance());
    match add_network(&mut profile, network, board, &backends, budget, control)? {
        true => {
            tell_disturbance(&profile, network, board, control);
            machine.cache.store(&profile, network, board);
            Ok((profile, backends))
        }
        false => Err(Error::Interrupted),
    }
}

/// Measures what the profile does not know yet of a network. Returns whether it now knows everything: if not, somebody
/// asked to stop.
pub(crate) fn add_network(
    profile: &mut Profile,
    network: &Network,
    board: &Board,
    backends: &Backends,
    budget: Duration,
    control: &Control,
) -> Result<bool, Error> {
    backends.measure_granularity(profile, control)?;
    let backend = &*backends.all;
    let is_of_accelerator = |pair: &TransferSample| board.accelerator(&pair.from).is_some();
    if !profile.transfers.iter().any(is_of_accelerator) {
        profile.transfers.extend(measure_accelerator_transfers(backend, board)?);
    }

    let frame = network.first_frame(backend, board)?;
    let workload = Workload { graph: network.graph(), chain: network.chain(), backend, frame };
    let known = entry(profile, network);
    let measuring = Measuring { workload, board, budget, control };
    if !measuring.operators(known)? {
        return Ok(false);
    }
    let board = &board.clone().with_engines_of(&LeftOutEngine::others(&known.left_out, board));
    let measuring = Measuring { board, ..measuring };
    Ok(measuring.parts(known)? && measuring.segments(known)?)
}

/// What the profile says of the network, or a new entry. What it says of the same model in other blocks is of no use.
fn entry<'a>(profile: &'a mut Profile, network: &Network) -> &'a mut NetworkProfile {
    let fresh = NetworkProfile::new(network.digest(), network.graph(), network.chain());
    let is_same = |known: &NetworkProfile| known.digest == fresh.digest && known.blocks == fresh.blocks;
    profile.networks.retain(|known| known.digest != fresh.digest || is_same(known));
    let place = profile.networks.iter().position(is_same).unwrap_or(profile.networks.len());
    if place == profile.networks.len() {
        profile.networks.push(fresh);
    }
    &mut profile.networks[place]
}

/// Says how much others disturbed what was measured of a network.
fn tell_disturbance(profile: &Profile, network: &Network, board: &Board, control: &Control) {
    let others = profile.network(network.digest()).map_or(0.0, others_during);
    if others > DISTURBED {
        let activity = format!("measuring {} on {}", network.name(), board.name());
        control.tell(&Event::Disturbed { activity: &activity, cores: others });
    }
}

/// Says which engines are not measured further.
pub(crate) fn tell_left_out(known: &NetworkProfile, control: &Control) {
    known.left_out.iter().for_each(|left_out| control.tell(&Event::LeftOut(left_out)));
}

/// A network that is being measured. Each step returns whether it is done: if not, somebody asked to stop.
struct Measuring<'a> {
    workload: Workload<'a>,
    board: &'a Board,
    budget: Duration,
    control: &'a Control,
}

impl Measuring<'_> {
    /// Operators in context.
    fn operators(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        if !known.operator_samples.is_empty() {
            return Ok(true);
        }
        let budget = self.budget.mul_f64(OPERATORS_SHARE);
        let settings = OperatorSettings { budget, ..OperatorSettings::default() };
        let go_on = || !self.control.is_cancelled();
        let mut samples = measure_operators(&self.workload, self.board, &settings, &mut |_| go_on())?;
        if go_on() {
            samples.extend(measure_accelerators(&self.workload, self.board, budget, &mut || go_on())?);
        }
        if !go_on() {
            return Ok(false);
        }
        known.operator_samples = samples;
        known.left_out = LeftOutEngine::of(known, self.board);
        tell_left_out(known, self.control);
        Ok(true)
    }

    /// Operators in parts.
    fn parts(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        if !known.part_samples.is_empty() || self.board.processor_classes().count() < 2 {
            return Ok(true);
        }
        let settings = PartSettings { budget: self.budget.mul_f64(PARTS_SHARE), ..PartSettings::default() };
        let samples = measure_parts(&self.workload, self.board, &settings, &mut |_| !self.control.is_cancelled())?;
        if self.control.is_cancelled() {
            return Ok(false);
        }
        known.part_samples = samples;
        Ok(true)
    }

    /// Ranges of blocks, of which what was measured is kept in any case.
    fn segments(&self, known: &mut NetworkProfile) -> Result<bool, Error> {
        let budget = self.budget.mul_f64(1.0 - OPERATORS_SHARE - PARTS_SHARE);
        let settings = ProfileSettings { budget, ..ProfileSettings::default() };
        let activity = format!("measuring {} on {}", self.workload.graph.name(), self.board.name());
        let mut steps = self.control.steps(activity, 1);
        let mut is_stopped = false;
        let samples = measure(&self.workload, self.board, &settings, &known.samples, &mut |progress| {
            steps.set(progress.done, progress.total);
            is_stopped = self.control.is_cancelled() && progress.done < progress.total;
            !is_stopped
        })?;
        known.samples.extend(samples);
        Ok(!is_stopped)
    }
}
