//! Tables V and VI: what the printed pipelines reach under the calibrated costs.

use millstream_report::{Align, Table, percent};

use super::hikey::{HiKey, NETWORKS, Network};
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::pipe_it::hikey::layers;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// A printed pipeline: cluster, cores and last layer of each stage; and its throughput in frames per second.
pub(super) struct Printed {
    pub(super) stages: &'static [(char, usize, usize)],
    pub(super) frames_per_second: f64,
}

impl Printed {
    /// As in the tables, without the layers.
    pub(super) fn configuration(&self) -> String {
        let stages = self.stages.iter().map(|(cluster, cores, _)| format!("{cluster}{cores}"));
        stages.collect::<Vec<_>>().join("-")
    }
}

const fn printed(stages: &'static [(char, usize, usize)], frames_per_second: f64) -> Printed {
    Printed { stages, frames_per_second }
}

/// Table V with the fourth column of table IV: searched with predicted layer times.
pub(super) const PREDICTED: [Printed; 5] = [
    printed(&[('B', 4, 9), ('s', 4, 11)], 8.9),
    printed(&[('B', 4, 29), ('s', 2, 41), ('s', 1, 45), ('s', 1, 58)], 11.3),
    printed(&[('B', 2, 11), ('B', 2, 21), ('s', 3, 26), ('s', 1, 28)], 23.5),
    printed(&[('B', 4, 35), ('s', 2, 44), ('s', 2, 54)], 5.2),
    printed(&[('B', 4, 16), ('s', 4, 26)], 21.4),
];

/// Table VI with the third column of table IV: searched with measured layer times.
const MEASURED: [Printed; 5] = [
    printed(&[('B', 4, 9), ('s', 4, 11)], 8.9),
    printed(&[('B', 4, 25), ('s', 2, 39), ('s', 1, 44), ('s', 1, 58)], 11.8),
    printed(&[('B', 2, 11), ('B', 2, 19), ('s', 3, 26), ('s', 1, 28)], 24.0),
    printed(&[('B', 2, 16), ('B', 2, 34), ('s', 3, 47), ('s', 1, 54)], 5.5),
    printed(&[('B', 4, 19), ('s', 4, 26)], 21.4),
];

/// What each stage of a printed pipeline takes under the calibrated costs.
pub(super) fn stage_seconds(printed: &Printed, board: &HiKey, network: &Network, shares: &[f64]) -> Vec<f64> {
    let [big, small] = board.scaling(network);
    let mut start = 0;
    let seconds = printed.stages.iter().map(|&(cluster, cores, end)| {
        let share: f64 = shares[start..end].iter().sum();
        start = end;
        share * if cluster == 'B' { big } else { small }.seconds(cores)
    });
    seconds.collect()
}

/// Frames per second of a printed pipeline under the calibrated costs.
fn ours(printed: &Printed, board: &HiKey, network: &Network, shares: &[f64]) -> f64 {
    1.0 / stage_seconds(printed, board, network, shares).into_iter().fold(0.0, f64::max)
}

/// With the layers.
pub(super) fn allocation(printed: &Printed) -> String {
    let mut start = 1;
    let stages = printed.stages.iter().map(|&(cluster, cores, end)| {
        let text = format!("{cluster}{cores}[{start}-{end}]");
        start = end + 1;
        text
    });
    stages.collect::<Vec<_>>().join(" ")
}

/// Why a printed throughput is missed.
fn missing(network: &str, table: &str) -> Option<&'static str> {
    match (network, table) {
        ("GoogLeNet", "VI") => Some(
            "its last layers are small in multiply-accumulates and move much data, which shares by multiply-accumulates do not show",
        ),
        ("MobileNet", "VI") => Some(
            "a stage that both printed pipelines of MobileNet have is the slowest here, and times of its layers are not printed",
        ),
        ("SqueezeNet", "V") => Some(
            "the paper prints the same throughput for two cuts that lie three layers and a fifth of the work apart, which no fixed times of layers give",
        ),
        _ => None,
    }
}

/// Tables V and VI: what the printed pipelines reach under the calibrated costs.
pub(super) fn printed_pipelines() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("table", Align::Left),
        ("pipeline", Align::Left),
        ("frames/s", Align::Right),
        ("paper's", Align::Right),
        ("difference", Align::Right),
    ]);

    let board = HiKey::new(4, 4)?;
    let mut claims = Vec::new();
    for (index, network) in NETWORKS.iter().enumerate() {
        let layers = layers(millstream_zoo::build(network.model)?.graph());
        let (_, shares) = board.problem(network, &layers)?;
        for (name, printed) in [("V", &PREDICTED[index]), ("VI", &MEASURED[index])] {
            let ours = ours(printed, &board, network, &shares);
            let what = format!("{}'s pipeline of table {name}, frames/s", network.name);
            let claim = Claim::number(what, ours, printed.frames_per_second).because(missing(network.name, name));
            table.row([
                network.name.to_owned(),
                name.to_owned(),
                allocation(printed),
                format!("{ours:.1}"),
                printed.frames_per_second.to_string(),
                percent(claim.difference()),
            ]);
            // Table VI repeats AlexNet's pipeline.
            if name == "V" || printed.stages != PREDICTED[index].stages {
                claims.push(claim);
            }
        }
    }

    Ok(Section {
        item: PaperItem::Table(5),
        about: "the printed pipelines of tables V and VI".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "Calibration: a cluster's time for a network is a line over 1 / cores through what tables IV and VII print for it alone (four and three \
             big cores, four and two small ones); a layer takes its share of the network's multiply-accumulates of it. Nothing else is \
             fitted. GoogLeNet and AlexNet gain more than linearly from the third and fourth small core in print; there the time is taken as \
             shared evenly."
                .to_owned(),
        ],
        claims,
    })
}
