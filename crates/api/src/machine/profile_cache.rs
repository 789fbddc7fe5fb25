//! What is kept for later: profiles, one for each network and board, and where optimised sessions are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use millstream_board::Board;
use millstream_predict::Profile;

use crate::error::Error;
use crate::files;
use crate::network::Network;

/// Profiles in memory, and in a folder where the system has a place for it.
#[derive(Debug, Clone)]
pub(crate) struct ProfileCache {
    folder: Option<PathBuf>,
    /// By file name.
    known: Arc<Mutex<HashMap<String, Profile>>>,
}

impl Default for ProfileCache {
    fn default() -> Self {
        Self { folder: dirs::cache_dir().map(|folder| folder.join("millstream")), known: Arc::default() }
    }
}

impl ProfileCache {
    /// A cache in a folder of its own.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), known: Arc::default() }
    }

    /// Where optimised sessions are kept.
    pub(crate) fn sessions(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("sessions"))
    }

    /// The profile of a network on a board, if there is a usable one.
    pub(crate) fn load(&self, network: &Network, board: &Board) -> Option<Profile> {
        let name = file_name(network, board);
        if let Some(profile) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&name) {
            return Some(profile.clone());
        }
        let text = std::fs::read_to_string(self.folder.as_ref()?.join("profiles").join(&name)).ok()?;
        let profile = Profile::from_json(&text).ok()?;
        (profile.check_board(board).is_ok() && profile.network(network.digest()).is_some()).then_some(profile)
    }

    /// Keeps what a profile says of a network for later. A folder that can't be written is no reason to fail.
    pub(crate) fn store(&self, profile: &Profile, network: &Network, board: &Board) {
        let name = file_name(network, board);
        let mut kept = profile.clone();
        kept.networks.retain(|known| known.digest == network.digest());
        let written = self.folder.as_ref().map(|folder| write(&folder.join("profiles"), &name, &kept));
        if let Some(Err(error)) = written {
            tracing::warn!("the profile is kept for this process only: {error}");
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name, kept);
    }
}

fn write(folder: &Path, name: &str, profile: &Profile) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "make", path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    files::write(&folder.join(name), &files::to_json(profile)?)
}

fn file_name(network: &Network, board: &Board) -> String {
    let digest = network.digest();
    format!("{}-{}.json", board.fingerprint(), digest.get(..16).unwrap_or(digest))
}
