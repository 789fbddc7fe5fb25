//! The board that networks run on, which is this computer, or one that is only described.

mod asked;
pub(crate) mod built_in;
mod profile_cache;

use std::path::{Path, PathBuf};

use millstream_board::{Accelerator, Board, Cluster, Core, EngineSet, Engines};
use millstream_machine::usable_cores;
use millstream_schedule::ScheduleDocument;

use crate::backends::EngineReport;
use crate::backends::engines::reports;
use crate::error::{Error, InFile};
use profile_cache::ProfileCache;

pub use built_in::BuiltInBoard;

/// A board, with what can be done with it from here.
///
/// A board that is not this computer can be planned for and simulated; measuring and running need its cores to be here.
#[derive(Debug, Clone)]
pub struct Machine {
    board: Board,
    /// The engines that somebody asked for, on all cores.
    engines: Option<EngineSet>,
    /// Whether it is this computer, as it was detected.
    is_here: bool,
    /// Profiles of networks on it. Clones of a machine share it.
    pub(crate) cache: ProfileCache,
}

impl Machine {
    /// This computer, with its graphics devices, and the devices that providers of ONNX Runtime drive here.
    ///
    /// # Errors
    /// [`Error::Machine`] if the system does not tell what it has.
    pub fn detect() -> Result<Self, Error> {
        Self::detect_with(false)
    }

    /// The same; with graphics devices that the CPU's own cores emulate if `has_software_gpus`, which is of use for
    /// tests.
    ///
    /// # Errors
    /// As [`Machine::detect`].
    pub fn detect_with(has_software_gpus: bool) -> Result<Self, Error> {
        let board = millstream_machine::detect()?;
        let board = board.with_accelerators(crate::backends::devices::accelerators(has_software_gpus))?;
        let board = crate::backends::devices::with_provider_devices(board)?;
        Ok(Self { is_here: true, ..Self::of_board(board) })
    }

    /// A board that is known.
    pub fn of_board(board: Board) -> Self {
        Self { board, engines: None, is_here: false, cache: ProfileCache::default() }
    }

