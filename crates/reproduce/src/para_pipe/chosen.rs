//! What Para-Pipe's strategies choose for a network.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::ClassId;
use millstream_partition::{Chain, subgraphs};
use millstream_pipeline::{
    ParaPipe, ParaPipeStrategy, PipelineError, Plan, Problem, Search, best_period, para_pipe_points, pareto_front,
};

use crate::paper::ReproduceError;
use crate::para_pipe::baselines::Whole;
use crate::para_pipe::bst::board;
use crate::para_pipe::networks::Network;

/// The NPU and the DSPs as clusters of cores.
pub(super) const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "an NPU and two DSPs", "clusters": [
    {"label": "N", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "D", "capacity": 300, "cores": [{"id": 1}, {"id": 2}]}]}"#;
/// What the strategies choose for a network.
pub(super) struct Chosen {
    pub(super) network: &'static Network,
    /// Pipelines that the enumeration goes through.
    pub(super) points: u128,
    pub(super) para: Plan,
    /// Seconds of a frame: one operator after the other, and by HEFT or CPOP.
    layer_switched: f64,
    pub(super) lists: f64,
    /// By name; a strategy may find nothing.
    plans: Vec<(&'static str, Option<Plan>)>,
    /// The number of the subgraph that each block ends in, from 1.
    subgraph_of: Vec<usize>,
}

impl Chosen {
    pub(super) fn of(network: &'static Network) -> Result<Option<Self>, ReproduceError> {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let chain = Chain::of(graph);
        let (costs, places): (_, Vec<ClassId>) = board(graph);
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

        let Some(para) = choose(ParaPipeStrategy::ParaOnly)? else { return Ok(None) };
        let names = ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"];
        let mut plans = Vec::new();
        for (name, strategy) in names.into_iter().zip(ParaPipeStrategy::ALL) {
            plans.push((name, choose(strategy)?));
        }
        plans.push(("exact, throughput", Some(best_period(&problem)?)));
        plans.push(("exact, latency", pareto_front(&problem)?.into_iter().next()));

        let last = |block: &millstream_partition::Block| {
            let place = |id| parts.iter().position(|part| part.operators().any(|operator| operator == id));
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

    pub(super) fn throughput(&self, plan: &Plan) -> f64 {
        self.para.period.seconds() / plan.period.seconds()
    }

    pub(super) fn latency(&self, plan: &Plan) -> f64 {
        plan.latency.seconds() / self.para.latency.seconds()
    }

    /// Name, stages, and latency and throughput over those of para-only.
    pub(super) fn rows(&self) -> Vec<(&'static str, String, Option<[f64; 2]>)> {
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

    /// The subgraphs of each stage, as table II prints them. A stage that ends within a subgraph shares it with the
    /// next.
    pub(super) fn allocation(&self, plan: &Plan) -> String {
        let number = |block: usize| self.subgraph_of.get(block).copied().unwrap_or(0);
        let stages = plan.stages.iter().map(|stage| {
            let (first, last) = (number(stage.blocks.start().index()), number(stage.blocks.end().index() - 1));
            if first == last { format!("[{first}]") } else { format!("[{first},{last}]") }
        });
        stages.collect::<Vec<_>>().join(" - ")
    }
}
