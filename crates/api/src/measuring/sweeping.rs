//! Profiling the networks of the sweep, from which models for all other networks are fitted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_board::Board;
use millstream_frames::FrameMaker;
use millstream_machine::PowerSensors;
use millstream_onnx::Model;
use millstream_partition::Chain;
use millstream_predict::samples::TransferSample;
use millstream_predict::{NetworkProfile, Profile};
use millstream_profile::{
    OperatorSettings, Workload, measure_accelerators, measure_operators, measure_power, measure_transfers,
    unsupported_operators,
};
use millstream_zoo::Sweep;

use crate::backends::Backends;
use crate::control::Control;
use crate::error::Error;
use crate::measuring::profiling::add_accelerator_transfers;

/// Time for one network of the sweep on all processors; preparing it comes on top.
const NETWORK_BUDGET: Duration = Duration::from_secs(4);
/// The same on each accelerator.
const ACCELERATORS_BUDGET: Duration = Duration::from_secs(1);

/// Measures hand-overs between clusters, their power where there are sensors, and networks of the sweep until the
/// budget is spent, at least one network in any case. What the profile has already is not measured again. Returns
/// whether it went on to the end: if not, somebody asked to stop.
pub(crate) fn add_sweep(
    profile: &mut Profile,
    board: &Board,
    budget: Duration,
    control: &Control,
) -> Result<bool, Error> {
    let begin = Instant::now();
    let total = seconds(budget).max(1);
    let mut countdown = control.seconds(format!("sweeping layer shapes on {}", board.name()), total);
    if !has_transfers_between_clusters(&profile.transfers, board) {
        profile.transfers.extend(measure_transfers(board)?);
    }
    if profile.power.is_empty()
        && let Some(sensors) = PowerSensors::detect()
    {
        profile.power = measure_power(board, &sensors)?;
    }

    let mut measured = 0;
    let mut longest = Duration::ZERO;
    for model in Sweep::new() {
        if measured > 0 && begin.elapsed() + longest > budget {
            break;
        }
        let start = Instant::now();
        let model = Arc::new(model?);
        if profile.network(model.digest()).is_some() {
            continue;
        }
        let tick = &mut || countdown.set(seconds(begin.elapsed()).min(total), total);
        let Some(network) = sweep_one(profile, &model, board, control, tick)? else { return Ok(false) };
        profile.networks.push(network);
        measured += 1;
        longest = longest.max(start.elapsed());
        tracing::info!(network = model.graph().name(), seconds = start.elapsed().as_secs_f64(), "swept");
    }
    Ok(true)
}

/// Whether it was measured what values take from one cluster to another; those to and from accelerators are measured
/// with networks.
fn has_transfers_between_clusters(transfers: &[TransferSample], board: &Board) -> bool {
    let is_cluster = |label: &str| board.accelerator(label).is_none();
    transfers.iter().any(|pair| is_cluster(&pair.from) && is_cluster(&pair.to))
}

/// Measures a network of the sweep; `None` if somebody asked to stop.
fn sweep_one(
    profile: &mut Profile,
    model: &Arc<Model>,
    board: &Board,
    control: &Control,
    tick: &mut dyn FnMut(),
) -> Result<Option<NetworkProfile>, Error> {
    let graph = model.graph();
    let chain = Chain::of(graph);
    let backends = Backends::open(board, model, Some(profile))?;
    let backend = &*backends.all;
    add_accelerator_transfers(profile, backend, board)?;
    let frame = FrameMaker::new(model).frame(0)?;
    let workload = Workload { graph, chain: &chain, backend, frame: &frame };

    let settings = OperatorSettings { budget: NETWORK_BUDGET, ..OperatorSettings::default() };
    let mut samples = measure_operators(&workload, board, &settings, &mut |_| {
        tick();
        !control.is_cancelled()
    })?;
    if !control.is_cancelled() {
        let go_on = &mut || !control.is_cancelled();
        samples.extend(measure_accelerators(&workload, board, ACCELERATORS_BUDGET, go_on)?);
    }
    if control.is_cancelled() {
        return Ok(None);
    }
    let mut network = NetworkProfile::new(model.digest(), graph, &chain);
    network.operator_samples = samples;
    network.unsupported = unsupported_operators(&workload, board);
    Ok(Some(network))
}

fn seconds(time: Duration) -> usize {
    usize::try_from(time.as_secs()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_predict::Statistics;

    use super::*;

    #[test]
    fn transfers_of_accelerators_do_not_stand_for_those_between_clusters() {
        let board = millstream_test_support::board("B2+s2:400+G[600]");
        let pair = |from: &str, to: &str| TransferSample {
            from: from.to_owned(),
            to: to.to_owned(),
            bytes: 1,
            time: Statistics::of(&[1e-6]).unwrap(),
        };
        assert!(!has_transfers_between_clusters(&[pair("B", "G"), pair("G", "s")], &board));
        assert!(has_transfers_between_clusters(&[pair("B", "G"), pair("B", "s")], &board));
    }
}
