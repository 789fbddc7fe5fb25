//! Figure 11: Para-Pipe's choices among stage configurations, on an NPU and two DSPs.

use millstream_board::{Board, ProcessorClass};
use millstream_partition::{Chain, subgraphs};
use millstream_pipeline::{
    ParaPipe, PipelineError, Plan, Problem, Search, Strategy, best_period, para_pipe_points, pareto_front,
};
use millstream_report::{Align, BarChart, Table};

use super::{NETWORKS, Network, board};
use crate::{Claim, Figure, Kind, ReproduceError, Section};

/// The NPU and the DSPs as clusters of cores.
const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "an NPU and two DSPs", "clusters": [
    {"label": "N", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "D", "capacity": 300, "cores": [{"id": 1}, {"id": 2}]}]}"#;
/// Networks that are shown.
const SHOWN: [&str; 5] = ["googlenet", "inception-v3", "inception-v4", "petr-like", "bevformer-like"];
/// More throughput than this, relative to all processors in one stage, is not to be expected of three processors.
const MOST: f64 = 3.0;

/// What the strategies choose for a network.
struct Chosen {
    network: &'static Network,
    /// Pipelines that the enumeration goes through.
    points: u128,
    para: Plan,
    /// By name; a strategy may find nothing.
    plans: Vec<(&'static str, Option<Plan>)>,
    /// The number of the subgraph that each block ends in, from 1.
    subgraph_of: Vec<usize>,
}

impl Chosen {
    fn of(network: &'static Network) -> Result<Option<Self>, ReproduceError> {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let chain = Chain::of(graph);
        let (costs, _) = board(graph);
        let class = |cluster: &str| ProcessorClass { cluster: cluster.into(), count: 1 };
        let processors = vec![class("N"), class("D"), class("D")];
        let teams = ParaPipe::teams(&processors);
        let problem = Problem::with_teams(graph, &chain, &Board::from_json(BOARD)?, &costs, &teams)?;
        let parts = subgraphs(graph);
        let choose = |strategy| match (ParaPipe { processors: processors.clone(), strategy }).search(&problem) {
            Err(PipelineError::Infeasible) => Ok(None),
            other => other.map(Some),
        };
        let Some(para) = choose(Strategy::ParaOnly)? else { return Ok(None) };
        let names = ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"];
        let mut plans = Vec::new();
        for (name, strategy) in names.into_iter().zip(Strategy::ALL) {
            plans.push((name, choose(strategy)?));
        }
        plans.push(("exact, throughput", Some(best_period(&problem)?)));
        plans.push(("exact, latency", pareto_front(&problem)?.into_iter().next()));
        let last = |block: &millstream_partition::Block| {
            let place = |id| parts.iter().position(|part| part.operators().any(|own| own == id));
            block.operators.iter().filter_map(|&id| place(id)).max().map_or(0, |place| place + 1)
        };
        Ok(Some(Self {
            network,
            points: para_pipe_points(parts.len() as u64, processors.len() as u32),
            para,
            plans,
            subgraph_of: chain.blocks().iter().map(last).collect(),
        }))
    }

    fn plan(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|(other, _)| *other == name).and_then(|(_, plan)| plan.as_ref())
    }

    fn throughput(&self, plan: &Plan) -> f64 {
        self.para.period.seconds() / plan.period.seconds()
    }

    fn latency(&self, plan: &Plan) -> f64 {
        plan.latency.seconds() / self.para.latency.seconds()
    }

    /// The subgraphs of each stage, as table II prints them. A stage that ends within a subgraph shares it with the next.
    fn allocation(&self, plan: &Plan) -> String {
        let number = |block: usize| self.subgraph_of.get(block).copied().unwrap_or(0);
        let stages = plan.stages.iter().map(|stage| {
            let (first, last) = (number(stage.blocks.start), number(stage.blocks.end - 1));
            if first == last { format!("[{first}]") } else { format!("[{first},{last}]") }
        });
        stages.collect::<Vec<_>>().join(" - ")
    }
}

/// Table II: network, choice, stages, subgraphs.
const ALLOCATIONS: [(&str, &str, &str, &str); 8] = [
    ("googlenet", "hybrid-L", "NPU - 2DSPs", "[1,10] - [11]"),
    ("googlenet", "hybrid-T", "NPU - 2DSPs", "[1,9] - [10,11]"),
    ("inception-v4", "hybrid-L", "NPU+DSP - DSP", "[1,20] - [21]"),
    ("inception-v4", "hybrid-T", "DSP - NPU+DSP", "[1,3] - [4,21]"),
    ("petr-like", "hybrid-L", "NPU+DSP - DSP", "[1,17] - [18,24]"),
    ("petr-like", "hybrid-T", "NPU+DSP - DSP", "[1,15] - [16,24]"),
    ("bevformer-like", "hybrid-L", "NPU+DSP - DSP", "[1,23] - [24,25]"),
    ("bevformer-like", "hybrid-T", "DSP - NPU+DSP", "[1,2] - [3,25]"),
];

