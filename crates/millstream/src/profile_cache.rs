//! Profiles that are kept for later, one for each network and board.

use std::path::PathBuf;

use millstream_board::Board;
use millstream_predict::Profile;

use crate::{Error, Network, files};

/// The cached profile, if there is a usable one.
pub fn load(network: &Network, board: &Board) -> Option<Profile> {
    let text = std::fs::read_to_string(path(network, board)?).ok()?;
    let profile = Profile::from_json(&text).ok()?;
    (profile.check_board(board).is_ok() && profile.network(network.digest()).is_some()).then_some(profile)
}

/// Keeps what a profile says of a network for later. A cache that can't be written is no reason to fail.
pub(crate) fn store(profile: &Profile, network: &Network, board: &Board) {
    let Some(path) = path(network, board) else { return };
    let mut own = profile.clone();
    own.networks.retain(|known| known.digest == network.digest());
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder
        .map_err(|source| Error::Io { action: "make the folder of", path: path.clone(), source })
        .and_then(|()| files::write(&path, &files::to_json(&own)));
    if let Err(error) = written {
        tracing::warn!("the profile is not cached: {error}");
    }
}

/// Where the profile of a network on a board is cached; `None` on systems without a place for caches.
fn path(network: &Network, board: &Board) -> Option<PathBuf> {
    let digest = network.digest();
    let digest = digest.get(..16).unwrap_or(digest);
    Some(dirs::cache_dir()?.join("millstream/profiles").join(format!("{}-{digest}.json", board.fingerprint())))
}
