//! Where the costs of a network come from.

use std::path::Path;

use millstream_board::{Accelerator, Board, BoardDocument, ProcessorClass};
use millstream_cost::CostTable;
use millstream_predict::{CostModels, Profile, fit};

use crate::backends::devices::with_providers_for;
use crate::control::Control;
use crate::error::{Error, InFile};
use crate::files;
use crate::machine::{Machine, are_among, built_in};
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

/// A board with the engines that something was measured with, if its own are among these, and with the devices that came
/// with them.
fn measured_board(board: &Board, measured: &BoardDocument) -> Result<Board, Error> {
    let measured = Board::try_from(measured.clone())?;
    let engines = measured.engines();
    if !are_among(board, &engines) {
        return Ok(board.clone());
    }
    let own = with_providers_for(board.clone(), engines.values()).with_engines_of(&engines);
    let came_along = measured
        .accelerators()
        .iter()
        .filter(|device| device.is_of_openvino() && own.accelerator(&device.label).is_none());
    let devices: Vec<Accelerator> = own.accelerators().iter().chain(came_along).cloned().collect();
    Ok(own.with_accelerators(devices)?)
}

/// The costs of a board's own engines and devices alone.
///
/// # Errors
/// [`Error::Unfit`] if none of a cluster's engines was measured further, but one of the others.
fn of_own_engines(mut costs: CostTable, board: &Board) -> Result<CostTable, Error> {
    for cluster in board.clusters() {
        let runs = |class: &ProcessorClass| class.cluster == cluster.label && costs.runs_something(class);
        let has_own = costs.classes().iter().any(|class| cluster.engines.contains(class.engine) && runs(class));
        if let Some(other) = costs.classes().iter().find(|class| !has_own && runs(class)) {
            let (engines, other) = (&cluster.engines, other.engine);
            return Err(Error::Unfit(format!(
                "of {engines} on {}, the costs say nothing: it was left out when this was measured; ask for {other} as \
                 well, or measure with {engines} alone",
                cluster.label
            )));
        }
    }
    for class in costs.class_ids() {
        if !board.processor_classes().any(|own| own == costs.classes()[class.index()]) {
            costs.clear(class);
        }
    }
    Ok(costs)
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
            (Some(known), _) => report_left_out(known, machine.board(), control),
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
        let fit =
            |profile: &Profile, board: &Board| fit(profile, board, network.digest(), network.graph(), network.chain());
        match self {
            Self::Table(table) => Ok(table.clone()),
            Self::Models(path) => {
                let models = CostModels::from_json(&built_in::costs(path)?).in_file(path)?;
                let measured = measured_board(board, &models.board).in_file(path)?;
                let table = models.table(&measured, network.digest(), network.graph(), network.chain());
                of_own_engines(table.in_file(path)?, board).in_file(path)
            }
            Self::Profile(path) => {
                let profile = read_profile(path)?;
                let measured = measured_board(board, &profile.board).in_file(path)?;
                of_own_engines(fit(&profile, &measured).in_file(path)?, board).in_file(path)
            }
            Self::Cached => match machine.cache.load(network, board) {
                Some(profile) => fit(&profile, board).in_file(Path::new("the cached profile")),
                None => Err(Error::no_profile(network, board)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{EngineName, EngineSet};
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::Plan;
    use millstream_test_support::board;

    use super::*;
    use crate::control::Event;
    use crate::control::tests::told;
    use crate::learning::plan_model::tests::profiled;
    use crate::plans::{Aim, Plans};
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
            let warning = |event: &Event<'_>| match event {
                Event::Warning(text) => Some((*text).to_owned()),
                _ => None,
            };
            told(warning, |control| CostSource::Profile(&path).report_limits(network, &machine, control).unwrap())
        };
        assert!(warnings(&measured).is_empty());
        let expected = "the profile is not of squeezenet: its costs are predicted from those of tiny-darknet";
        assert_eq!(warnings(&other), [expected]);
    }

    /// Of a profile of two engines, schedules can be planned with either alone.
    #[test]
    fn one_of_several_engines_that_were_measured_may_be_asked_for() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B2@onnxruntime,openvino");
        let mut profile = Profile::new(&board, provenance());
        let seconds = |class: &ProcessorClass| if class.engine.is_default() { 1e-3 } else { 2e-3 };
        profile.networks.push(profiled(&network, &board, seconds));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        files::write(&path, &files::to_json(&profile).unwrap()).unwrap();

        let source = CostSource::Profile(&path);
        for (asked, expected) in [
            ("onnxruntime", Some("B1")),
            ("openvino", Some("B1@openvino")),
            ("openvino,onnxruntime", Some("B1")),
            ("openvinoint8", None),
        ] {
            let asked = Machine::of_board(board.clone()).with_engines(asked.parse::<EngineSet>().unwrap());
            let Ok(machine) = source.machine(&asked) else {
                assert_eq!(expected, None);
                assert!(source.table(&network, &asked).is_err());
                continue;
            };
            let table = source.table(&network, &machine).unwrap();
            let plans = Plans::search(&network, machine.board(), &table, Aim::default(), &Control::new()).unwrap();
            let used = |plan: &Plan| plan.configuration().contains(expected.unwrap_or_default());
            let engines = plans.front.iter().map(Plan::configuration).collect::<Vec<_>>();
            assert!(plans.front.iter().all(used), "{engines:?}");
            let is_openvino = expected.is_some_and(|name| name.ends_with("@openvino"));
            assert!(engines.iter().all(|name| name.contains("openvino") == is_openvino), "{engines:?}");
        }
    }

    #[test]
    fn an_engine_that_was_left_out_is_told_where_it_is_asked_for_alone() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B1@onnxruntime,openvino");
        let mut table = millstream_test_support::uniform_table(network.graph(), &board, [100]);
        let openvino = table.class_ids().find(|class| table.classes()[class.index()].engine.is_openvino()).unwrap();
        table.clear(openvino);
        let asked = |engine: EngineName| of_own_engines(table.clone(), &board.clone().with_engines(&engine.into()));
        assert!(asked(EngineName::OnnxRuntime).is_ok());
        let refused = asked(EngineName::OpenVino).unwrap_err().to_string();
        assert!(refused.contains("of openvino on B, the costs say nothing") && refused.contains("ask for onnxruntime"));
    }

    /// A device that was there for the sake of an engine is no other board where that engine is not asked for.
    #[test]
    fn devices_that_came_with_an_engine_do_not_matter_without_it() {
        let with_device = || {
            let board = board("B1@onnxruntime,openvino+V=gpu");
            let mut accelerators = board.accelerators().to_vec();
            accelerators[0].engine = "openvino".to_owned().try_into().ok();
            board.with_accelerators(accelerators).unwrap()
        };
        let measured = with_device();
        let own = measured_board(&board("B1"), &measured.to_document()).unwrap();
        assert_eq!(own.fingerprint(), measured.fingerprint());
        let other = board("B1@openvinoint8");
        assert_eq!(measured_board(&other, &measured.to_document()).unwrap().fingerprint(), other.fingerprint());
    }
}
