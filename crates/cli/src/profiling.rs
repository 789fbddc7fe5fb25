//! Profiles: read, cached, or made on the spot.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_board::Provenance;
use millstream_cost::CostTable;
use millstream_pipeline::Objective;
use millstream_predict::{CostModels, NetworkProfile, Profile, TransferSample, fit};
use millstream_profile::{
    OperatorSettings, PartSettings, Settings, Workload, measure, measure_accelerator_transfers, measure_accelerators,
    measure_operators, measure_parts,
};

use crate::backends::Backends;
use crate::model::Network;
use crate::planning::{Aim, PROFILE_BUDGET, Plans};
use crate::progress::Steps;
use crate::{files, interrupt, output};

/// Where a document comes from: this version, now.
pub(crate) fn provenance() -> Provenance {
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Provenance { tool_version: env!("CARGO_PKG_VERSION").to_owned(), created }
}

/// Part of a network's time that goes to its operators in context; the rest goes to its segments.
const OPERATORS_SHARE: f64 = 0.2;
/// Part that goes to operators in parts.
const PARTS_SHARE: f64 = 0.2;

/// Measures a network on a board, for a profile of nothing else.
pub(crate) fn make(network: &Network, board: &Board, backends: &Backends, budget: Duration) -> Result<Profile> {
    let mut profile = Profile::new(board, provenance());
    if add_network(&mut profile, network, board, backends, budget)? {
        return Ok(profile);
    }
    bail!("interrupted; nothing was written")
}

/// Measures what the profile does not know yet of a network. Returns whether it now knows everything: if not, somebody
/// asked to stop.
pub(crate) fn add_network(
    profile: &mut Profile,
    network: &Network,
    board: &Board,
    backends: &Backends,
    budget: Duration,
) -> Result<bool> {
    interrupt::listen();
    backends.measure_granularity(profile)?;
    let backend = &*backends.observed;
    let is_of_accelerator = |pair: &TransferSample| board.accelerator(&pair.from).is_some();
    if !profile.transfers.iter().any(is_of_accelerator) {
        profile.transfers.extend(measure_accelerator_transfers(backend, board)?);
    }
    let (digest, graph) = (network.model.digest(), network.model.graph());
    let frame = network.first_frame(backend, board)?;
    let workload = Workload { graph, chain: &network.chain, backend, frame };
    let fresh = NetworkProfile::new(digest, graph, &network.chain);
    // A profile of the same model in other blocks is of no use.
    profile.networks.retain(|known| known.digest != digest || known.blocks == fresh.blocks);
    let index = profile.networks.iter().position(|known| known.digest == digest).unwrap_or_else(|| {
        profile.networks.push(fresh);
        profile.networks.len() - 1
    });
    let Some(known) = profile.networks.get_mut(index) else { bail!("the profile lost a network") };
    let mut is_stopped = false;
    if known.operator_samples.is_empty() {
        let settings = OperatorSettings { budget: budget.mul_f64(OPERATORS_SHARE), ..OperatorSettings::default() };
        let samples = measure_operators(&workload, board, &settings, &mut |_| {
            is_stopped = interrupt::requested();
            !is_stopped
        })?;
        if is_stopped {
            return Ok(false);
        }
        known.operator_samples = samples;
        let budget = budget.mul_f64(OPERATORS_SHARE);
        let traced = measure_accelerators(&workload, board, budget, &mut || !interrupt::requested())?;
        if interrupt::requested() {
            known.operator_samples.clear();
            return Ok(false);
        }
        known.operator_samples.extend(traced);
    }
    if known.part_samples.is_empty() && board.processor_classes().count() > 1 {
        let settings = PartSettings { budget: budget.mul_f64(PARTS_SHARE), ..PartSettings::default() };
        let mut is_stopped = false;
        let samples = measure_parts(&workload, board, &settings, &mut |_| {
            is_stopped = interrupt::requested();
            !is_stopped
        })?;
        if is_stopped {
            return Ok(false);
        }
        known.part_samples = samples;
    }
    let settings = Settings { budget: budget.mul_f64(1.0 - OPERATORS_SHARE - PARTS_SHARE), ..Settings::default() };
    let mut steps = Steps::new(format!("measuring {} on {}", network.name(), board.name()), 1);
    let samples = measure(&workload, board, &settings, &known.samples, &mut |progress| {
        steps.set(progress.done, progress.total);
        is_stopped = interrupt::requested() && progress.done < progress.total;
        !is_stopped
    })?;
    known.samples.extend(samples);
    Ok(!is_stopped)
}

