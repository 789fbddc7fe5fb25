//! What runs a network's operators, with as many threads as its costs suggest.

use std::time::Duration;

use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_predict::{Profile, fit};

use crate::backends::Backends;
use crate::backends::needed::Needed;
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::profiling::{PROFILE_BUDGET, cached, known_or_measured};
use crate::network::Network;

/// What runs a network in one way, which is prepared faster the next time; and its costs on what is there, if it was
/// measured on the machine. Of several drivers of a device, the costs are of one of `used`, those of accelerators that a
/// schedule has.
pub(crate) fn open_to_run(
    machine: &Machine,
    network: &Network,
    needed: &Needed<'_>,
    used: &[&str],
) -> Result<(Backends, Option<CostTable>), Error> {
    let (board, model) = (machine.board(), network.model());
    let profile = machine.cache.load(network, board);
    let sessions = machine.cache.sessions();
    let backends = Backends::open_for(sessions.as_deref(), board, model, profile.as_ref(), needed)?;
    let costs = profile.map(|profile| fit_and_choose_threads(&backends, network, board, &profile)).transpose()?;
    let costs = costs.map(|mut table| {
        backends.clear_missing(board, &mut table);
        table.with_one_driver_of_each_device(board, used)
    });
    Ok((backends, costs))
}

/// Costs from the cached profile or a new one, and what runs operators. `anew`: from a new one in any case, which takes
/// so long.
pub(crate) fn measured_costs(
    machine: &Machine,
    network: &Network,
    anew: Option<Duration>,
    control: &Control,
) -> Result<(CostTable, Backends), Error> {
    machine.check_usable()?;
    let known = cached(machine, network, anew.is_some(), control);
    let budget = anew.unwrap_or(PROFILE_BUDGET);
    let (profile, backends) = known_or_measured(network, machine, known, budget, control)?;
    Ok((fit_and_choose_threads(&backends, network, machine.board(), &profile)?, backends))
}

/// The costs that a profile gives, after every operator family was given as many threads of a cluster as they suggest.
pub(crate) fn fit_and_choose_threads(
    backends: &Backends,
    network: &Network,
    board: &Board,
    profile: &Profile,
) -> Result<CostTable, Error> {
    let table = fit(profile, board, network.digest(), network.graph(), network.chain())?;
    backends.choose_threads(network.graph(), board, &table);
    Ok(table)
}
