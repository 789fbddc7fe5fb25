//! Where the costs of a network come from.

use std::path::Path;

use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_predict::{CostModels, Profile, fit};

use crate::control::Control;
use crate::error::{Error, InFile};
use crate::files;
use crate::machine::{Machine, built_in};
use crate::measuring::profiling::report_left_out;
use crate::network::Network;

/// Of more networks than these, only their number is told.
const MOST_NAMED: usize = 3;

/// Reads a profile from a file.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] with what is wrong.
pub fn read_profile(path: &Path) -> Result<Profile, Error> {
    Profile::from_json(&files::read(path)?).in_file(path)
}

/// What is known of a network that a profile is not of: text for people.
fn predicted_from(profile: &Profile, network: &Network) -> String {
    let measured: Vec<&str> = profile.networks.iter().map(|known| known.name.as_str()).collect();
    let names = match measured.as_slice() {
        names if names.len() <= MOST_NAMED => names.join(", "),
        names => format!("{} networks", names.len()),
    };
    format!("the profile is not of {}: its costs are predicted from those of {names}", network.name())
}

/// The source of a network's costs.
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
    /// A machine with the engines that costs in a file are of, so that schedules that are planned on them run with
    /// these.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not usable, or [`Error::Unfit`] if somebody asked for an engine and it is another
    /// one.
    pub fn machine(self, machine: &Machine) -> Result<Machine, Error> {
        let (path, board) = match self {
            Self::Models(path) => (path, CostModels::from_json(&built_in::costs(path)?).in_file(path)?.board),
            Self::Profile(path) => (path, read_profile(path)?.board),
            Self::Cached | Self::Table(_) => return Ok(machine.clone()),
        };
        let board = Board::try_from(board).in_file(path)?;
        machine.with_only_engines(&board.engines()).in_file(path)
    }

    /// Says which engines do not run the network, or parts of it, where these costs are a profile, and that the network's
    /// costs are only predicted where it is not one of those that were measured.
    ///
    /// # Errors
    /// As [`CostSource::table`].
    pub(crate) fn report_limits(self, network: &Network, machine: &Machine, control: &Control) -> Result<(), Error> {
        let profile = match self {
            Self::Profile(path) => Some(read_profile(path)?),
            Self::Cached => machine.cache.load(network, machine.board()),
            Self::Models(_) | Self::Table(_) => None,
        };
        let known = profile.as_ref().and_then(|profile| profile.network(network.digest()));
        match (known, &profile) {
            (Some(known), _) => report_left_out(known, control),
            (None, Some(profile)) => control.warn(&predicted_from(profile, network)),
            (None, None) => {}
        }
        Ok(())
    }

    /// The costs of a network on a board, with all drivers of devices that have several.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::{Arc, Mutex};

    use millstream_onnx::ReadOptions;
    use millstream_test_support::board;

    use super::*;
    use crate::control::Event;
    use crate::learning::plan_model::tests::profiled;
    use crate::provenance::provenance;

    #[test]
    fn costs_that_are_only_predicted_are_told() {
        let [measured, other] = ["tiny-darknet", "squeezenet"]
            .map(|name| Network::open(&format!("zoo:{name}"), ReadOptions::default()).unwrap());
        let board = board("B1");
        let mut profile = Profile::new(&board, provenance());
        profile.networks.push(profiled(&measured, &board, |_| 1e-3));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        files::write(&path, &files::to_json(&profile).unwrap()).unwrap();

        let machine = Machine::of_board(board);
        let warnings = |network: &Network| {
            let told = Arc::new(Mutex::new(Vec::new()));
            let noted = Arc::clone(&told);
            let control = Control::new().observed_by(move |event| {
                if let Event::Warning(text) = event {
                    noted.lock().unwrap().push((*text).to_owned());
                }
            });
            CostSource::Profile(&path).report_limits(network, &machine, &control).unwrap();
            told.lock().unwrap().clone()
        };
        assert!(warnings(&measured).is_empty());
        let expected = "the profile is not of squeezenet: its costs are predicted from those of tiny-darknet";
        assert_eq!(warnings(&other), [expected]);
    }
}