    /// The board of a file, or a [built-in](crate::BuiltInBoard) one by its name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::File`] or [`Error::NotBuiltIn`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let board = Board::from_json(&built_in::board(path)?).in_file(path)?;
        Ok(Self::of_board(of_file(path, board)))
    }

    /// This machine with a folder of its own for what is kept for later: profiles and optimised sessions. Otherwise
    /// they are in the user's cache folder, or in memory where that can't be written.
    #[must_use]
    pub fn with_cache_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { cache: ProfileCache::in_folder(folder.into()), ..self }
    }

    /// This machine with these engines on all its cores, whatever plans and profiles say; of several, each stage gets
    /// the one that is quickest for it. Without them, networks are measured with the engines of the board, which are
    /// ONNX Runtime unless its file says otherwise, and run with those that they were planned for. A provider of ONNX
    /// Runtime that the board does not have is taken from the library, where that was built with it;
    /// [`Board::check_engines`] says which are missing even so.
    #[must_use]
    pub fn with_engines(self, engines: impl Into<EngineSet>) -> Self {
        let engines = engines.into();
        let board =
            crate::backends::devices::with_providers_for(self.board, std::iter::once(&engines)).with_engines(&engines);
        Self { board, engines: Some(engines), ..self }
    }

    /// This machine with the devices that OpenVINO drives here beside the cores, as accelerators. One that is there
    /// already, driven in another way, is said to be the same device. NPUs are among them, which compute with floats of
    /// 16 bits whatever the model says.
    ///
    /// # Errors
    /// [`Error::Backend`] if OpenVINO is not there.
    pub fn with_openvino_devices(self) -> Result<Self, Error> {
        self.with_openvino_devices_where(|_| true)
    }

    fn with_openvino_devices_where(self, is_wanted: impl Fn(&Accelerator) -> bool) -> Result<Self, Error> {
        let mut all = self.board.accelerators().to_vec();
        all.extend(crate::backends::devices::openvino_devices(&all)?.into_iter().filter(is_wanted));
        Ok(Self { board: self.board.with_accelerators(all)?, ..self })
    }

    /// This machine with the engines that a schedule was planned for, unless the user named engines.
    #[must_use]
    pub fn as_planned(&self, schedule: &ScheduleDocument) -> Self {
        self.unless_asked(&schedule.board.engines)
    }

    /// This machine with these engines, unless the user named engines.
    fn unless_asked(&self, engines: &Engines) -> Self {
        match self.engines {
            Some(_) => self.clone(),
            None => {
                let board = crate::backends::devices::with_providers_for(self.board.clone(), engines.values());
                self.with_board(board.with_engines_of(engines))
            }
        }
    }

    /// The same for something that was measured with these engines: whoever asks for some of them gets these.
    ///
    /// # Errors
    /// [`Error::Unfit`] if somebody asked for another engine.
    pub(crate) fn with_only_engines(&self, engines: &Engines) -> Result<Self, Error> {
        let machine = self.unless_asked(engines);
        // That the costs are of other clusters is another error.
        let is_there = |label: &str| machine.board.clusters().iter().any(|cluster| cluster.label == label);
        let measured: Engines = engines.clone().into_iter().filter(|(label, _)| is_there(label)).collect();
        let asked = machine.board.engines();
        if are_among(&machine.board, &measured) {
            return Ok(machine);
        }
        let engines_of = |engines: &Engines| {
            let of_cluster = |cluster: &millstream_board::Cluster| {
                format!("{} on {}", engines.get(&cluster.label).cloned().unwrap_or_default(), cluster.label)
            };
            machine.board.clusters().iter().map(of_cluster).collect::<Vec<_>>().join(", ")
        };
        Err(Error::Unfit(format!(
            "the costs are of the engines {}, not of {}; leave the engines out, or measure with them",
            engines_of(&measured),
            engines_of(&asked)
        )))
    }

    /// Another board, with the same cache.
    pub(crate) fn with_board(&self, board: Board) -> Self {
        Self { board, ..self.clone() }
    }

    /// What it consists of.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Whether it is this computer: as it was detected, or a board of cores of it, each of whose accelerators has an
    /// engine or is a graphics device that is here.
    pub fn is_this_computer(&self) -> bool {
        if self.is_here {
            return true;
        }
        // Under a quota, a board of this computer may have other cores than would be chosen now.
        let all = millstream_machine::detect_at(Path::new("/sys"), usable_cores().as_deref());
        if !all.is_ok_and(|here| is_of(&self.board, &here)) {
            return false;
        }
        let without: Vec<_> = self.board.accelerators().iter().filter(|own| own.engine.is_none()).collect();
        let gpus = if without.is_empty() { Vec::new() } else { crate::backends::devices::accelerators(false) };
        without.iter().all(|own| gpus.iter().any(|gpu| (gpu.kind, &gpu.name) == (own.kind, &own.name)))
    }

    /// Whether this process may run on all the board's cores; measuring and running need that.
    ///
    /// # Errors
    /// [`Error::NotHere`] with the first core that it may not use.
    pub fn check_usable(&self) -> Result<(), Error> {
        let allowed = usable_cores().unwrap_or_default();
        match self.board.cores().find(|core| !allowed.contains(&core.id)) {
            None => Ok(()),
            Some(core) => Err(Error::NotHere { core: core.id, board: self.board.name().to_owned(), allowed }),
        }
    }
}

/// Whether each cluster of a board is of a computer that is known: its cores are among those of a cluster there, with the
/// same caches and of the same kind. A cluster of which neither kind nor caches are known may be of any computer, and is of
/// none.
fn is_of(board: &Board, computer: &Board) -> bool {
    let is_part = |cluster: &Cluster, whole: &Cluster| {
        let is_there = |core: &Core| whole.cores.iter().any(|known| known.id == core.id);
        let is_same_kind = (&cluster.core_type, &cluster.caches) == (&whole.core_type, &whole.caches);
        is_same_kind && cluster.cores.iter().all(is_there)
    };
    board.clusters().iter().all(|cluster| {
        let is_told = cluster.core_type.is_some() || !cluster.caches.is_empty();
        is_told && computer.clusters().iter().any(|whole| is_part(cluster, whole))
    })
}

