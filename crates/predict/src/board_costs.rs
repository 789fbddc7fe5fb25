//! What a board's documents and measurements say of moving values and of power.

use millstream_board::{Board, Link, ProcessorClass};
use millstream_cost::{BlockedEnd, CostTable, HandOver, LinkCost, MemoryAccess, TransferModel};

use crate::context::ASSUMED_HAND_OVER;
use crate::power::ClusterPower;
use crate::transfer::ClusterTransfer;

/// Adds transfers and power to a table.
pub(crate) fn add_board_costs(
    table: &mut CostTable,
    board: &Board,
    transfers: &[ClusterTransfer],
    power: &[ClusterPower],
) {
    for from in table.class_ids() {
        if let Some(access) = memory_access(board, transfers, &table.classes()[from.index()].cluster) {
            table.set_access(from, access);
        }
        for to in table.class_ids() {
            let taken_over = table.hand_over_model(to);
            let [sender, receiver] = [from, to].map(|processor| table.classes()[processor.index()].cluster.as_str());
            let known = way(board, transfers, (sender, receiver));
            let model = transfer_model(board, transfers, (sender, receiver), known, taken_over);
            let link = known.filter(|_| board.accelerator(sender).is_none()).map(link_cost);
            table.set_transfer(from, to, model);
            link.into_iter().for_each(|link| table.set_link(from, to, link));
        }
        let class = table.classes()[from.index()].clone();
        if let Some(watts) = class_power(board, power, &class) {
            table.set_power(from, watts);
        }
    }
}

/// What is known of the way from one cluster or accelerator to another.
#[derive(Debug, Clone, Copy)]
struct Way {
    model: TransferModel,
    /// Whether the board's file says so, rather than a measurement.
    is_link: bool,
}

/// The way from one cluster or accelerator to another: what the board says of the link, else what was measured.
fn way(board: &Board, transfers: &[ClusterTransfer], (sender, receiver): (&str, &str)) -> Option<Way> {
    let link = board.links().iter().find(|link| link.from == sender && link.to == receiver);
    let of_link = |link: &Link| Way {
        model: TransferModel {
            latency_seconds: link.latency_seconds,
            seconds_per_byte: 1.0 / link.bytes_per_second,
            conversion_seconds_per_byte: 0.0,
            blocks: link.blocks,
        },
        is_link: true,
    };
    let measured = || transfers.iter().find(|pair| pair.from == sender && pair.to == receiver);
    link.map(of_link).or_else(|| measured().map(|pair| Way { model: pair.model, is_link: false }))
}

/// What stages pay for a way between them that starts at cores. An accelerator's stage brings its results to where
/// everybody can read them, so the stage that takes over from it pays nothing more.
fn link_cost(Way { model, is_link }: Way) -> LinkCost {
    LinkCost {
        hand_over: hand_over(&model),
        // What a link carries it carries for one, but processors that share memory use it at the same time.
        occupied_seconds_per_byte: if is_link { model.seconds_per_byte } else { 0.0 },
    }
}

fn hand_over(model: &TransferModel) -> HandOver {
    HandOver {
        seconds: model.latency_seconds,
        seconds_per_byte: model.seconds_per_byte + model.conversion_seconds_per_byte,
    }
}

/// What it takes until a value is there on another processor of a team. `taken_over` is what the receiver pays for
/// values from elsewhere, and `known` the way between the two.
fn transfer_model(
    board: &Board,
    transfers: &[ClusterTransfer],
    (sender, receiver): (&str, &str),
    known: Option<Way>,
    taken_over: HandOver,
) -> TransferModel {
    let is_link = known.is_some_and(|way| way.is_link);
    let known = known.map(|way| way.model);
    let is_core = |label: &str| board.cluster(label).is_ok();
    let any = |is_wanted: &dyn Fn(&str, &str) -> bool| {
        let measured = transfers.iter().map(|pair| (pair.from.as_str(), pair.to.as_str()));
        let mut pairs = measured.chain(board.links().iter().map(|link| (link.from.as_str(), link.to.as_str())));
        let pair = pairs.find(|(from, to)| is_wanted(from, to))?;
        way(board, transfers, pair).map(|way| way.model)
    };

    match (is_core(sender), is_core(receiver)) {
        // What a value from elsewhere costs cores is the reader's time: another segment begins there, and brings the
        // value into its own layout. That is what taking over a frame's values costs between stages.
        (true, true) => {
            let HandOver { seconds, seconds_per_byte } = taken_over;
            let mut model = known.unwrap_or_default();
            model.latency_seconds += seconds;
            model.conversion_seconds_per_byte += seconds_per_byte;
            // Reading from a memory that is shared is the reader's work; a link says itself whom it blocks.
            TransferModel { blocks: if is_link { model.blocks } else { Some(BlockedEnd::Receiver) }, ..model }
        }
        _ if is_link => known.unwrap_or_default(),
        // Whoever drives an accelerator waits for its memory to be written or read.
        (_, false) => {
            let upload = any(&|from, to| to == receiver && is_core(from));
            TransferModel { blocks: Some(BlockedEnd::Receiver), ..upload.or(known).unwrap_or_default() }
        }
        (false, true) => {
            let download = any(&|from, to| from == sender && is_core(to));
            TransferModel { blocks: Some(BlockedEnd::Sender), ..download.or(known).unwrap_or_default() }
        }
    }
}

/// What moving values into and out of an accelerator's memory takes, from and to the cores for which that takes
/// longest. Where neither links nor measurements say it, it is assumed to be what any stage pays.
fn memory_access(board: &Board, transfers: &[ClusterTransfer], label: &str) -> Option<MemoryAccess> {
    board.accelerator(label)?;
    let slowest = |pair: &dyn Fn(&str) -> Option<TransferModel>| {
        let ways = board.clusters().iter().filter_map(|cluster| pair(&cluster.label));
        let slowest = ways.max_by(|one, other| one.seconds(WEIGHED_BYTES).total_cmp(&other.seconds(WEIGHED_BYTES)));
        slowest.as_ref().map_or(ASSUMED_HAND_OVER, hand_over)
    };
    let upload = slowest(&|cluster| way(board, transfers, (cluster, label)).map(|way| way.model));
    let download = slowest(&|cluster| way(board, transfers, (label, cluster)).map(|way| way.model));
    Some(MemoryAccess { upload, download })
}

/// Ways are compared by what they take for a value of this size: an ordinary feature map.
const WEIGHED_BYTES: u64 = 1 << 18;

/// Power of a class when it works and when it is idle, at its cluster's highest operating point with a known voltage,
/// or at an accelerator's clock.
fn class_power(
    board: &Board,
    power: &[ClusterPower],
    class: &ProcessorClass,
) -> Option<millstream_cost::ProcessorPower> {
    let known = power.iter().find(|known| known.cluster == class.cluster)?;
    let (volts, hertz, share) = match board.accelerator(&class.cluster) {
        Some(accelerator) => (accelerator.volts?, accelerator.hertz?, 1.0),
        None => {
            let cluster = board.cluster(&class.cluster).ok()?;
            let point = cluster.operating_points.iter().rev().find(|point| point.volts.is_some())?;
            // The model is of the whole cluster: a part of its cores is a part of its utilisation and of its leakage.
            (point.volts?, point.hertz, class.count as f64 / cluster.cores.len().max(1) as f64)
        }
    };
    let idle_watts = share * known.model.watts(volts, hertz as f64, 0.0);
    let active_watts = share * known.model.watts(volts, hertz as f64, 1.0);
    Some(millstream_cost::ProcessorPower { active_watts, idle_watts, origin: known.origin })
}
