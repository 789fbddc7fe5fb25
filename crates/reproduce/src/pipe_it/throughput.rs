//! Tables IV to VII: throughputs of the printed pipelines, of Pipe-it's search here, and of the exact search.

use millstream_graph::{Graph, OperatorKind};
use millstream_pipeline::{PipeIt, Plan, Problem, Search, ShortestPeriod};
use millstream_report::{Align, Table, percent};

use super::hikey::{HiKey, NETWORKS, Network};
use crate::{Claim, Kind, ReproduceError, Section};

/// A printed pipeline: cluster, cores and last layer of each stage; and its throughput in frames per second.
pub(super) struct Printed {
    pub(super) stages: &'static [(char, usize, usize)],
    pub(super) frames_per_second: f64,
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

/// Table VII: the pipeline, without its layers, and its throughput on 3 + 2 cores.
const SMALLER: [(&str, f64); 5] = [("B3-s2", 5.8), ("B3-s2", 7.4), ("B3-s2", 15.3), ("B3-s1-s1", 3.7), ("B3-s2", 13.5)];

/// How far the printed throughputs of printed pipelines may be off in the median.
const MEDIAN: f64 = 0.15;

/// Multiply-accumulates of each layer; a convolution in two groups is two nodes in ARM-CL.
pub(super) fn layers(graph: &Graph) -> Vec<u64> {
    let nodes = |&id: &millstream_graph::OperatorId| {
        let operator = graph.operator(id);
        let nodes = match &operator.kind {
            OperatorKind::Convolution(convolution) if convolution.groups <= 2 => convolution.groups.max(1),
            OperatorKind::Convolution(_) | OperatorKind::FullyConnected => 1,
            _ => 0,
        };
        std::iter::repeat_n(operator.work.macs / nodes.max(1) as u64, nodes)
    };
    graph.order().iter().flat_map(nodes).collect()
}

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

fn configuration(printed: &Printed) -> String {
    let mut start = 1;
    let stages = printed.stages.iter().map(|&(cluster, cores, end)| {
        let text = format!("{cluster}{cores}[{start}-{end}]");
        start = end + 1;
        text
    });
    stages.collect::<Vec<_>>().join(" ")
}

fn found(problem: &Problem, plan: &Plan) -> (String, f64) {
    (problem.schedule(plan).to_string(), 1.0 / plan.period.seconds())
}

fn rate(frames_per_second: f64) -> String {
    format!("{frames_per_second:.1}")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).map_or(0.0, |&upper| f64::midpoint(upper, values[(values.len() - 1) / 2]))
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
    let mut differences = Vec::new();
    for (index, network) in NETWORKS.iter().enumerate() {
        let layers = layers(millstream_zoo::build(network.model)?.graph());
        let (_, shares) = board.problem(network, &layers)?;
        for (name, printed) in [("V", &PREDICTED[index]), ("VI", &MEASURED[index])] {
            let ours = ours(printed, &board, network, &shares);
            let difference = ours / printed.frames_per_second - 1.0;
            differences.push(difference.abs());
            table.row([
                network.name.to_owned(),
                name.to_owned(),
                configuration(printed),
                rate(ours),
                printed.frames_per_second.to_string(),
                percent(difference),
            ]);
        }
    }
    let claim = Claim {
        what: "median difference from the printed throughputs of the printed pipelines".to_owned(),
        ours: median(differences),
        paper: [0.0, MEDIAN],
        tolerance: 0.0,
    };
    Ok(Section {
        title: "Table 5: the printed pipelines of tables V and VI".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "Calibration: a cluster's time for a network is a line over 1 / cores through what tables IV and VII print for it alone (four and three \
             big cores, four and two small ones); a layer takes its share of the network's multiply-accumulates of it. Nothing else is \
             fitted. GoogLeNet and AlexNet gain more than linearly from the third and fourth small core in print; there the time is taken as \
             shared evenly."
                .to_owned(),
            "ResNet50's pipeline beats the sum of its clusters, 3.1 + 1.5, because two pairs of small cores give 1.0 each where four \
             together give 1.5. GoogLeNet's difference comes from its last layers: small in multiply-accumulates, they move much data, \
             which shares by multiply-accumulates do not show. For SqueezeNet the paper prints the same throughput for two cuts \
             that lie three layers and a fifth of the work apart, which no fixed times of layers can give: ours meets the one and misses the other."
                .to_owned(),
        ],
        claims: vec![claim],
    })
}

/// Tables IV and VII: alone, Pipe-it's search here, and the exact search.
pub(super) fn searches(big: usize, small: usize) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("big", Align::Right),
        ("small", Align::Right),
        ("paper's Pipe-it", Align::Left),
        ("frames/s", Align::Right),
        ("Pipe-it here", Align::Left),
        ("frames/s", Align::Right),
        ("exact, one replica", Align::Left),
        ("frames/s", Align::Right),
        ("exact", Align::Left),
        ("frames/s", Align::Right),
        ("Pipe-it / exact, one replica", Align::Right),
    ]);
    let board = HiKey::new(big, small)?;
    let is_whole = big == 4;
    let mut claims = Vec::new();
    for (index, network) in NETWORKS.iter().enumerate() {
        let layers = layers(millstream_zoo::build(network.model)?.graph());
        let (problem, _) = board.problem(network, &layers)?;
        let alone = board.scaling(network);
        let columns = if is_whole { [network.big[0], network.small[0]] } else { [network.big[1], network.small[1]] };
        for ((scaling, cores), (what, printed)) in
            alone.iter().zip([big, small]).zip(["big", "small"].into_iter().zip(columns))
        {
            claims.push(Claim {
                what: format!("{} on {cores} {what} cores", network.name),
                ours: 1.0 / scaling.seconds(cores),
                paper: [printed; 2],
                tolerance: 1e-9,
            });
        }
        let heuristic = found(&problem, &PipeIt.search(&problem)?);
        let exact = found(&problem, &ShortestPeriod.search(&problem)?);
        let single = problem.without_replicas();
        let single = found(&single, &ShortestPeriod.search(&single)?);
        let (paper, paper_rate) = if is_whole {
            (configuration(&PREDICTED[index]), PREDICTED[index].frames_per_second)
        } else {
            (SMALLER[index].0.to_owned(), SMALLER[index].1)
        };
        table.row([
            network.name.to_owned(),
            rate(columns[0]),
            rate(columns[1]),
            paper,
            rate(paper_rate),
            heuristic.0,
            rate(heuristic.1),
            single.0,
            rate(single.1),
            exact.0,
            rate(exact.1),
            format!("{:.2}", heuristic.1 / single.1),
        ]);
    }
    let number = if is_whole { 4 } else { 7 };
    Ok(Section {
        title: format!("Table {number}: throughput on {big} big and {small} small cores"),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "The columns of single clusters are met by calibration (see table 5). Where the line says that few cores are used better than many, the \
             exact search prefers stages of few cores and replicas of them, which the paper's pipelines do not have; the column before is exact \
             among pipelines like the paper's."
                .to_owned(),
        ],
        claims,
    })
}
