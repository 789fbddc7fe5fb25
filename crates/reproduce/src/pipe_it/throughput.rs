//! Tables IV and VII: throughputs of single clusters, of what Pipe-it's search finds here, and of the exact search.

use millstream_pipeline::{PipeIt, Plan, Problem, Search, ShortestPeriod};
use millstream_report::{Align, Table};

use super::hikey::{HiKey, NETWORKS, Network};
use super::printed::{PREDICTED, allocation};
use crate::claim::Claim;
use crate::evidence::{ClaimTolerance, Evidence};
use crate::paper::ReproduceError;
use crate::pipe_it::hikey::layers;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Table VII: the pipeline, without its layers, and its throughput on 3 + 2 cores.
const SMALLER: [(&str, f64); 5] = [("B3-s2", 5.8), ("B3-s2", 7.4), ("B3-s2", 15.3), ("B3-s1-s1", 3.7), ("B3-s2", 13.5)];

fn found(problem: &Problem, plan: &Plan) -> (String, f64) {
    (problem.schedule(plan).to_string(), 1.0 / plan.period.seconds())
}

fn rate(frames_per_second: f64) -> String {
    format!("{frames_per_second:.1}")
}

/// What is computed and printed for a network on a board.
struct Row {
    network: &'static Network,
    /// The clusters alone, as printed.
    alone: [f64; 2],
    /// How far the calibrated costs are off these, at most.
    off: f64,
    /// The printed pipeline, with its layers where these are printed, and without; and its throughput.
    printed: (String, String, f64),
    /// Pipe-it here, the exact search without and with replicas.
    found: [(String, f64); 3],
}

impl Row {
    fn of(index: usize, board: &HiKey, big: usize, small: usize) -> Result<Self, ReproduceError> {
        let network = &NETWORKS[index];
        let is_whole = big == 4;
        let (problem, _) = board.problem(network, &layers(millstream_zoo::build(network.model)?.graph()))?;
        let alone = if is_whole { [network.big[0], network.small[0]] } else { [network.big[1], network.small[1]] };
        let ours =
            board.scaling(network).into_iter().zip([big, small]).map(|(scaling, cores)| 1.0 / scaling.seconds(cores));
        let off = ours.zip(alone).map(|(ours, printed)| (ours / printed - 1.0).abs()).fold(0.0, f64::max);
        let (heuristic, exact) =
            (found(&problem, &PipeIt.search(&problem)?), found(&problem, &ShortestPeriod.search(&problem)?));
        let single = problem.without_replicas();
        let single = found(&single, &ShortestPeriod.search(&single)?);
        let (smaller, rate) = SMALLER[index];
        Ok(Self {
            network,
            alone,
            off,
            printed: if is_whole {
                let printed = &PREDICTED[index];
                (allocation(printed), printed.configuration(), printed.frames_per_second)
            } else {
                (smaller.to_owned(), smaller.to_owned(), rate)
            },
            found: [heuristic, single, exact],
        })
    }

    fn cells(&self) -> Vec<String> {
        let [big, small] = self.alone.map(rate);
        let (shown, _, printed) = &self.printed;
        let mut cells = vec![self.network.name.to_owned(), big, small, shown.clone(), rate(*printed)];
        cells.extend(self.found.iter().flat_map(|(stages, throughput)| [stages.clone(), rate(*throughput)]));
        cells.push(format!("{:.2}", self.found[0].1 / self.found[1].1));
        cells
    }

    /// What Pipe-it finds here, beside what it found there.
    fn claims(&self, table: &str) -> [Claim; 2] {
        let [(stages, frames_per_second), ..] = &self.found;
        let (_, printed, printed_rate) = &self.printed;
        let name = self.network.name;
        let choice = Claim::choice(format!("Pipe-it's stages for {name}, table {table}"), stages, printed);
        let reached =
            Claim::number(format!("Pipe-it's frames/s for {name}, table {table}"), *frames_per_second, *printed_rate);
        [choice.because(other_stages(name, table)), reached.because(other_rate(name, table))]
    }

    /// By how much Pipe-it here is better than the big cluster alone.
    fn benefit(&self) -> f64 {
        self.found[0].1 / self.alone[0] - 1.0
    }
}

const EMPTY: &str = "SqueezeNet's last layer takes one small core as long as all others take the big cluster: stages of small cores stay empty, and \
                     empty stages are not merged";
const SHARES: &str = "the search depends on times of layers for every number of cores, which are not printed; ours are shares by multiply-accumulates, \
                      with the same gain from cores for every layer";
const FEW_CORES: &str = "by a line through the printed throughputs of clusters, single cores are used better than the paper's pipelines say";

/// Why the search finds other stages here.
fn other_stages(network: &str, table: &str) -> Option<&'static str> {
    match (network, table) {
        ("SqueezeNet", "IV") => Some(EMPTY),
        ("GoogLeNet" | "MobileNet" | "ResNet50", _) => Some(SHARES),
        _ => None,
    }
}

/// Why what it finds is faster or slower.
fn other_rate(network: &str, table: &str) -> Option<&'static str> {
    match (network, table) {
        ("SqueezeNet", "IV") => Some(EMPTY),
        ("MobileNet", "IV") => Some(SHARES),
        ("ResNet50", _) => Some(FEW_CORES),
        _ => None,
    }
}

/// Tables IV and VII: clusters alone, Pipe-it's search here, and the exact search.
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
    let (number, name, benefit) = if big == 4 { (4, "IV", 0.392) } else { (7, "VII", 0.155) };
    let rows: Vec<Row> =
        (0..NETWORKS.len()).map(|index| Row::of(index, &board, big, small)).collect::<Result<_, _>>()?;
    rows.iter().for_each(|row| table.row(row.cells()));

    let off = rows.iter().map(|row| row.off).fold(0.0, f64::max);
    let ours = rows.iter().map(|row| row.benefit()).sum::<f64>() / rows.len() as f64;
    let mut claims: Vec<Claim> = rows.iter().flat_map(|row| row.claims(name)).collect();
    let mean = Claim::number(format!("mean benefit of Pipe-it over the big cluster, table {name}"), ours, benefit);
    claims.push(mean.because(if big == 4 { EMPTY } else { FEW_CORES }));
    let met = Claim::range(format!("largest difference of clusters alone, table {name}"), off, [0.0, 1e-9]);
    claims.push(met.within(ClaimTolerance::Exact).only(Evidence::Input));

    Ok(Section {
        item: PaperItem::Table(number),
        about: format!("throughput on {big} big and {small} small cores"),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "The columns of single clusters are inputs of the calibration (see table 5). Where the line says that few cores are used better than \
             many, the exact search prefers stages of few cores and replicas of them, which the paper's pipelines do not have; the column before \
             is exact among pipelines like the paper's."
                .to_owned(),
        ],
        claims,
    })
}