/// Reads a profile from a file; errors name it.
pub(crate) fn read(path: &Path) -> Result<Profile> {
    Profile::from_json(&files::read(path)?).with_context(|| path.display().to_string())
}

/// Costs of a network from a file of fitted models; errors name it.
pub(crate) fn predicted_costs(path: &Path, network: &Network, board: &Board) -> Result<CostTable> {
    let text = files::read(path)?;
    let table = CostModels::from_json(&text)
        .and_then(|models| models.table(board, network.model.digest(), network.model.graph(), &network.chain));
    table.with_context(|| path.display().to_string())
}

/// Costs of a network from a file of fitted models, from a profile, or from the cached profile.
pub(crate) fn costs(
    models: Option<&Path>,
    profile: Option<&Path>,
    network: &Network,
    board: &Board,
) -> Result<CostTable> {
    if let Some(path) = models {
        return predicted_costs(path, network, board);
    }
    let (profile, name) = match profile {
        Some(path) => (read(path)?, path.display().to_string()),
        None => match cached(network, board) {
            Some(profile) => (profile, "the cached profile".to_owned()),
            None => bail!(
                "there is no profile of {} on board '{}' yet; pass --cost or --profile, or make one with `cargo xtask profile`",
                network.name(),
                board.name()
            ),
        },
    };
    fit(&profile, board, network.model.digest(), network.model.graph(), &network.chain).with_context(|| name)
}

/// Costs from the cached profile or a new one, and what runs operators. `is_fresh`: from a new one in any case.
pub(crate) fn measured_costs(network: &Network, board: &Board, is_fresh: bool) -> Result<(CostTable, Backends)> {
    let known = if is_fresh { None } else { cached(network, board) };
    let backends = Backends::open(board, &network.model, known.as_ref())?;
    let profile = match known {
        Some(profile) => profile,
        None => {
            let profile = make(network, board, &backends, PROFILE_BUDGET)?;
            cache(&profile, network, board);
            profile
        }
    };
    Ok((backends.choose_threads(network, board, &profile)?, backends))
}

/// Plans from a cached or new profile, tried out on this machine.
pub(crate) fn measured_plans(
    network: &Network,
    board: &Board,
    is_fresh: bool,
    objectives: &[Objective],
    aim: Aim,
) -> Result<Plans> {
    let known = if is_fresh { None } else { cached(network, board) };
    let backends = Backends::open(board, &network.model, known.as_ref())?;
    let mut profile = match known {
        Some(profile) => {
            output::remark(format!("using the profile of {}", profile.provenance.created));
            profile
        }
        None => make(network, board, &backends, PROFILE_BUDGET)?,
    };
    backends.choose_threads(network, board, &profile)?;
    let plans = Plans::refine(network, board, &backends.all, &mut profile, objectives, aim)?;
    cache(&profile, network, board);
    Ok(plans)
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

/// What a profile says of one network.
pub(crate) fn only(profile: &Profile, network: &Network) -> Profile {
    let mut own = profile.clone();
    own.networks.retain(|known| known.digest == network.model.digest());
    own
}

/// A profile as it stands in a file.
pub(crate) fn to_json(profile: &Profile) -> Result<String> {
    serde_json::to_string_pretty(profile).context("a profile that can't be written as JSON")
}