fn allocations(all: &[Chosen]) -> Section {
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages, ours", Align::Left),
        ("paper's", Align::Left),
        ("subgraphs, ours", Align::Left),
        ("paper's", Align::Left),
        ("throughput / exact", Align::Right),
    ]);
    let mut claims = Vec::new();
    for (model, name, stages, subgraphs) in ALLOCATIONS {
        let Some(own) = all.iter().find(|own| own.network.model == model) else { continue };
        let (Some(plan), Some(exact)) = (own.plan(name), own.plan("exact, throughput")) else { continue };
        table.row([
            own.network.name.to_owned(),
            name.to_owned(),
            plan.configuration(),
            stages.to_owned(),
            own.allocation(plan),
            subgraphs.to_owned(),
            format!("{:.2}", exact.period.seconds() / plan.period.seconds()),
        ]);
        let what = format!("stages of {name}, {}", own.network.name);
        claims.push(Claim { what, ours: plan.stages.len() as f64, paper: [2.0; 2], tolerance: 0.0 });
    }
    Section {
        title: "Table 2: subgraphs of the stages of hybrid-L and hybrid-T".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "Where the cuts lie depends on the speeds, which are assumed; that hybrids have two stages, one of them of several processors, does not. \
             The last column: part of the throughput of the best pipeline that hybrids reach under the same costs."
                .to_owned(),
        ],
        claims,
    }
}

pub(super) fn strategies() -> Result<(Vec<Section>, Figure), ReproduceError> {
    let shown = NETWORKS.iter().filter(|network| SHOWN.contains(&network.model));
    let all: Vec<Chosen> = shown.map(Chosen::of).filter_map(Result::transpose).collect::<Result<_, _>>()?;
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    for own in &all {
        let throughput = |plan: &Plan| own.throughput(plan);
        let latency = |plan: &Plan| own.latency(plan);
        for (name, plan) in &own.plans {
            let text = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
            table.row([
                own.network.name.to_owned(),
                (*name).to_owned(),
                plan.as_ref().map_or("infeasible".to_owned(), Plan::configuration),
                text(plan.as_ref().map(latency)),
                text(plan.as_ref().map(throughput)),
            ]);
        }
        let bars = own.plans.iter().map(|(_, plan)| plan.as_ref().map_or(0.0, throughput));
        groups.push((own.network.name.to_owned(), bars.collect()));
        let mut claim = |what: &str, ours: Option<f64>, paper: [f64; 2]| {
            let what = format!("{what}, {}", own.network.name);
            claims.extend(ours.map(|ours| Claim { what, ours, paper, tolerance: 0.0 }));
        };
        // The orderings of sections VII-C and VII-D.
        claim("throughput of hybrid-T over para-only", own.plan("hybrid-T").map(throughput), [1.0, MOST]);
        let over = |one: &str, other: &str, of: &dyn Fn(&Plan) -> f64| Some(of(own.plan(one)?) / of(own.plan(other)?));
        claim("latency of hybrid-L over hybrid-T", over("hybrid-L", "hybrid-T", &latency), [0.0, 1.0]);
        claim("latency of hybrid-L over pipe-only", over("hybrid-L", "pipe-only", &latency), [0.0, 1.0]);
        claim(
            "throughput of the exact search over hybrid-T",
            over("exact, throughput", "hybrid-T", &throughput),
            [1.0, MOST],
        );
    }
    let counts: Vec<String> = all.iter().map(|own| format!("{} {}", own.network.name, own.points)).collect();
    let title = "Throughput of Para-Pipe's choices over para-only, on an NPU and two DSPs";
    let series = ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced", "exact, throughput", "exact, latency"];
    let series = series.map(str::to_owned).to_vec();
    let svg = BarChart { title, label: "throughput / para-only", series, groups }.to_svg()?;
    let section = Section {
        title: "Figure 11: Para-Pipe's choices on an NPU and two DSPs".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "The paper: hybrid-T has 16.2 % more throughput than para-only on average, hybrid-L about its latency; pipe-only suffers from operators \
             that the NPU does not run. Speeds are those assumed for table 3, so only the order is held to."
                .to_owned(),
            format!("Pipelines that the enumeration goes through: {}.", counts.join(", ")),
        ],
        claims,
    };
    Ok((vec![allocations(&all), section], Figure { file: "para-pipe-figure-11.svg".to_owned(), svg }))
}
