//! Figures 8 and 9: where two and three stages are best cut.

use millstream_report::{Align, Table};

use super::hikey::{HiKey, NETWORKS, Network};
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::pipe_it::hikey::layers;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Where the best cut lies in print (section IV-A), as a part of the layers; for the first and the last of the networks
/// only.
const RATIOS: [(&str, f64); 2] = [("AlexNet", 0.90), ("GoogLeNet", 0.60)];
/// ResNet50 as B4-s2-s2: the last layers of the first two stages, the throughput, and what is gained over two stages.
const CUTS: [usize; 2] = [33, 45];
const FRAMES_PER_SECOND: f64 = 5.6;
const GAIN: f64 = 0.07;
const DATA: &str = "its last layers are small in multiply-accumulates and move much data, which shares by multiply-accumulates do not show: they are cut off \
                    too early";
const ONE_LAYER: &str =
    "one layer earlier: times of layers are not printed, and ours are shares by multiply-accumulates";
const OTHER: &str = "table IV prints 5.2 for the same stages with nearly the same cuts";
const TWO: &str = "the throughput with two stages is not printed; by the line through the printed throughputs, pairs of small cores are used better than all four";

/// A network whose layers are cut into stages of the whole big cluster and parts of the small one.
struct Cuts {
    /// Work up to each layer, as a part of the whole.
    until: Vec<f64>,
    seconds: [[f64; 4]; 2],
}

impl Cuts {
    fn of(network: &Network) -> Result<Self, ReproduceError> {
        let board = HiKey::new(4, 4)?;
        let layers = layers(millstream_zoo::build(network.model)?.graph());
        let (_, shares) = board.problem(network, &layers)?;
        let mut until = vec![0.0];
        for share in shares {
            until.push(until.last().copied().unwrap_or(0.0) + share);
        }
        let seconds = board.scaling(network).map(|scaling| [1, 2, 3, 4].map(|cores| scaling.seconds(cores)));
        Ok(Self { until, seconds })
    }

    fn layers(&self) -> usize {
        self.until.len() - 1
    }

    /// Frames per second with stages on so many cores of a cluster (0 the big one) that end with these layers, the last
    /// with the network.
    fn rate(&self, stages: &[(usize, usize)], ends: &[usize]) -> f64 {
        let mut start = 0;
        let ends = ends.iter().copied().chain([self.layers()]);
        let times = stages.iter().zip(ends).map(|(&(cluster, cores), end)| {
            let share = self.until[end] - self.until[start];
            start = end;
            share * self.seconds[cluster][cores - 1]
        });
        1.0 / times.fold(0.0, f64::max)
    }

    /// The best cut into two stages, B4-s4.
    fn two(&self) -> (f64, usize) {
        let cuts = (1..self.layers()).map(|end| (self.rate(&[(0, 4), (1, 4)], &[end]), end));
        cuts.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::NAN, 0))
    }

    /// The best cuts into three stages, B4-s2-s2.
    fn three(&self) -> (f64, [usize; 2]) {
        let last = self.layers();
        let pairs = (1..last).flat_map(|first| (first + 1..last).map(move |second| [first, second]));
        let cuts = pairs.map(|ends| (self.rate(&[(0, 4), (1, 2), (1, 2)], &ends), ends));
        cuts.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::NAN, [0; 2]))
    }
}

pub(super) fn two_stages() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("layers", Align::Right),
        ("best cut after", Align::Right),
        ("part of the layers", Align::Right),
        ("paper's", Align::Right),
        ("frames/s", Align::Right),
    ]);

    let mut claims = Vec::new();
    for network in &NETWORKS {
        let cuts = Cuts::of(network)?;
        let (rate, end) = cuts.two();
        let ratio = end as f64 / cuts.layers() as f64;
        let printed = RATIOS.iter().find(|(name, _)| *name == network.name).map(|(_, ratio)| *ratio);
        table.row([
            network.name.to_owned(),
            cuts.layers().to_string(),
            end.to_string(),
            format!("{ratio:.2}"),
            printed.map_or("-".to_owned(), |printed| format!("{printed:.2}")),
            format!("{rate:.1}"),
        ]);
        claims.extend(
            printed.map(|printed| Claim::number(format!("best cut of {}", network.name), ratio, printed).because(DATA)),
        );
    }

    Ok(Section {
        item: PaperItem::Figure(8),
        about: "where B4-s4 is best cut".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec!["The paper prints the two ends of the range of these cuts; every cut is tried.".to_owned()],
        claims,
    })
}

pub(super) fn three_stages() -> Result<Section, ReproduceError> {
    let mut table =
        Table::new([("ResNet50, B4-s2-s2", Align::Left), ("ours", Align::Right), ("paper's", Align::Right)]);
    let Some(network) = NETWORKS.iter().find(|network| network.name == "ResNet50") else { unreachable!("it is there") };
    let cuts = Cuts::of(network)?;
    let ((two, _), (three, ends)) = (cuts.two(), cuts.three());
    let gain = three / two - 1.0;
    let row = |what: &str, ours: String, paper: String| [what.to_owned(), ours, paper];
    table.row(row("first stage ends with layer", ends[0].to_string(), CUTS[0].to_string()));
    table.row(row("second stage ends with layer", ends[1].to_string(), CUTS[1].to_string()));
    table.row(row("frames/s", format!("{three:.1}"), FRAMES_PER_SECOND.to_string()));
    let part = |gain: f64| format!("{:.0} %", 100.0 * gain);
    table.row(row("more than with two stages", part(gain), part(GAIN)));
    let end = |which: &str, place: usize| {
        Claim::count(format!("last layer of ResNet50's {which} stage"), ends[place], CUTS[place])
    };
    Ok(Section {
        item: PaperItem::Figure(9),
        about: "where three stages of ResNet50 are best cut".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: Vec::new(),
        claims: vec![
            end("first", 0),
            end("second", 1).because(ONE_LAYER),
            Claim::number("frames/s of ResNet50 with three stages", three, FRAMES_PER_SECOND).because(OTHER),
            Claim::number("what three stages gain over two, ResNet50", gain, GAIN).because(TWO),
        ],
    })
}