/// Whether each cluster of a board computes with engines that these have for it, and no others.
pub(crate) fn are_among(board: &Board, engines: &Engines) -> bool {
    board.clusters().iter().all(|cluster| {
        let there = engines.get(&cluster.label).cloned().unwrap_or_default();
        cluster.engines.iter().all(|engine| there.contains(engine))
    })
}

/// The engines that this program was built with, what they run on, and what uses them on a machine. Loads their
/// libraries.
pub fn engines(machine: &Machine) -> Vec<EngineReport> {
    reports(machine.board())
}

/// The board of a file: paths in it count from the file's folder.
pub(crate) fn of_file(path: &Path, board: Board) -> Board {
    // The same file is the same board, however its path is written.
    let file = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    board.of_file_in(file.parent().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{AcceleratorKind, Cache, EngineName};

    use super::*;

    #[test]
    fn a_board_is_of_a_computer_that_has_its_cores() {
        let with = |clusters: &str, bytes: u64, core_type: Option<&str>| {
            let mut document = millstream_test_support::board(clusters).to_document();
            for cluster in &mut document.clusters {
                cluster.caches = (bytes > 0).then_some(Cache { level: 1, bytes, shared_by: 1 }).into_iter().collect();
                cluster.core_type = core_type.map(str::to_owned);
            }
            Board::try_from(document).unwrap()
        };
        let computer = with("B4", 32_768, None);
        for (board, expected) in [
            (with("B4@openvino", 32_768, None), true),
            (with("B2", 32_768, None), true),
            (with("B2+s2", 32_768, None), true),
            (with("B8", 32_768, None), false),
            (with("B4", 65_536, None), false),
            (with("B4", 32_768, Some("Cortex-A76")), false),
            (with("B4", 0, None), false),
        ] {
            assert_eq!(is_of(&board, &computer), expected, "{:?}", board.clusters());
        }
        assert!(is_of(&with("B4", 0, Some("Cortex-A76")), &with("B4", 0, Some("Cortex-A76"))));
        assert!(!is_of(&with("B4", 0, None), &with("B4", 0, None)), "it may be of any computer");
    }

    #[test]
    fn a_board_with_an_accelerator_that_nothing_drives_is_only_planned_for() {
        let Ok(detected) = Machine::detect() else { return };
        assert!(detected.is_this_computer());
        let described = |board: Board| Machine::of_board(board).is_this_computer();
        if described(detected.board().clone()) {
            let described_only = vec![Accelerator::new("N", AcceleratorKind::Npu)];
            assert!(!described(detected.board().clone().with_accelerators(described_only).unwrap()));
        }
    }

    #[test]
    fn costs_are_of_the_engines_that_are_asked_for_on_the_clusters_that_are_there() {
        let machine = |board: &str| Machine::of_board(millstream_test_support::board(board));
        let with = |label: &str, engine: EngineName| Engines::from([(label.to_owned(), engine.into())]);
        let (usual, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
        let both =
            || Engines::from(["B", "s"].map(|label| (label.to_owned(), "onnxruntime,openvino".parse().unwrap())));

        let chosen = machine("B1+s1").with_only_engines(&with("s", openvino)).unwrap();
        assert_eq!(chosen.board().engines(), with("s", openvino), "nobody asked for others");
        for (asked, measured, refused) in [
            (
                usual,
                with("B", openvino),
                Some("openvino on B, onnxruntime on s, not of onnxruntime on B, onnxruntime on s"),
            ),
            (openvino, Engines::new(), Some("onnxruntime on B, onnxruntime on s, not of openvino on B, openvino on s")),
            (
                openvino,
                with("s", openvino),
                Some("onnxruntime on B, openvino on s, not of openvino on B, openvino on s"),
            ),
            (usual, Engines::new(), None),
            // One of several.
            (openvino, both(), None),
            // What the costs say of another cluster is no matter here.
            (usual, with("u", openvino), None),
        ] {
            let machine = machine("B1+s1").with_engines(asked);
            let found = machine.with_only_engines(&measured).map_err(|error| error.to_string());
            match refused {
                Some(refused) => assert!(found.unwrap_err().contains(refused), "{measured:?}"),
                None => assert_eq!(found.unwrap().board().engines(), machine.board().engines()),
            }
        }
    }
}
