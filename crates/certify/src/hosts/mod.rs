//! The shortest period of pipelines over several hosts.

mod pipelines;
mod system;
mod visit;
mod ways;

use millstream_board::Board;
use millstream_cost::CostTable;

use crate::certificate::HostsProof;
use crate::error::CertifyError;
use crate::network::NetworkBlocks;
use pipelines::has_pipeline_below;
use system::{SystemStages, Unfollowable};

/// Follows all pipelines over the hosts of a system whose stages and links between hosts pass frames more often than
/// the period that is said to be the shortest: they must not come to the end, and those that have this period must.
///
/// A stage is on one host, on a processor or on replicas of it, as on a single board, and pays for what comes from other
/// hosts and goes to them, or comes from outside and goes there. The stages of a host follow each other.
///
/// # Errors
/// [`CertifyError::Hosts`] if another period is the shortest, or they can't be followed.
pub fn check_hosts(
    proof: &HostsProof,
    network: NetworkBlocks<'_>,
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let wrong = |detail: String| Err(CertifyError::Hosts { detail });
    let known = table.hosts();
    if let Some(unknown) = proof.without.iter().find(|host| !known.contains(&host.as_str())) {
        return wrong(format!("it leaves out a host '{unknown}', which the system does not have"));
    }
    let system = match SystemStages::of(network, board, table, &proof.without) {
        Ok(system) => system,
        Err(Unfollowable::TooMany) => return wrong("the hosts have more states than can be checked".to_owned()),
        Err(Unfollowable::OtherSystem) => return wrong("the costs are of another system".to_owned()),
    };
    if proof.blocks != system.blocks() {
        return wrong(format!("the network has {} blocks, not {}", system.blocks(), proof.blocks));
    }

    let period = proof.period_nanoseconds;
    if has_pipeline_below(&system, period) {
        return wrong("a pipeline over the hosts has a shorter period".to_owned());
    }
    if has_pipeline_below(&system, period.saturating_add(1)) {
        Ok(())
    } else {
        wrong("no pipeline over the hosts has this period, all take longer".to_owned())
    }
}

/// Whether [`check_hosts`] can follow all pipelines over the hosts of a system, with these left out; some are too many.
pub fn can_check_hosts(network: NetworkBlocks<'_>, board: &Board, table: &CostTable, without: &[String]) -> bool {
    SystemStages::of(network, board, table, without).is_ok()
}
