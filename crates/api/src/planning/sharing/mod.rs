//! Several networks that share a board.

mod files;
mod memory_parts;
mod network_share;
mod search;
mod shared_board;
mod together;

use std::time::Duration;

use millstream_cost::{CostTable, keep_one_driver_of_each_device};
use millstream_pipeline::PipelineError;
use millstream_schedule::ScheduleSetDocument;

use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::measured_costs;
use crate::network::Network;
use crate::planning::PlanOn;
use crate::plans::other_drivers::report_other_drivers;
use network_share::check;
use search::better;
use shared_board::{SharedBoard, Teams};

pub use network_share::NetworkShare;

/// Schedules of several networks that share a board.
pub struct Shared {
    /// The file of their schedules.
    pub document: ScheduleSetDocument,
    /// Rounds a second of the other way to share, by turns or with processors of their own, where it is possible.
    pub other_rounds_per_second: Option<f64>,
    /// The longest that a frame of each network took in a simulation, where networks take turns.
    pub simulated_latencies: Option<Vec<Duration>>,
}

/// Finds the way to share a board that gives the highest common frame rate of those it tries: by turns on all
/// processors, or each network on processors of its own. Which division is best is found exactly where stages run on one
/// processor each, share no link, do not compete for memory, all fits into it and there are no deadlines; where deadlines cost rounds then, stages of several processors are tried as well. What
/// networks that take turns wait for each other is simulated, and their rounds are as simulated.
///
/// # Errors
/// [`Error::Pipeline`] if the deadlines can't all be met, [`Error::Unfit`] without a share for each network; whatever
/// keeps costs from being known.
pub fn plan_shared(
    machine: &Machine,
    networks: &[Network],
    shares: &[NetworkShare],
    on: PlanOn<'_>,
    control: &Control,
) -> Result<Shared, Error> {
    check(networks, shares)?;
    let board = machine.board();
    let costs = |network: &Network| match on {
        PlanOn::Costs(costs) => costs.table(network, machine),
        PlanOn::ThisMachine => Ok(measured_costs(machine, network, None, control)?.0),
        PlanOn::ThisMachineAnew(budget) => Ok(measured_costs(machine, network, Some(budget), control)?.0),
    };
    let mut tables: Vec<CostTable> = networks.iter().map(costs).collect::<Result<_, Error>>()?;
    keep_one_driver_of_each_device(&mut tables, board, &[]);
    tables.first().into_iter().for_each(|table| report_other_drivers(board, table, control));
    let shared_board = SharedBoard::new(board, networks, &tables, shares);

    let found = shared_board.share_within_memory(Teams::Without);
    // Several processors for each frame may keep deadlines that one for each does not keep, or keeps only with fewer
    // frames.
    let is_held_up = match &found {
        Ok(found) => shared_board.is_held_up(found),
        Err(Error::Pipeline(error)) => matches!(
            error,
            PipelineError::Deadline { .. } | PipelineError::DeadlineBeside { .. } | PipelineError::Infeasible
        ),
        Err(_) => false,
    };
    let found = if is_held_up { better(found, shared_board.share_within_memory(Teams::With)) } else { found };
    shared_board.shared(found?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::ReadOptions;
    use millstream_predict::Profile;
    use millstream_test_support::board;

    use super::*;
    use crate::files;
    use crate::learning::plan_model::tests::profiled;
    use crate::measuring::CostSource;

    /// One network is quicker with one driver of a device, and the other with the other one: both have the same.
    #[test]
    fn networks_that_share_a_board_use_one_driver_of_a_device() {
        let mut accelerators = board("B2+G+V=gpu").accelerators().to_vec();
        accelerators[1].same_device_as = Some("G".to_owned());
        let board = board("B2+G+V=gpu").with_accelerators(accelerators).unwrap();
        let networks =
            ["tiny-darknet", "squeezenet"].map(|name| Network::open(&format!("zoo:{name}"), ReadOptions::default()));
        let networks = networks.map(Result::unwrap);

        let mut profile = Profile::new(&board, crate::provenance());
        for (network, quicker) in networks.iter().zip(["G", "V"]) {
            profile.networks.push(profiled(network, &board, |class| match class.cluster.as_str() {
                "B" => 1e-3,
                label if label == quicker => 1e-5,
                _ => 2e-5,
            }));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        files::write(&path, &files::to_json(&profile).unwrap()).unwrap();

        let (machine, on) = (Machine::of_board(board.clone()), PlanOn::Costs(CostSource::Profile(&path)));
        let shares = vec![NetworkShare::default(); 2];
        let shared = plan_shared(&machine, &networks, &shares, on, &Control::new()).unwrap();
        let mut used = Vec::new();
        for (network, of_network) in networks.iter().zip(&shared.document.networks) {
            let schedule = of_network.schedule.resolve(network.graph(), network.digest(), &board).unwrap();
            used.extend(schedule.accelerators().into_iter().map(str::to_owned));
        }
        used.dedup();
        assert_eq!(used.len(), 1, "{used:?}");
    }
}
