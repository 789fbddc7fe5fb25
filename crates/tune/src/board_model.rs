//! What is believed of a network on a board whose cores are not as they were when it was profiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_board::{Board, CoreId, Processor, ProcessorClass};
use millstream_cost::{ClassId, CostTable, DerivedClass, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{Objective, Problem, best_period, choose, pareto_front};
use millstream_schedule::{Entry, Replica, Schedule};

use crate::error::TuneError;
use crate::log_factors::{LogFactors, Observation};
use crate::model_guided::{Proposal, Score, TimeModel};
use crate::oracle::Trial;

/// How uncertain the profile is of a block, how uncertain a processor's speed is, and how noisy trials are: standard
/// deviations of logarithms.
const BLOCK: f64 = 0.1;
const PROCESSOR: f64 = 1.0;
const NOISE: f64 = 0.03;
/// Cores of a cluster whose speeds differ by more than this are no longer taken to be alike.
const ALIKE: f64 = 1.15;
/// A core of which others leave less than this is being shared.
const SHARED: f64 = 0.85;

/// A [`TimeModel`] of a profiled network whose configurations are schedules.
///
/// Trials tell how long stages take, and how much of each core others leave ([`Trial::available`]). From both it
/// estimates how many times slower than in the profile each core is: because something else runs there, because its
/// clock changed, or because it is hot. Our search then runs on a board on which slowed cores are clusters of
/// their own.
#[derive(Debug, Clone)]
pub struct BoardModel {
    graph: Arc<Graph>,
    chain: Chain,
    board: Board,
    table: CostTable,
    objective: Objective,
    /// Of blocks, then of processors in the order in which they were first seen.
    factors: LogFactors,
    /// Processors of which stages were timed, with the index of their factor.
    timed: Vec<(Processor, usize)>,
    /// How many times slower each core is.
    cores: BTreeMap<CoreId, f64>,
}

impl BoardModel {
    /// Starts with the costs of a profile.
    pub fn new(graph: &Arc<Graph>, chain: &Chain, board: &Board, table: &CostTable) -> Self {
        Self {
            graph: Arc::clone(graph),
            chain: chain.clone(),
            board: board.clone(),
            table: table.clone(),
            objective: Objective::Throughput,
            factors: block_factors(chain),
            timed: Vec::new(),
            cores: BTreeMap::new(),
        }
    }

    /// With another objective than throughput.
    #[must_use]
    pub fn with_objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// What the objective wants to be short: the period, the latency, or for both their geometric mean.
    fn measure(&self, period: Nanoseconds, latency: Nanoseconds) -> Nanoseconds {
        match self.objective {
            Objective::Throughput => period,
            Objective::Latency => latency,
            // Models of energy are not learnt: as many frames as possible in the time that is paid for anyway.
            Objective::Energy => period,
            Objective::Balanced => Nanoseconds::from_seconds((period.seconds() * latency.seconds()).sqrt()),
        }
    }

    /// How many times slower than in the profile each core is believed to be; cores that are as they were may be left
    /// out.
    pub fn slowdowns(&self) -> &BTreeMap<CoreId, f64> {
        &self.cores
    }

    /// Goes back to the profile: what was learnt holds no longer.
    pub fn forget(&mut self) {
        self.factors = block_factors(&self.chain);
        self.timed.clear();
        self.cores.clear();
    }

    fn slowdown(&self, core: CoreId) -> f64 {
        self.cores.get(&core).copied().unwrap_or(1.0)
    }

    /// The costs with what was learnt of blocks.
    fn corrected_table(&self) -> CostTable {
        let mut table = self.table.clone();
        for (block, operators) in self.chain.blocks().iter().enumerate() {
            let factor = self.factors.factor(block);
            for (processor, id) in
                table.class_ids().flat_map(|processor| operators.operators.iter().map(move |&id| (processor, id)))
            {
                if let Some(time) = self.table.time(processor, id) {
                    table.set_time(processor, id, Nanoseconds((time.0 as f64 * factor).round() as u64));
                }
            }
        }
        table
    }

    /// The board with slowed cores apart, and its costs.
    fn slowed(&self) -> Result<(Board, CostTable), TuneError> {
        let mut apart = Vec::new();
        let mut base = BTreeMap::new();
        for cluster in self.board.clusters() {
            let least = cluster.cores.iter().map(|core| self.slowdown(core.id)).fold(f64::INFINITY, f64::min);
            for core in &cluster.cores {
                let relative = self.slowdown(core.id) / least;
                let is_apart = relative > ALIKE;
                base.insert(core.id, if is_apart { self.slowdown(core.id) } else { least });
                apart.extend(is_apart.then_some((core.id, relative)));
            }
        }
        let board = self.board.with_slowdown(&apart).map_err(|error| TuneError::Model(Box::new(error)))?;
        let table = self.corrected_table();
        let mut classes = Vec::new();
        for class in board.processor_classes() {
            let cluster = board.clusters().iter().find(|cluster| cluster.label == class.cluster);
            let first = cluster.and_then(|cluster| cluster.cores.first());
            let from = match first {
                Some(core) => self.home(core.id).map(|cluster| ProcessorClass { cluster, ..class.clone() }),
                None => Some(class.clone()),
            };
            let Some(from) = from.and_then(|from| table.find(&from)) else { continue };
            let factor = first.and_then(|core| base.get(&core.id)).copied().unwrap_or(1.0);
            classes.push(DerivedClass { class, like: from, slowdown: factor });
        }
        Ok((board, table.derived(&classes)))
    }

    /// The cluster of a core.
    fn home(&self, core: CoreId) -> Option<String> {
        let has = |cluster: &&millstream_board::Cluster| cluster.cores.iter().any(|other| other.id == core);
        self.board.clusters().iter().find(has).map(|cluster| cluster.label.clone())
    }

    /// The same processor under its label on the board itself.
    fn at_home(&self, processor: &Processor) -> Processor {
        let label = processor.cores.first().and_then(|&core| self.home(core));
        Processor { cluster: label.unwrap_or_else(|| processor.cluster.clone()), ..processor.clone() }
    }

    /// How many times slower a processor is than in the profile: as it was timed, else as its slowest core.
    fn processor_slowdown(&self, processor: &Processor) -> f64 {
        let timed = self.timed_factor(processor).filter(|_| !processor.is_accelerator());
        let slowest = || processor.cores.iter().map(|&core| self.slowdown(core)).fold(1.0, f64::max);
        timed.map_or_else(slowest, |factor| self.factors.factor(factor))
    }

    /// Index of the factor of a processor of which stages were timed.
    fn timed_factor(&self, processor: &Processor) -> Option<usize> {
        self.timed.iter().find(|(other, _)| other == processor).map(|(_, factor)| *factor)
    }

    /// Seconds that the profile expects of each block of a stage, hand-over with the first.
    fn expected(&self, replica: &Replica, entry: &Entry, class: ClassId) -> Option<Vec<(usize, f64)>> {
        let operators: Vec<_> = replica.operators().collect();
        let blocks = self.chain.find(&operators)?;
        let mut terms = Vec::with_capacity(blocks.len());
        for block in blocks.indices() {
            let times = self.chain.blocks()[block].operators.iter().map(|&id| self.table.time(class, id));
            terms.push((block, times.sum::<Option<Nanoseconds>>()?.seconds()));
        }
        if let Some((_, first)) = terms.first_mut() {
            *first += replica.hand_over(entry, &self.graph, &self.table).seconds();
        }
        Some(terms)
    }

    fn learn_stage(&mut self, replica: &Replica, entry: &Entry, time: Nanoseconds) {
        let [assignment] = replica.assignments.as_slice() else { return };
        let Some(processor) = self.table.find(&assignment.processor.class()) else { return };
        let Some(terms) = self.expected(replica, entry, processor) else { return };
        let shared = self.timed_factor(&assignment.processor).unwrap_or_else(|| {
            let added = self.factors.add(PROCESSOR);
            self.timed.push((assignment.processor.clone(), added));
            added
        });
        self.factors.observe(Observation { terms, shared, seconds: time.seconds() });
    }

    /// From what processors were timed at and what others leave of cores, how much slower each core is.
    fn update_cores(&mut self, available: &[(CoreId, f64)]) {
        let left = |core: CoreId| available.iter().find(|(other, _)| *other == core).map_or(1.0, |(_, left)| *left);
        for &(core, left) in available {
            self.cores.insert(core, if left < SHARED { 1.0 / left } else { 1.0 });
        }
        for (Processor { cores, .. }, factor) in &self.timed {
            let factor = self.factors.factor(*factor);
            // A processor waits for its slowest core. Where it is known which cores are shared, the others are not to
            // blame.
            let to_blame: Vec<CoreId> = cores.iter().copied().filter(|&core| left(core) < SHARED).collect();
            // A single core was timed itself, whoever uses it too.
            if cores.len() == 1 || to_blame.is_empty() {
                self.cores.extend(cores.iter().map(|&core| (core, factor)));
            }
        }
    }
}

/// Nothing known of any block yet.
fn block_factors(chain: &Chain) -> LogFactors {
    LogFactors::new(vec![BLOCK; chain.blocks().len()], NOISE)
}

/// A schedule and costs in which every processor is a class of its own, so many times slower than its class in `table`
/// as a function says.
pub fn with_slowdowns(
    schedule: &Schedule,
    table: &CostTable,
    slowdown: impl Fn(&Processor) -> f64,
) -> (Schedule, CostTable) {
    let mut classes: Vec<DerivedClass> = Vec::new();
    let named = schedule.with_processors(|processor| {
        let unique = Processor { cluster: format!("{}.", classes.len()), ..processor.clone() };
        if let Some(like) = table.find(&processor.class()) {
            classes.push(DerivedClass { class: unique.class(), like, slowdown: slowdown(processor) });
        }
        unique
    });
    (named, table.derived(&classes))
}

impl TimeModel for BoardModel {
    type Configuration = Schedule;
    type Seen = Trial;

    fn best(&mut self) -> Result<Proposal<Schedule>, TuneError> {
        let (board, table) = self.slowed()?;
        let failed = |error| TuneError::Model(Box::new(error));
        let problem = Problem::new(&self.graph, &self.chain, &board, &table).map_err(failed)?;
        let fastest = best_period(&problem).map_err(failed)?;
        let plan = match self.objective {
            Objective::Throughput => fastest,
            objective => {
                let front = pareto_front(&problem).map_err(failed)?;
                choose(&front, objective).and_then(|index| front.get(index).cloned()).unwrap_or(fastest)
            }
        };
        let schedule = problem.schedule(&plan).with_processors(|processor| self.at_home(processor));
        Ok(Proposal::Gain(schedule, self.measure(plan.period, plan.latency).into()))
    }

    /// What evaluation says, each processor being as slow as it was seen to be, or as its slowest core.
    fn score(&self, schedule: &Schedule) -> Option<Score> {
        let table = self.corrected_table();
        let (schedule, costs) = with_slowdowns(schedule, &table, |processor| self.processor_slowdown(processor));
        let found = schedule.evaluate(&self.graph, &costs).ok()?;
        Some(self.measure(found.period, found.latency).into())
    }

    fn learn(&mut self, schedule: &Schedule, trial: &Trial) {
        for ((stage, replica), &time) in schedule.numbered_replicas().zip(&trial.stage_times) {
            self.learn_stage(replica, &schedule.entry(stage), time);
        }
        self.factors.update();
        self.update_cores(&trial.available);
    }
}
