//! Boards that are known by name, with their costs: the files of `fixtures/boards` and `fixtures/costs`, inside the
//! program, so that it needs no files beside itself however it was installed.

use std::borrow::Cow;
use std::path::Path;

use millstream_board::Board;

use crate::error::{Error, InFile};
use crate::files;

/// A board that need not be described by a file, and what networks cost on it.
///
/// Where a file of a board or of cost models is named, the name alone stands for the built-in one, unless there is a
/// file of that name.
///
/// ```
/// use millstream_api::{BuiltInBoard, Machine};
///
/// let board = BuiltInBoard::all().find(|board| board.name() == "rk3588").ok_or(millstream_api::Error::Interrupted)?;
/// assert_eq!(Machine::read("rk3588".as_ref())?.board().name(), board.board()?.name());
/// # Ok::<(), millstream_api::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct BuiltInBoard {
    name: &'static str,
    board: &'static str,
    costs: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltInBoard {
            name: $name,
            board: include_str!(concat!("../../boards/", $name, ".json")),
            costs: include_str!(concat!("../../costs/", $name, ".json")),
        }),*]
    };
}

const ALL: &[BuiltInBoard] = built_in![
    "alder-lake-laptop",
    "bst-a1000-like",
    "chiplet-c1",
    "chiplet-c2",
    "chiplet-c3",
    "chiplet-c4",
    "chiplet-c5",
    "hikey-970",
    "hikey-970-3-2",
    "jetson-tx2-1",
    "jetson-tx2-2",
    "jetson-tx2-3",
    "jetson-tx2-4",
    "khadas-vim3",
    "nexus-5",
    "nexus-6p",
    "raspberry-pi-5",
    "rk3588",
    "ultra96-2pe",
    "ultra96-4pe",
    "ultra96-8pe",
    "zcu104-2pe",
    "zcu104-4pe",
    "zcu104-8pe",
    "zcu106-2pe",
    "zcu106-4pe",
    "zcu106-8pe",
    "zed-2pe",
    "zed-4pe",
    "zed-8pe",
];

/// A system of several boards that need not be described by a file.
struct BuiltInSystem {
    name: &'static str,
    /// Its file.
    system: &'static str,
}

macro_rules! systems {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltInSystem {
            name: $name,
            system: include_str!(concat!("../../systems/", $name, ".json")),
        }),*]
    };
}

const SYSTEMS: &[BuiltInSystem] = systems![
    "pipe-search-1",
    "pipe-search-2",
    "pipe-search-3",
    "pipe-search-4",
    "rk3588-raspberry-pi-5",
    "shisha-c1",
    "shisha-c2",
    "shisha-c3",
    "shisha-c4",
    "shisha-c5",
];

/// The most similar names that an error suggests.
const MOST_NEAR: usize = 5;
/// Names that are at least so alike come near; 1 is the same.
const LIKENESS: f64 = 0.8;

impl BuiltInBoard {
    /// All of them, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied()
    }

    /// What it is called in place of a file.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The board.
    ///
    /// # Errors
    /// [`Error::File`] if it is unusable, which tests rule out.
    pub fn board(&self) -> Result<Board, Error> {
        Board::from_json(self.board).in_file(Path::new(self.name))
    }
}

/// The text of a board file, or of a built-in board.
pub(crate) fn board(path: &Path) -> Result<Cow<'static, str>, Error> {
    text(path, "board", |board| board.board)
}

/// The text of a file of cost models, or of those of a built-in board.
pub(crate) fn costs(path: &Path) -> Result<Cow<'static, str>, Error> {
    text(path, "costs", |board| board.costs)
}

fn text(path: &Path, what: &'static str, of: fn(BuiltInBoard) -> &'static str) -> Result<Cow<'static, str>, Error> {
    let name = path.to_str().filter(|name| is_name(name) && !path.exists());
    let Some(name) = name else { return files::read(path).map(Cow::Owned) };
    match BuiltInBoard::all().find(|board| board.name == name) {
        Some(board) => Ok(Cow::Borrowed(of(board))),
        None => Err(Error::NotBuiltIn { what, name: name.to_owned(), near: near(name) }),
    }
}

/// Whether a board of the collection is called so.
pub(crate) fn is_built_in(name: &str) -> bool {
    BuiltInBoard::all().any(|board| board.name == name)
}

/// The text of a system file, or of a built-in system.
pub(crate) fn system(path: &Path) -> Result<Cow<'static, str>, Error> {
    let name = path.to_str().filter(|name| is_name(name) && !path.exists());
    let Some(name) = name else { return files::read(path).map(Cow::Owned) };
    match SYSTEMS.iter().find(|system| system.name == name) {
        Some(system) => Ok(Cow::Borrowed(system.system)),
        None => {
            let near = near_of(name, SYSTEMS.iter().map(|system| system.name));
            Err(Error::NotBuiltIn { what: "system", name: name.to_owned(), near })
        }
    }
}

/// Whether it could be meant as the name of a board: paths have folders or extensions.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_alphanumeric() || "-_ ".contains(character))
}

/// Names that come near, the nearest first.
fn near(name: &str) -> Vec<&'static str> {
    near_of(name, BuiltInBoard::all().map(|board| board.name))
}

fn near_of(name: &str, all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let plain =
        |name: &str| name.chars().filter(|character| character.is_alphanumeric()).collect::<String>().to_lowercase();
    let wanted = plain(name);
    let likeness = |known: &'static str| {
        let plain_known = plain(known);
        let is_part = wanted.len() > 2 && plain_known.contains(&wanted);
        (if is_part { 1.0 } else { strsim::jaro_winkler(&plain_known, &wanted) }, known)
    };
    let mut names: Vec<(f64, &str)> = all.map(likeness).filter(|&(likeness, _)| likeness >= LIKENESS).collect();
    names.sort_by(|one, other| other.0.total_cmp(&one.0));
    names.into_iter().map(|(_, name)| name).take(MOST_NEAR).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_predict::CostModels;

    use super::*;

    #[test]
    fn every_board_of_the_collection_is_built_in_with_costs_of_its_own() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("boards");
        let mut stems: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned()))
            .collect();
        stems.sort();
        assert_eq!(BuiltInBoard::all().map(|board| board.name.to_owned()).collect::<Vec<_>>(), stems);
        for built_in in BuiltInBoard::all() {
            let path = Path::new(built_in.name);
            let models = CostModels::from_json(&costs(path).unwrap()).unwrap();
            let board = built_in.board().unwrap();
            assert_eq!(Board::try_from(models.board).unwrap().fingerprint(), board.fingerprint(), "{}", built_in.name);
            assert!(is_name(built_in.name));
        }
    }

    #[test]
    fn an_unknown_name_says_which_come_near() {
        let message = |name: &str| board(Path::new(name)).unwrap_err().to_string();
        let text = message("rk3558");
        assert!(text.contains("'rk3558'") && text.contains("rk3588"), "{text}");
        assert!(message("hikey").contains("hikey-970, hikey-970-3-2"));
        assert!(message("RK3588").contains("rk3588"));
        assert!(message("pi 5").contains("raspberry-pi-5"));
        assert!(near("wholly-other").is_empty() && !message("wholly-other").contains("did you mean"));
    }

    #[test]
    fn paths_are_read_as_paths() {
        for path in ["./rk3588", "rk3588.json", "boards/rk3588", "", "/dev/rk3588"] {
            assert!(matches!(board(Path::new(path)), Err(Error::Io { .. })), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rk3588");
        std::fs::write(&file, "own").unwrap();
        assert_eq!(board(&file).unwrap(), "own");
    }
}
