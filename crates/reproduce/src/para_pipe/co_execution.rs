//! Figures 12 and 13: one frame on several processors of Khadas VIM3.

use millstream_cost::ClassId;
use millstream_mapping::{BoundedMapper, CoarseIlp, Mapper, MapperLimits, STEPS_PER_SECOND, compose};
use millstream_partition::subgraphs;
use millstream_pipeline::ParaPipeStrategy;
use millstream_report::{Align, BarChart, Table};

use super::trade_offs::{POWER, TIMES};
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::para_pipe::choices::{ASSUMPTIONS, Case, frames_per_joule, mean, processors};
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

const CLUSTERS: &str = "both clusters";
const STEPS: u64 = 20 * STEPS_PER_SECOND;
/// Means of section VII-F: how much less latency both clusters have than the big one.
const LESS_LATENCY: f64 = 0.164;
/// How many more frames per joule: both clusters, big cluster and GPU, both clusters and GPU.
const MORE_FRAMES_PER_JOULE: [f64; 3] = [0.142, 0.176, 0.313];
/// How much latency mapping single operators saves on both clusters, on average.
const FINE_SAVES: f64 = 0.0335;

/// Figure 12.
pub(super) fn together(cases: &[Case]) -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processors", Align::Left),
        ("latency / big cluster", Align::Right),
        ("frames/J / big cluster", Align::Right),
    ]);

    let mut groups = Vec::new();
    let [big, small, gpu] = processors();
    let sets = [
        (CLUSTERS, vec![big.clone(), small.clone()]),
        ("big cluster and GPU", vec![big.clone(), gpu.clone()]),
        ("both clusters and GPU", vec![big.clone(), small, gpu]),
    ];

    // Latencies and efficiencies of each set of processors, network by network.
    let mut means: [(Vec<f64>, Vec<f64>); 3] = Default::default();
    for case in cases {
        let alone = case.choose(vec![big.clone()], ParaPipeStrategy::ParaOnly)?;
        let mut bars = Vec::new();
        for (place, (name, processors)) in sets.iter().enumerate() {
            let plan = case.choose(processors.clone(), ParaPipeStrategy::ParaOnly)?;
            let latency = plan.latency.seconds() / alone.latency.seconds();
            let efficiency = frames_per_joule(&plan) / frames_per_joule(&alone);
            table.row([
                case.network.name.to_owned(),
                (*name).to_owned(),
                format!("{latency:.2}"),
                format!("{efficiency:.2}"),
            ]);
            bars.push(latency);
            means[place].0.push(latency);
            means[place].1.push(efficiency);
        }
        groups.push((case.network.name.to_owned(), bars));
    }

    let chart = BarChart {
        title: "Latency of one frame over that on the big cluster alone (figure 12)",
        label: "latency / big cluster",
        series: sets.iter().map(|(name, _)| (*name).to_owned()).collect(),
        groups,
    };
    let figure = Figure { file: "para-pipe-figure-12.svg".to_owned(), svg: chart.to_svg()? };

    let section = Section {
        item: PaperItem::Figure(12),
        about: "one frame on several processors of Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![ASSUMPTIONS.to_owned()],
        claims: claims(sets.each_ref().map(|(name, _)| *name), &means),
    };
    Ok((section, figure))
}

/// Of each set of processors, by its name: latencies and efficiencies over those of the big cluster, network by
/// network.
fn claims(sets: [&str; 3], means: &[(Vec<f64>, Vec<f64>); 3]) -> Vec<Claim> {
    let what = "how much less latency both clusters have than the big one, mean";
    let mut claims = vec![Claim::number(what, 1.0 - mean(&means[0].0), LESS_LATENCY)];
    for ((name, (_, efficiencies)), printed) in sets.into_iter().zip(means).zip(MORE_FRAMES_PER_JOULE) {
        let what = format!("how many more frames per joule {name} give than the big cluster, mean");
        claims.push(Claim::number(what, mean(efficiencies) - 1.0, printed).because(POWER));
    }
    claims
}

/// Figure 13: only what computation gives; what threads cost to start and to synchronise is the paper's runtime's.
pub(super) fn granularities(cases: &[Case]) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processors", Align::Left),
        ("coarse ms", Align::Right),
        ("fine ms", Align::Right),
        ("fine / coarse", Align::Right),
    ]);

    let mut saved = Vec::new();
    let [big, small, gpu] = processors();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for case in cases {
        let parts = subgraphs(&case.graph);
        for (name, set) in [(CLUSTERS, [&big, &small]), ("big cluster and GPU", [&big, &gpu])] {
            let places: Option<Vec<ClassId>> = set.into_iter().map(|class| case.table.find(class)).collect();
            let Some(places) = places else { continue };
            let with = |mapper: &(dyn Mapper + Sync)| {
                let limits = MapperLimits { steps: STEPS, gap: 0.01, ..MapperLimits::default() };
                compose(&case.graph, &parts, &case.table, &places, mapper, &limits, threads)
            };
            let [coarse, fine] = [with(&CoarseIlp)?.makespan.seconds(), with(&BoundedMapper)?.makespan.seconds()];
            table.row([
                case.network.name.to_owned(),
                name.to_owned(),
                format!("{:.1}", 1e3 * coarse),
                format!("{:.1}", 1e3 * fine),
                format!("{:.3}", fine / coarse),
            ]);
            if name == CLUSTERS {
                saved.push(1.0 - fine / coarse);
            }
        }
    }

    Ok(Section {
        item: PaperItem::Figure(13),
        about: "fine and coarse mapping on Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "Times of computation and copies: what threads cost to start and to synchronise is of the paper's runtime, by which it loses more with the GPU \
             (21.7 %) than it gains."
                .to_owned(),
        ],
        claims: vec![Claim::number("how much latency mapping single operators saves on both clusters, mean", mean(&saved), FINE_SAVES).because(TIMES)],
    })
}
