//! The shortest period of pipelines over several hosts.

mod host_visits;
mod link_times;
mod pipelines;
mod system;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};

use crate::certificate::HostsProof;
use crate::error::CertifyError;
use crate::network::NetworkBlocks;
use pipelines::has_pipeline_below;
use system::{SystemStages, Unfollowable};

/// Follows all pipelines over the hosts of a system whose stages and links between hosts pass frames more often than
/// the period that is said to be the shortest: they must not come to the end, and those that have this period must.
///
/// A stage is on one host, on a processor or on replicas of it, as on a single board, and pays for what comes from
/// other hosts and goes to them, or comes from outside and goes there. The stages of a host follow each other. The ways
/// from outside and to there pass one frame at a time, as links do.
///
/// Nothing has a shorter period. What memories have room for, and what several stages take over the same link within a
/// host, is not looked at: that something has just this period is only so where neither is in the way.
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
    let system = match SystemStages::of(network, board, table, &proof.without) {
        Ok(system) => system,
        Err(Unfollowable::TooMany) => return wrong("the hosts have more states than can be checked".to_owned()),
        Err(Unfollowable::OtherSystem) => return wrong("the costs are of another system".to_owned()),
        Err(Unfollowable::UnknownHost(host)) => {
            return wrong(format!("it leaves out a host '{host}', which the system does not have"));
        }
    };
    if proof.blocks != system.blocks() {
        return wrong(format!("the network has {} blocks, not {}", system.blocks(), proof.blocks));
    }

    // The stages of the two are timed apart: they differ in which periods are short enough.
    let period = proof.period_nanoseconds;
    let milliseconds = 1e3 * Nanoseconds(period).seconds();
    if has_pipeline_below(&system, period) {
        return wrong(format!("a pipeline over the hosts has a shorter period than {milliseconds} ms"));
    }
    if has_pipeline_below(&system, period.saturating_add(1)) {
        Ok(())
    } else {
        wrong(format!("no pipeline over the hosts has a period of {milliseconds} ms, all take longer"))
    }
}

/// Whether [`check_hosts`] can follow all pipelines over the hosts of a system, with these left out; some are too many.
pub fn can_check_hosts(network: NetworkBlocks<'_>, board: &Board, table: &CostTable, without: &[String]) -> bool {
    SystemStages::of(network, board, table, without).is_ok()
}
