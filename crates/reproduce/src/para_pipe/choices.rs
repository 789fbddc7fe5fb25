//! Para-Pipe's choices for a network on the Amlogic board, beside the baselines.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{ClassId, CostTable};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{ParaPipe, ParaPipeStrategy, Plan, Problem, Search, best_period};
use millstream_predict::CostModels;

use crate::paper::ReproduceError;
use crate::para_pipe::baselines::{Baseline, Whole};
use crate::para_pipe::bst::keep_whole;
use crate::para_pipe::networks::{NETWORKS, Network};

pub(super) const COSTS: &str = include_str!("../../costs/khadas-vim3.json");

/// What the paper runs on this board: all but the transformers, which ARM-CL does not run.
pub(super) const SHOWN: [&str; 4] = ["googlenet", "inception-v3", "inception-v4", "inception-resnet-v2"];

/// The big cluster, the small one, and the GPU.
pub(super) fn processors() -> [ProcessorClass; 3] {
    [class("B", 4), class("s", 2), class("G", 1)]
}

pub(super) struct Case {
    pub(super) network: &'static Network,
    problem: Problem,
    pub(super) graph: std::sync::Arc<Graph>,
    pub(super) table: CostTable,
}

impl Case {
    fn of(network: &'static Network) -> Result<Self, ReproduceError> {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let chain = Chain::of(graph);
        let board = Board::from_json(BOARD)?;
        let mut table = CostModels::from_json(COSTS)?.table(&board, model.digest(), graph, &chain)?;
        keep_whole(&mut table);
        let problem = Problem::with_teams(graph, &chain, &board, &table, &ParaPipe::teams(&processors()))?;
        Ok(Self { network, problem, graph: std::sync::Arc::clone(graph), table })
    }

    pub(super) fn choose(
        &self,
        processors: Vec<ProcessorClass>,
        strategy: ParaPipeStrategy,
    ) -> Result<Plan, ReproduceError> {
        Ok(ParaPipe { processors, strategy }.search(&self.problem)?)
    }
}

/// Frames per joule; not a number where power is not known.
pub(super) fn frames_per_joule(plan: &Plan) -> f64 {
    plan.energy.map_or(f64::NAN, |energy| 1.0 / energy.joules())
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn cases() -> Result<Vec<Case>, ReproduceError> {
    NETWORKS.iter().filter(|network| SHOWN.contains(&network.model)).map(Case::of).collect()
}

pub(super) const ASSUMPTIONS: &str = "Costs: fixtures/costs/khadas-vim3.json, calibrated to measurements of the big cluster; the small cluster, the GPU, copies and \
     power follow from similar boards or are assumed, as fixtures/measurements/khadas-vim3.json says.";

pub(super) const NAMES: [&str; 5] = ["pipe-only", "para-only", "hybrid-L", "hybrid-T", "balanced"];

/// What is chosen for a network, beside the baselines.
pub(super) struct Choices {
    pub(super) network: &'static Network,
    plans: Vec<Plan>,
    exact: Plan,
    pub(super) layer_switched: Baseline,
    pub(super) lists: Baseline,
}

impl Choices {
    pub(super) fn of(case: &Case) -> Result<Self, ReproduceError> {
        let plans = ParaPipeStrategy::ALL.into_iter().map(|strategy| case.choose(processors().to_vec(), strategy));
        let places: Vec<ClassId> = processors().iter().filter_map(|class| case.table.find(class)).collect();
        let whole = Whole::new(&case.graph, &case.table, &places)?;
        Ok(Self {
            network: case.network,
            plans: plans.collect::<Result<_, _>>()?,
            exact: best_period(&case.problem)?,
            layer_switched: whole.layer_switched()?,
            lists: whole.lists()?,
        })
    }

    pub(super) fn plan(&self, name: &str) -> &Plan {
        let place = NAMES.iter().position(|other| *other == name).unwrap_or_default();
        &self.plans[place]
    }

    /// Latency over that of para-only.
    pub(super) fn latency(&self, name: &str) -> f64 {
        self.plan(name).latency.seconds() / self.plan("para-only").latency.seconds()
    }

    /// Throughput over that of para-only.
    pub(super) fn throughput(&self, name: &str) -> f64 {
        self.plan("para-only").period.seconds() / self.plan(name).period.seconds()
    }

    /// Frames per joule over those of para-only.
    pub(super) fn efficiency(&self, name: &str) -> f64 {
        frames_per_joule(self.plan(name)) / frames_per_joule(self.plan("para-only"))
    }

    /// Latency, throughput and frames per joule of a baseline, over those of para-only.
    pub(super) fn baseline(&self, baseline: Baseline) -> [f64; 3] {
        let latency = baseline.seconds / self.plan("para-only").latency.seconds();
        [latency, 1.0 / latency, 1.0 / (baseline.joules * frames_per_joule(self.plan("para-only")))]
    }

    /// Name, stages, and latency, throughput and frames per joule over those of para-only.
    pub(super) fn rows(&self) -> Vec<(&'static str, String, [f64; 3])> {
        let row = |&name: &&'static str| {
            let measures = [self.latency(name), self.throughput(name), self.efficiency(name)];
            (name, self.plan(name).configuration(), measures)
        };
        let mut rows: Vec<_> = [("layer-switched", self.layer_switched), ("HEFT & CPOP", self.lists)]
            .map(|(name, baseline)| (name, "-".to_owned(), self.baseline(baseline)))
            .into();
        rows.extend(NAMES.iter().map(row));
        let para = self.plan("para-only");
        let exact = [
            self.exact.latency.seconds() / para.latency.seconds(),
            para.period.seconds() / self.exact.period.seconds(),
            frames_per_joule(&self.exact) / frames_per_joule(para),
        ];
        rows.push(("exact, throughput", self.exact.configuration(), exact));
        rows
    }
}

pub(super) const BOARD: &str = include_str!("../../boards/khadas-vim3.json");

pub(super) fn class(cluster: &str, count: usize) -> ProcessorClass {
    ProcessorClass::new(cluster, count)
}
