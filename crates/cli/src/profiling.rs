//! Profiles: read, cached, or made on the spot.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use millstream_backend::Backend;
use millstream_board::Board;
use millstream_cost::{NetworkProfile, Profile, Provenance};
use millstream_profile::{ProfileError, Settings, Workload, measure};

use crate::model::Network;
use crate::progress::Steps;
use crate::{files, interrupt};

/// Where a document comes from: this version, now.
pub(crate) fn provenance() -> Provenance {
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Provenance { tool_version: env!("CARGO_PKG_VERSION").to_owned(), created }
}

/// Measures a network on a board.
pub(crate) fn make(network: &Network, board: &Board, backend: &dyn Backend, budget: Duration) -> Result<Profile> {
    interrupt::listen();
    let workload = Workload { graph: network.model.graph(), chain: &network.chain, backend };
    let settings = Settings { budget, ..Settings::default() };
    let mut steps = Steps::new(format!("measuring {} on {}", network.name(), board.name()), 1);
    let samples = measure(&workload, board, &settings, &mut |progress| {
        steps.set(progress.done, progress.total);
        !interrupt::requested()
    });
    drop(steps);
    let samples = match samples {
        Err(ProfileError::Interrupted) => bail!("interrupted; nothing was written"),
        samples => samples?,
    };
    let mut profile = Profile::new(board, provenance());
    let mut measured = NetworkProfile::new(network.model.digest(), network.model.graph(), &network.chain);
    measured.samples = samples;
    profile.networks.push(measured);
    Ok(profile)
}

/// Where the profile of a network on a board is cached; `None` on systems without a place for caches.
pub(crate) fn cache_path(network: &Network, board: &Board) -> Option<PathBuf> {
    let digest = network.model.digest();
    let digest = digest.get(..16).unwrap_or(digest);
    Some(dirs::cache_dir()?.join("millstream/profiles").join(format!("{}-{digest}.json", board.fingerprint())))
}

/// The cached profile, if there is a usable one.
pub(crate) fn cached(network: &Network, board: &Board) -> Option<Profile> {
    let text = std::fs::read_to_string(cache_path(network, board)?).ok()?;
    let profile = Profile::from_json(&text).ok()?;
    (profile.check_board(board).is_ok() && profile.network(network.model.digest()).is_some()).then_some(profile)
}

/// Keeps a profile for later. A cache that can't be written is no reason to fail.
pub(crate) fn cache(profile: &Profile, network: &Network, board: &Board) {
    let Some(path) = cache_path(network, board) else { return };
    let folder = path.parent().map(std::fs::create_dir_all).transpose();
    let written = folder.map_err(anyhow::Error::from).and_then(|_| files::write(&path, &to_json(profile)?));
    if let Err(error) = written {
        tracing::warn!("the profile is not cached: {error:#}");
    }
}

/// A profile as it stands in a file.
pub(crate) fn to_json(profile: &Profile) -> Result<String> {
    serde_json::to_string_pretty(profile).context("a profile that can't be written as JSON")
}
