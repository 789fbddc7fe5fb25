use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use millstream_board::{Accelerator, Board, Cluster, CoreId, Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;
use millstream_partition::{Chain, subgraphs};
use millstream_schedule::{Entry, Replica, Schedule, Stage, replicated_period};

use crate::cores::CoreCounts;
use crate::energy::ClassPower;
use crate::memory::{MemoryLimits, held};
use crate::team::{Ground, Team};
use crate::{PipelineError, Plan, PlannedStage};

/// A time that stands for "not supported"; sums of it stay above every real time.
pub(crate) const UNSUPPORTED: u64 = u64::MAX / 4;

/// Stage times of a network on a board, ready for searching.
#[derive(Debug, Clone)]
pub struct Problem {
    chain: Chain,
    clusters: Vec<Units>,
    pub(crate) counts: CoreCounts,
    /// Clusters' classes, cluster by cluster, counts ascending: `classes[offset(cluster) + count - 1]`.
    pub(crate) classes: Vec<ProcessorClass>,
    /// Power of the classes, where it is known.
    pub(crate) powers: Vec<Option<ClassPower>>,
    /// Whether a stage may have several replicas.
    pub(crate) has_replicas: bool,
    /// Per class, per end, per start: the stage's time in nanoseconds.
    times: Vec<Vec<u64>>,
    /// Sets of processors that may own a stage together, with their encoded numbers of cores. They are numbered after the
    /// classes.
    pub(crate) teams: Vec<(usize, Arc<Team>)>,
}

/// The cores of a cluster, or an accelerator: a cluster of one unit without a core.
#[derive(Debug, Clone)]
struct Units {
    label: String,
    cores: Vec<CoreId>,
    count: usize,
    /// Index of its first class.
    offset: usize,
}

impl Problem {
    /// Collects the times of every possible stage. A stage whose weights and values exceed the memory of an accelerator does not run
    /// there.
    ///
    /// # Errors
    /// [`PipelineError::MissingProcessor`] if the table lacks a processor class of the board,
    /// [`PipelineError::Unsupported`] if no processor runs some operator.
    pub fn new(graph: &Graph, chain: &Chain, board: &Board, table: &CostTable) -> Result<Self, PipelineError> {
        let mut clusters = Vec::new();
        let mut classes = Vec::new();
        let of_cluster =
            |cluster: &Cluster| (cluster.label.clone(), cluster.cores.iter().map(|core| core.id).collect());
        let of_accelerator = |accelerator: &Accelerator| (accelerator.label.clone(), Vec::new());
        let units = board.clusters().iter().map(of_cluster).chain(board.accelerators().iter().map(of_accelerator));
        for (label, cores) in units {
            let count = cores.len().max(1);
            let offset = classes.len();
            classes.extend((1..=count).map(|count| ProcessorClass { cluster: label.clone(), count }));
            clusters.push(Units { label, cores, count, offset });
        }
        let processors: Vec<ProcessorIndex> = classes
            .iter()
            .map(|class| table.find(class).ok_or_else(|| PipelineError::MissingProcessor { class: class.clone() }))
            .collect::<Result<_, _>>()?;
        let is_orphan = |operator: usize| processors.iter().all(|&processor| table.time(processor, operator).is_none());
        if let Some(id) = graph.operator_ids().find(|id| is_orphan(id.index())) {
            return Err(PipelineError::Unsupported { operator: graph.operator(id).name.clone() });
        }
        let times = stage_times(graph, chain, table, &processors, &MemoryLimits::of(board));
        let counts = CoreCounts::new(clusters.iter().map(|cluster| cluster.count).collect());
        let powers = processors.iter().map(|&processor| ClassPower::of(table, processor)).collect();
        let chain = chain.clone();
        Ok(Self { chain, clusters, counts, classes, powers, has_replicas: true, times, teams: Vec::new() })
    }

    /// As [`Problem::new`], with stages that several processors own together as well: operators that do not depend on each other
    /// run side by side, and single operators are divided by output channels where that helps. `teams` names the processors
    /// of each; [`teams_of()`](crate::teams_of()) lists sensible ones.
    ///
    /// A team's stage starts and ends where all of the frame is in the values of one merged operator.
    ///
    /// # Errors
    /// As [`Problem::new`], and [`PipelineError::Mapping`] if a solver fails.
    pub fn with_teams(
        graph: &Graph,
        chain: &Chain,
        board: &Board,
        table: &CostTable,
        teams: &[Vec<ProcessorClass>],
    ) -> Result<Self, PipelineError> {
        let mut problem = Self::new(graph, chain, board, table)?;
        let subgraphs = subgraphs(graph);
        let memory = MemoryLimits::of(board);
        let ground = Ground { graph, chain, table, subgraphs: &subgraphs, memory: &memory };
        for classes in teams {
            let Some(size) = problem.size_of(classes) else { continue };
            if let Some(team) = Team::new(&ground, classes.clone())? {
                problem.teams.push((size, Arc::new(team)));
            }
        }
        Ok(problem)
    }

    /// The same with one replica per stage, as in the papers.
    #[must_use]
    pub fn without_replicas(mut self) -> Self {
        self.has_replicas = false;
        self
    }

    /// The same without stages that several processors own together.
    #[must_use]
    pub fn without_teams(mut self) -> Self {
        self.teams.clear();
        self
    }

    /// Multiplies all times of a team: what running a stage of its showed beyond the prediction.
    pub fn scale_team(&mut self, classes: &[ProcessorClass], factor: f64) {
        for (_, team) in self.teams.iter_mut().filter(|(_, team)| team.classes == classes) {
            Arc::make_mut(team).scale(factor);
        }
    }

    /// The number of a processor class, or of the team of several.
    pub(crate) fn class_of(&self, processors: &[&ProcessorClass]) -> Option<usize> {
        if let [single] = processors {
            return self.classes.iter().position(|class| class == *single);
        }
        let mut wanted: Vec<&ProcessorClass> = processors.to_vec();
        let order = |one: &&ProcessorClass, other: &&ProcessorClass| {
            (&one.cluster, one.count).cmp(&(&other.cluster, other.count))
        };
        wanted.sort_unstable_by(order);
        let is_wanted = |(_, team): &(usize, Arc<Team>)| {
            let mut own: Vec<&ProcessorClass> = team.classes.iter().collect();
            own.sort_unstable_by(order);
            own == wanted
        };
        Some(self.classes.len() + self.teams.iter().position(is_wanted)?)
    }

    /// The encoded numbers of cores of these processors; `None` if the board does not have them all.
    fn size_of(&self, classes: &[ProcessorClass]) -> Option<usize> {
        let mut used = vec![0; self.clusters.len()];
        for class in classes {
            let cluster = self.clusters.iter().position(|cluster| cluster.label == class.cluster)?;
            used[cluster] += class.count;
        }
        self.counts.encode(&used)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.chain.blocks().len()
    }

    pub(crate) fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// The classes of a cluster, counts ascending from 1.
    pub(crate) fn classes_of(&self, cluster: usize) -> Range<usize> {
        let Units { offset, count, .. } = &self.clusters[cluster];
        *offset..offset + count
    }

    /// Time of the stage of blocks `start..end` on a class; at least [`UNSUPPORTED`] if it can't run there.
    #[inline]
    pub(crate) fn time(&self, class: usize, start: usize, end: usize) -> u64 {
        match self.times.get(class) {
            Some(times) => times[(end - 1) * end / 2 + start],
            None => self.teams[class - self.times.len()].1.time(start, end),
        }
    }

    /// The team of this number, counted after the classes.
    pub(crate) fn team(&self, class: usize) -> Option<&Team> {
        self.teams.get(class.checked_sub(self.classes.len())?).map(|(_, team)| &**team)
    }

    /// The team of these processors.
    pub(crate) fn team_of(&self, classes: &[ProcessorClass]) -> Option<&Team> {
        self.teams.iter().find(|(_, team)| team.classes == classes).map(|(_, team)| &**team)
    }

    /// A plan of these stages, with its period and latency.
    pub(crate) fn plan(&self, mut stages: Vec<(Range<usize>, Vec<usize>)>) -> Plan {
        let mut plan = Plan { stages: Vec::new(), period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
        for (blocks, classes) in &mut stages {
            classes.sort_unstable();
            let times: Vec<Nanoseconds> =
                classes.iter().map(|&class| Nanoseconds(self.time(class, blocks.start, blocks.end))).collect();
            plan.period = plan.period.max(replicated_period(&times));
            plan.latency += times.iter().copied().max().unwrap_or_default();
            let team = classes.first().and_then(|&class| self.team(class));
            let replicas = match team {
                Some(team) => team.classes.clone(),
                None => classes.iter().map(|&class| self.classes[class].clone()).collect(),
            };
            plan.stages.push(PlannedStage { blocks: blocks.clone(), replicas, is_team: team.is_some(), times });
        }
        plan.energy = self.energy(&plan);
        plan
    }

    /// The same with at most so many cores of each cluster, as an encoded number.
    pub(crate) fn within(&self, size: usize) -> Self {
        let counts = self.counts.decode(size);
        let mut within = self.clone();
        for (cluster, &count) in within.clusters.iter_mut().zip(&counts) {
            cluster.count = count;
            cluster.cores.truncate(count);
        }
        within.counts = CoreCounts::new(counts);
        within.teams.retain_mut(|(size, _)| match within.counts.encode(&self.counts.decode(*size)) {
            Some(encoded) => {
                *size = encoded;
                true
            }
            None => false,
        });
        within
    }

    /// Gives the plan's stages cores of their own, lowest numbers first.
    pub fn schedule(&self, plan: &Plan) -> Schedule {
        self.schedule_after(plan, &mut vec![0; self.clusters.len()])
    }

    /// The same without the first cores of each cluster, which are given away already; counts those that this plan takes.
    pub(crate) fn schedule_after(&self, plan: &Plan, given: &mut [usize]) -> Schedule {
        let mut free: HashMap<&str, std::slice::Iter<'_, CoreId>> = HashMap::new();
        for (cluster, &given) in self.clusters.iter().zip(given.iter()) {
            free.insert(&cluster.label, cluster.cores.get(given..).unwrap_or_default().iter());
        }
        for class in plan.stages.iter().flat_map(|stage| &stage.replicas) {
            if let Some(place) = self.clusters.iter().position(|cluster| cluster.label == class.cluster) {
                given[place] += class.count;
            }
        }
        let mut processor = |class: &ProcessorClass| {
            let cores = free.get_mut(class.cluster.as_str()).into_iter().flatten().take(class.count).copied();
            Processor { cluster: class.cluster.clone(), cores: cores.collect() }
        };
        let stages = plan.stages.iter().map(|stage| {
            let processors: Vec<Processor> = stage.replicas.iter().map(&mut processor).collect();
            let single = |processor| Replica::single(processor, self.chain.operators(stage.blocks.clone()));
            let team = Some(&stage.replicas).filter(|_| stage.is_team).and_then(|own| self.team_of(own));
            match team.and_then(|team| team.replica(&stage.blocks, processors.clone())) {
                Some(replica) => Stage { replicas: vec![replica] },
                None => Stage { replicas: processors.into_iter().map(single).collect() },
            }
        });
        Schedule { stages: stages.collect() }
    }
}

/// Per class, the triangle of stage times, row `end` (from 1) of `end` starts.
fn stage_times(
    graph: &Graph,
    chain: &Chain,
    table: &CostTable,
    processors: &[ProcessorIndex],
    memory: &MemoryLimits,
) -> Vec<Vec<u64>> {
    let blocks = chain.blocks();
    let bytes = chain.input_bytes(graph);
    let mut held_until = vec![0_u64];
    for block in blocks {
        let own: u64 = block.operators.iter().map(|&id| held(graph, id)).sum();
        held_until.push(held_until[held_until.len() - 1] + own);
    }
    let of_processor = |&processor: &ProcessorIndex| {
        let block_time = |operators: &[millstream_graph::OperatorId]| {
            let times = operators.iter().map(|id| table.time(processor, id.index()));
            times.map(|time| time.map_or(UNSUPPORTED, |time| time.0)).fold(0_u64, u64::saturating_add)
        };
        let mut sums = vec![0_u64];
        let mut gaps = vec![0_usize];
        for block in blocks {
            let time = block_time(&block.operators);
            let supported = time < UNSUPPORTED;
            sums.push(sums[sums.len() - 1] + if supported { time } else { 0 });
            gaps.push(gaps[gaps.len() - 1] + usize::from(!supported));
        }
        let limit = memory.of_label(&table.classes()[processor.index()].cluster).unwrap_or(u64::MAX);
        let mut times = Vec::with_capacity(blocks.len() * (blocks.len() + 1) / 2);
        for end in 1..=blocks.len() {
            for start in 0..end {
                let hand_over = match (table.access(processor), start) {
                    (None, 0) => 0,
                    (None, _) => table.hand_over(processor, bytes.of(start..end)).0,
                    (Some(_), _) => {
                        let cluster = table.classes()[processor.index()].cluster.clone();
                        let replica = Replica::single(Processor::accelerator(cluster), chain.operators(start..end));
                        replica.hand_over(Entry::of_stage(start), graph, table).0
                    }
                };
                let time = sums[end] - sums[start] + hand_over;
                let fits = held_until[end] - held_until[start] + bytes.of(start..end) <= limit;
                times.push(if gaps[end] > gaps[start] || !fits { UNSUPPORTED } else { time.max(1) });
            }
        }
        times
    };
    processors.iter().map(of_processor).collect()
}
