//! Figures 10, 12 and 13: Khadas VIM3 with costs calibrated to what others measured on it.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, ProcessorIndex};
use millstream_graph::Graph;
use millstream_mapping::{CoarseIlp, ExactMapper, Limits, Mapper, STEPS_PER_SECOND, compose};
use millstream_partition::{Chain, subgraphs};
use millstream_pipeline::{ParaPipe, Plan, Problem, Search, Strategy, best_period};
use millstream_predict::CostModels;
use millstream_report::{Align, BarChart, Table};

use super::{NETWORKS, Network};
use crate::{Claim, Figure, Kind, ReproduceError, Section};

const BOARD: &str = include_str!("../../../../fixtures/boards/khadas-vim3.json");
const COSTS: &str = include_str!("../../../../fixtures/costs/khadas-vim3.json");
/// Networks of the figures that are shown: the paper's without the transformers, which ARM-CL does not run.
const SHOWN: [&str; 3] = ["googlenet", "inception-v3", "inception-v4"];
/// Ratios beyond this are not to be expected of three processors.
const MOST: f64 = 4.0;
const STEPS: u64 = 20 * STEPS_PER_SECOND;

fn class(cluster: &str, count: usize) -> ProcessorClass {
    ProcessorClass { cluster: cluster.into(), count }
}

/// The big cluster, the small one, and the GPU.
fn processors() -> [ProcessorClass; 3] {
    [class("B", 4), class("s", 2), class("G", 1)]
}

struct Case {
    network: &'static Network,
    problem: Problem,
    graph: std::sync::Arc<Graph>,
    table: CostTable,
}

impl Case {
    fn of(network: &'static Network) -> Result<Self, ReproduceError> {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let chain = Chain::of(graph);
        let board = Board::from_json(BOARD)?;
        let table = CostModels::from_json(COSTS)?.table(&board, model.digest(), graph, &chain)?;
        let problem = Problem::with_teams(graph, &chain, &board, &table, &ParaPipe::teams(&processors()))?;
        Ok(Self { network, problem, graph: std::sync::Arc::clone(graph), table })
    }

    fn choose(&self, processors: Vec<ProcessorClass>, strategy: Strategy) -> Result<Plan, ReproduceError> {
        Ok(ParaPipe { processors, strategy }.search(&self.problem)?)
    }
}

/// Frames per joule; not a number where power is not known.
fn frames_per_joule(plan: &Plan) -> f64 {
    plan.energy.map_or(f64::NAN, |energy| 1.0 / energy.joules())
}

pub(super) fn figures() -> Result<(Vec<Section>, Vec<Figure>), ReproduceError> {
    let shown = NETWORKS.iter().filter(|network| SHOWN.contains(&network.model));
    let cases: Vec<Case> = shown.map(Case::of).collect::<Result<_, _>>()?;
    let (strategies, chart) = strategies(&cases)?;
    let (together, other_chart) = together(&cases)?;
    Ok((vec![strategies, together, granularities(&cases)?], vec![chart, other_chart]))
}

const ASSUMPTIONS: &str = "Costs: fixtures/costs/khadas-vim3.json, calibrated to measurements of the big cluster; the small cluster, the GPU, copies and \
                           power follow from similar boards or are assumed, as fixtures/measurements/khadas-vim3.json says. So only orders are held to.";

/// Figure 10.
fn strategies(cases: &[Case]) -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
        ("frames/J / para-only", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    let names = ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"];
    for case in cases {
        let plans: Vec<Plan> = Strategy::ALL
            .into_iter()
            .map(|strategy| case.choose(processors().to_vec(), strategy))
            .collect::<Result<_, _>>()?;
        let exact = best_period(&case.problem)?;
        let [pipe, para, quick, fast, _] = plans.as_slice() else { continue };
        let throughput = |plan: &Plan| para.period.seconds() / plan.period.seconds();
        let latency = |plan: &Plan| plan.latency.seconds() / para.latency.seconds();
        let efficiency = |plan: &Plan| frames_per_joule(plan) / frames_per_joule(para);
        for (name, plan) in names.into_iter().zip(&plans).chain([("exact, throughput", &exact)]) {
            table.row([
                case.network.name.to_owned(),
                name.to_owned(),
                plan.configuration(),
                format!("{:.2}", latency(plan)),
                format!("{:.2}", throughput(plan)),
                format!("{:.2}", efficiency(plan)),
            ]);
        }
        groups.push((case.network.name.to_owned(), plans.iter().map(efficiency).collect()));
        let mut claim = |what: &str, ours: f64, paper: [f64; 2]| {
            claims.push(Claim { what: format!("{what}, {}", case.network.name), ours, paper, tolerance: 0.0 });
        };
        claim("latency of pipe-only over para-only", latency(pipe), [1.0, MOST]);
        claim("throughput of pipe-only over para-only", throughput(pipe), [1.0, MOST]);
        claim("latency of hybrid-L over pipe-only", latency(quick) / latency(pipe), [0.0, 1.0]);
        claim("latency of hybrid-L over hybrid-T", latency(quick) / latency(fast), [0.0, 1.0]);
        claim("throughput of hybrid-L over para-only", throughput(quick), [1.0, MOST]);
        claim("throughput of hybrid-T over para-only", throughput(fast), [1.0, MOST]);
        claim("frames per joule of pipe-only over para-only", efficiency(pipe), [1.0, MOST]);
        claim("frames per joule of hybrid-L over para-only", efficiency(quick), [1.0, MOST]);
        claim("frames per joule of hybrid-T over para-only", efficiency(fast), [1.0, MOST]);
        claim("throughput of the exact search over hybrid-T", throughput(&exact) / throughput(fast), [1.0, MOST]);
    }
    let chart = BarChart {
        title: "Frames per joule over para-only, on a big cluster, a small one and a GPU (figure 10)",
        label: "frames/J / para-only",
        series: names.map(str::to_owned).to_vec(),
        groups,
    };
    let figure = Figure { file: "para-pipe-figure-10.svg".to_owned(), svg: chart.to_svg()? };
    let section = Section {
        title: "Figure 10: Para-Pipe's choices on Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "The paper's means, over para-only: pipe-only has 113.8 % more latency and 36 % more throughput, hybrid-L and hybrid-T have 16.7 % and 23.3 % more \
             frames per joule, pipe-only 12.2 %. Here pipe-only has as many frames per joule as hybrids or more, which is not the paper's order: the \
             idle power of processors that wait, which it pays for, is not known and so not in these costs."
                .to_owned(),
            ASSUMPTIONS.to_owned(),
        ],
        claims,
    };
    Ok((section, figure))
}

