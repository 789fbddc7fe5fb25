//! Figure 11: Para-Pipe's choices among stage configurations, on an NPU and two DSPs.

use millstream_board::{Board, ProcessorClass};
use millstream_partition::Chain;
use millstream_pipeline::{
    ParaPipe, PipelineError, Plan, Problem, Search, Strategy, best_period, para_pipe_points, pareto_front,
};
use millstream_report::{Align, BarChart, Table};

use super::{NETWORKS, Network, board};
use crate::{Claim, Figure, Kind, ReproduceError, Section};

/// The NPU and the DSPs as clusters of cores.
const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "an NPU and two DSPs", "clusters": [
    {"label": "N", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "D", "capacity": 300, "cores": [{"id": 1}, {"id": 2}]}]}"#;
/// Networks whose stages of several processors are mapped in seconds; the others take minutes.
const SHOWN: [&str; 3] = ["googlenet", "inception-v3", "bevformer-like"];
/// More throughput than this, relative to all processors in one stage, is not to be expected of three processors.
const MOST: f64 = 3.0;

fn problem(network: &Network) -> Result<(Problem, Vec<ProcessorClass>, usize), ReproduceError> {
    let model = millstream_zoo::build(network.model)?;
    let graph = model.graph();
    let chain = Chain::of(graph);
    let (costs, _) = board(graph);
    let class = |cluster: &str| ProcessorClass { cluster: cluster.into(), count: 1 };
    let processors = vec![class("N"), class("D"), class("D")];
    let teams = ParaPipe::teams(&processors);
    let problem = Problem::with_teams(graph, &chain, &Board::from_json(BOARD)?, &costs, &teams)?;
    let subgraphs = millstream_partition::subgraphs(graph).len();
    Ok((problem, processors, subgraphs))
}

pub(super) fn strategies() -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut groups = Vec::new();
    let mut counts = Vec::new();
    for network in NETWORKS.iter().filter(|network| SHOWN.contains(&network.model)) {
        let (problem, processors, subgraphs) = problem(network)?;
        let points = para_pipe_points(subgraphs as u64, processors.len() as u32);
        counts.push(format!("{} {points}", network.name));
        let choose = |strategy| match (ParaPipe { processors: processors.clone(), strategy }).search(&problem) {
            Err(PipelineError::Infeasible) => Ok(None),
            other => other.map(Some),
        };
        let Some(para) = choose(Strategy::ParaOnly)? else { continue };
        let throughput = |plan: &Plan| para.period.seconds() / plan.period.seconds();
        let latency = |plan: &Plan| plan.latency.seconds() / para.latency.seconds();
        let mut bars = Vec::new();
        let mut rows: Vec<(&str, Option<Plan>)> = Vec::new();
        for (name, strategy) in
            ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"].into_iter().zip(Strategy::ALL)
        {
            rows.push((name, choose(strategy)?));
        }
        rows.push(("exact, throughput", Some(best_period(&problem)?)));
        rows.push(("exact, latency", pareto_front(&problem)?.into_iter().next()));
        for (name, plan) in &rows {
            let text = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
            table.row([
                network.name.to_owned(),
                (*name).to_owned(),
                plan.as_ref().map_or("infeasible".to_owned(), |plan| problem.schedule(plan).to_string()),
                text(plan.as_ref().map(latency)),
                text(plan.as_ref().map(throughput)),
            ]);
            bars.push(plan.as_ref().map_or(0.0, throughput));
        }
        groups.push((network.name.to_owned(), bars));
        let plan = |name: &str| rows.iter().find(|(other, _)| *other == name).and_then(|(_, plan)| plan.as_ref());
        let mut claim = |what: &str, ours: Option<f64>, paper: [f64; 2]| {
            let what = format!("{what}, {}", network.name);
            claims.extend(ours.map(|ours| Claim { what, ours, paper, tolerance: 0.0 }));
        };
        // The orderings of sections VII-C and VII-D.
        claim("throughput of hybrid-T over para-only", plan("hybrid-T").map(throughput), [1.0, MOST]);
        let over = |one: &str, other: &str, of: &dyn Fn(&Plan) -> f64| Some(of(plan(one)?) / of(plan(other)?));
        claim("latency of hybrid-L over hybrid-T", over("hybrid-L", "hybrid-T", &latency), [0.0, 1.0]);
        claim("latency of hybrid-L over pipe-only", over("hybrid-L", "pipe-only", &latency), [0.0, 1.0]);
        claim(
            "throughput of the exact search over hybrid-T",
            over("exact, throughput", "hybrid-T", &throughput),
            [1.0, MOST],
        );
    }
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
    Ok((section, Figure { file: "para-pipe-figure-11.svg".to_owned(), svg }))
}
