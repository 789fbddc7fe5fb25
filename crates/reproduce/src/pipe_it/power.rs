//! Table VIII: power and frames per joule of single clusters and of pipelines.

use millstream_report::{Align, Table, percent};

use super::hikey::{HiKey, NETWORKS};
use super::printed::{PREDICTED, stage_seconds};
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::pipe_it::hikey::layers;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Watts of all big cores, of all small cores, and of the pipeline; then frames per joule.
const PRINTED: [([f64; 3], [f64; 3]); 5] = [
    ([3.8, 0.7, 5.1], [2.1, 2.1, 1.8]),
    ([4.6, 1.1, 6.6], [1.7, 3.1, 1.7]),
    ([4.2, 1.0, 5.9], [4.2, 6.6, 4.0]),
    ([4.0, 1.0, 6.5], [0.8, 1.5, 0.8]),
    ([4.9, 1.3, 6.9], [3.2, 5.5, 3.1]),
];
/// Cores of each cluster.
const CORES: f64 = 4.0;
const COHERENCE: &str = "in print, pipelines draw 11 to 30 % more than both clusters together at full load, which the paper puts down to memory traffic \
                         that keeps the clusters coherent; a model of processors does not have that, and counts on stages that wait drawing nothing";

const NOTE: &str = "Single clusters: printed frames per second over printed watts, which is the printed frames per joule by definition, so that nothing is \
                    counted. Pipelines of table V: each stage draws its share of its cluster's printed power for the part of the period in which it works.";

pub(super) fn section() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("big frames/J: ours", Align::Right),
        ("paper's", Align::Right),
        ("small frames/J: ours", Align::Right),
        ("paper's", Align::Right),
        ("pipeline W: ours", Align::Right),
        ("paper's", Align::Right),
        ("difference", Align::Right),
        ("pipeline frames/J: ours", Align::Right),
        ("paper's", Align::Right),
    ]);

    let board = HiKey::new(4, 4)?;
    let mut claims = Vec::new();
    for ((network, (watts, frames_per_joule)), pipeline) in NETWORKS.iter().zip(PRINTED).zip(&PREDICTED) {
        let layers = layers(millstream_zoo::build(network.model)?.graph());
        let (_, shares) = board.problem(network, &layers)?;
        let seconds = stage_seconds(pipeline, &board, network, &shares);
        let period = seconds.iter().copied().fold(0.0, f64::max);
        // Equation 8 of Para-Pipe with nothing but active power: a part of the cores is a part of it, as long as they
        // work.
        let stage_watts = |(&(cluster, cores, _), seconds): (&(char, usize, usize), &f64)| {
            watts[usize::from(cluster == 's')] * cores as f64 / CORES * seconds / period
        };
        let ours: f64 = pipeline.stages.iter().zip(&seconds).map(stage_watts).sum();
        let efficiency = 1.0 / (period * ours);
        let alone = [network.big[0] / watts[0], network.small[0] / watts[1]];

        table.row([
            network.name.to_owned(),
            format!("{:.2}", alone[0]),
            frames_per_joule[0].to_string(),
            format!("{:.2}", alone[1]),
            frames_per_joule[1].to_string(),
            format!("{ours:.1}"),
            watts[2].to_string(),
            percent(ours / watts[2] - 1.0),
            format!("{efficiency:.2}"),
            frames_per_joule[2].to_string(),
        ]);
        let name = network.name;
        let drawn = Claim::number(format!("{name}'s pipeline, watts"), ours, watts[2]);
        let gained = Claim::number(format!("{name}'s pipeline, frames per joule"), efficiency, frames_per_joule[2]);
        claims.extend([drawn.because(COHERENCE), gained.because(COHERENCE)]);
    }

    Ok(Section {
        item: PaperItem::Table(8),
        about: "power, and frames per joule".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![NOTE.to_owned()],
        claims,
    })
}