/// Figure 12.
fn together(cases: &[Case]) -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processors", Align::Left),
        ("latency / big cluster", Align::Right),
        ("frames/J / big cluster", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    let [big, small, gpu] = processors();
    let sets = [
        ("both clusters", vec![big.clone(), small.clone()]),
        ("big cluster and GPU", vec![big.clone(), gpu.clone()]),
        ("both clusters and GPU", vec![big.clone(), small, gpu]),
    ];
    // Latencies and efficiencies of each set of processors, network by network.
    let mut means: [(Vec<f64>, Vec<f64>); 3] = Default::default();
    for case in cases {
        let alone = case.choose(vec![big.clone()], Strategy::ParaOnly)?;
        let mut bars = Vec::new();
        for (place, (name, processors)) in sets.iter().enumerate() {
            let plan = case.choose(processors.clone(), Strategy::ParaOnly)?;
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
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    for ((name, _), (latencies, efficiencies)) in sets.iter().zip(&means) {
        let what = format!("mean latency on {name} over the big cluster");
        claims.push(Claim { what, ours: mean(latencies), paper: [0.0, 1.0], tolerance: 0.0 });
        let what = format!("mean frames per joule on {name} over the big cluster");
        claims.push(Claim { what, ours: mean(efficiencies), paper: [1.0, MOST], tolerance: 0.0 });
    }
    let chart = BarChart {
        title: "Latency of one frame over that on the big cluster alone (figure 12)",
        label: "latency / big cluster",
        series: sets.iter().map(|(name, _)| (*name).to_owned()).collect(),
        groups,
    };
    let figure = Figure { file: "para-pipe-figure-12.svg".to_owned(), svg: chart.to_svg()? };
    let section = Section {
        title: "Figure 12: one frame on several processors of Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "The paper's means: 16.4 % less latency on both clusters, little less with the GPU as well; 14.2 %, 17.6 % and 31.3 % more frames per joule."
                .to_owned(),
            ASSUMPTIONS.to_owned(),
        ],
        claims,
    };
    Ok((section, figure))
}

/// Figure 13: only what computation gives; what threads cost to start and to synchronise is the paper's runtime's.
fn granularities(cases: &[Case]) -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processors", Align::Left),
        ("coarse ms", Align::Right),
        ("fine ms", Align::Right),
        ("fine / coarse", Align::Right),
    ]);
    let mut claims = Vec::new();
    let [big, small, gpu] = processors();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for case in cases {
        let parts = subgraphs(&case.graph);
        for (name, set) in [("both clusters", [&big, &small]), ("big cluster and GPU", [&big, &gpu])] {
            let places: Option<Vec<ProcessorIndex>> = set.into_iter().map(|class| case.table.find(class)).collect();
            let Some(places) = places else { continue };
            let with = |mapper: &(dyn Mapper + Sync)| {
                let limits = Limits { steps: STEPS, gap: 0.01, ..Limits::default() };
                compose(&case.graph, &parts, &case.table, &places, mapper, &limits, threads)
            };
            let [coarse, fine] = [with(&CoarseIlp)?.makespan.seconds(), with(&ExactMapper)?.makespan.seconds()];
            table.row([
                case.network.name.to_owned(),
                name.to_owned(),
                format!("{:.1}", 1e3 * coarse),
                format!("{:.1}", 1e3 * fine),
                format!("{:.3}", fine / coarse),
            ]);
            let what = format!("fine over coarse mapping on {name}, {}", case.network.name);
            claims.push(Claim { what, ours: fine / coarse, paper: [0.0, 1.0], tolerance: 0.01 });
        }
    }
    Ok(Section {
        title: "Figure 13: fine and coarse mapping on Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![
            "On both clusters the paper gains 3.35 % latency on average by mapping single operators; with the GPU it loses more to synchronisation (21.7 %) than \
             it gains. What synchronisation costs beyond copies is of its runtime and not in these costs: these are the times of computation and copies."
                .to_owned(),
        ],
        claims,
    })
}
