//! Figure 11: Para-Pipe's choices among stage configurations, on an NPU and two DSPs.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::ProcessorIndex;
use millstream_partition::{Chain, subgraphs};
use millstream_pipeline::{
    ParaPipe, PipelineError, Plan, Problem, Search, Strategy, best_period, para_pipe_points, pareto_front,
};
use millstream_report::{Align, BarChart, Table};

use super::amlogic::mean;
use super::baselines::Whole;
use super::bst::{SIMULATED, board};
use super::table_2;
use super::{NETWORKS, Network};
use crate::{Claim, ClaimTolerance, Figure, Kind, ReproduceError, Section};

/// The NPU and the DSPs as clusters of cores.
const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "an NPU and two DSPs", "clusters": [
    {"label": "N", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "D", "capacity": 300, "cores": [{"id": 1}, {"id": 2}]}]}"#;
/// What the strategies choose for a network.
pub(super) struct Chosen {
    pub(super) network: &'static Network,
    /// Pipelines that the enumeration goes through.
    points: u128,
    para: Plan,
    /// Seconds of a frame: one operator after the other, and by HEFT or CPOP.
    layer_switched: f64,
    lists: f64,
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
        let (costs, places): (_, Vec<ProcessorIndex>) = board(graph);
        let whole = Whole::new(graph, &costs, &places)?;

        let class = |cluster: &str| ProcessorClass::new(cluster, 1);
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
            layer_switched: whole.layer_switched()?.seconds,
            lists: whole.lists()?.seconds,
            plans,
            subgraph_of: chain.blocks().iter().map(last).collect(),
        }))
    }

    pub(super) fn plan(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|(other, _)| *other == name).and_then(|(_, plan)| plan.as_ref())
    }

    fn throughput(&self, plan: &Plan) -> f64 {
        self.para.period.seconds() / plan.period.seconds()
    }

    fn latency(&self, plan: &Plan) -> f64 {
        plan.latency.seconds() / self.para.latency.seconds()
    }

    /// Name, stages, and latency and throughput over those of para-only.
    fn rows(&self) -> Vec<(&'static str, String, Option<[f64; 2]>)> {
        let baselines = [("layer-switched", self.layer_switched), ("HEFT & CPOP", self.lists)];
        let baselines = baselines.map(|(name, seconds)| {
            let latency = seconds / self.para.latency.seconds();
            (name, "-".to_owned(), Some([latency, 1.0 / latency]))
        });
        let plans = self.plans.iter().map(|(name, plan)| {
            let stages = plan.as_ref().map_or("infeasible".to_owned(), Plan::configuration);
            (*name, stages, plan.as_ref().map(|plan| [self.latency(plan), self.throughput(plan)]))
        });
        baselines.into_iter().chain(plans).collect()
    }

    /// The subgraphs of each stage, as table II prints them. A stage that ends within a subgraph shares it with the next.
    pub(super) fn allocation(&self, plan: &Plan) -> String {
        let number = |block: usize| self.subgraph_of.get(block).copied().unwrap_or(0);
        let stages = plan.stages.iter().map(|stage| {
            let (first, last) = (number(stage.blocks.start().index()), number(stage.blocks.end().index() - 1));
            if first == last { format!("[{first}]") } else { format!("[{first},{last}]") }
        });
        stages.collect::<Vec<_>>().join(" - ")
    }
}

pub(super) fn strategies() -> Result<(Vec<Section>, Figure), ReproduceError> {
    let all: Vec<Chosen> = NETWORKS.iter().map(Chosen::of).filter_map(Result::transpose).collect::<Result<_, _>>()?;
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
    ]);

    let mut groups = Vec::new();
    for own in &all {
        let mut bars = Vec::new();
        for (name, stages, measures) in own.rows() {
            let [latency, throughput] = measures.unwrap_or([f64::NAN; 2]);
            let text = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.2}") };
            table.row([own.network.name.to_owned(), name.to_owned(), stages, text(latency), text(throughput)]);
            bars.push(if throughput.is_nan() { 0.0 } else { throughput });
        }
        groups.push((own.network.name.to_owned(), bars));
    }

    let counts: Vec<String> = all.iter().map(|own| format!("{} {}", own.network.name, own.points)).collect();
    let title = "Throughput of Para-Pipe's choices over para-only, on an NPU and two DSPs";
    let series = all.first().map_or(Vec::new(), |own| own.rows().iter().map(|(name, ..)| (*name).to_owned()).collect());
    let svg = BarChart { title, label: "throughput / para-only", series, groups }.to_svg()?;

    let section = Section {
        title: "Figure 11: Para-Pipe's choices on an NPU and two DSPs".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "Speeds are those assumed for table 3; as in the paper, no operator is divided by channels. HEFT and CPOP map the network as a whole, layer-switched runs one operator after the other.".to_owned(),
            format!("Pipelines that the enumeration goes through: {}.", counts.join(", ")),
        ],
        claims: claims(&all),
    };
    Ok((vec![table_2::section(&all), section], Figure { file: "para-pipe-figure-11.svg".to_owned(), svg }))
}

const REFUSES_LITTLE: &str = "which operators the paper's NPU refuses is not printed; the assumed one refuses few, so that a stage of its own suits it";

/// The numbers of sections VII-C and VII-D.
fn claims(all: &[Chosen]) -> Vec<Claim> {
    let of = |own: &Chosen, name: &str, measure: &dyn Fn(&Plan) -> f64| own.plan(name).map_or(f64::NAN, measure);
    let throughput = |own: &Chosen, name: &str| of(own, name, &|plan| own.throughput(plan));
    let latency = |own: &Chosen, name: &str| of(own, name, &|plan| own.latency(plan));
    let over_all = |measure: &dyn Fn(&Chosen) -> f64| mean(&all.iter().map(measure).collect::<Vec<_>>());
    let gain = over_all(&|own| throughput(own, "hybrid-T") - 1.0);
    let quick = over_all(&|own| latency(own, "hybrid-L"));
    let better = over_all(&|own| 1.0 - own.para.latency.seconds() / own.lists);
    let faster = all.iter().filter(|own| throughput(own, "pipe-only") > 1.0).count();

    let mut claims = vec![
        Claim::number("more throughput of hybrid-T than of para-only, mean", gain, 0.162).because(SIMULATED),
        Claim::number("latency of hybrid-L over para-only, mean", quick, 1.0).because(SIMULATED),
        Claim::number("less latency of para-only than of HEFT & CPOP, mean", better, 0.155).because(SIMULATED),
        Claim::range("networks for which pipe-only has more throughput than para-only", faster as f64, [0.0, 2.0])
            .within(ClaimTolerance::Exact)
            .because(REFUSES_LITTLE),
    ];

    for own in all {
        let what = |what: &str| format!("{what}, {}", own.network.name);
        if own.network.model == "petr-like" {
            claims.push(
                Claim::number(what("latency of pipe-only over para-only"), latency(own, "pipe-only"), 5.7)
                    .because(REFUSES_LITTLE),
            );
            claims.push(
                Claim::number(what("throughput of pipe-only over para-only"), throughput(own, "pipe-only"), 0.314)
                    .because(REFUSES_LITTLE),
            );
        } else if own.network.model == "bevformer-like" {
            let stages = own.plan("pipe-only").map_or("infeasible".to_owned(), Plan::configuration);
            claims.push(Claim::choice(what("pipe-only"), stages, "infeasible").because(REFUSES_LITTLE));
        }
    }
    claims
}
