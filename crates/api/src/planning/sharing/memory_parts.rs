//! Parts of accelerators' own memories for several networks, all of which are there at once.

use millstream_board::{Accelerator, Board};
use millstream_graph::OperatorId;
use millstream_schedule::held_bytes;

use crate::error::Error;
use crate::network::Network;

/// Ways to divide what accelerators have of memory, each as one board per network that knows only of its part: in
/// proportion to what each network holds in one piece, or all for one of them. Where all networks fit as they are, only
/// the board itself for each.
pub(crate) fn boards_with_parts(board: &Board, networks: &[&Network]) -> Result<Vec<Vec<Board>>, Error> {
    let whole = |network: &&Network| {
        let operators: Vec<OperatorId> = network.graph().operator_ids().collect();
        held_bytes(network.graph(), &operators)
    };
    let needed: Vec<u64> = networks.iter().map(whole).collect();
    let all_bytes = needed.iter().copied().fold(0, u64::saturating_add);
    let is_scarce = |accelerator: &Accelerator| accelerator.memory_bytes.is_some_and(|bytes| bytes < all_bytes);
    if !board.accelerators().iter().any(is_scarce) {
        return Ok(vec![vec![board.clone(); networks.len()]]);
    }

    let with_part = |part: &dyn Fn(u64) -> u64| {
        let scaled = |accelerator: &Accelerator| match accelerator.memory_bytes.filter(|_| is_scarce(accelerator)) {
            // A file says that there is a memory with at least a byte.
            Some(bytes) => Accelerator { memory_bytes: Some(part(bytes).max(1)), ..accelerator.clone() },
            None => accelerator.clone(),
        };
        Ok(board.with_accelerators(board.accelerators().iter().map(scaled).collect())?)
    };
    let in_proportion = |bytes: u64, needed: u64| {
        let part = u128::from(bytes) * u128::from(needed) / u128::from(all_bytes.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    let proportional = needed
        .iter()
        .map(|&needed| with_part(&|bytes| in_proportion(bytes, needed)))
        .collect::<Result<Vec<_>, Error>>();
    let mut ways = vec![proportional?];
    for owner in 0..networks.len() {
        let of = |network: usize| with_part(&|bytes| if network == owner { bytes } else { 0 });
        ways.push((0..networks.len()).map(of).collect::<Result<_, Error>>()?);
    }
    Ok(ways)
}
