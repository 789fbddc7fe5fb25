use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use millstream_board::{Accelerator, Board, Cluster, CoreId, Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::{LinkUse, Replica, Schedule, Stage, shared_period};

use crate::allocations::KnownOptions;
use crate::cores::CoreCounts;
use crate::effort::Effort;
use crate::energy::ClassPower;
use crate::memory::{MemoryLimits, SharedCapacity};
use crate::senders::{SenderKinds, Senders};
use crate::stage_times::StageTimes;
use crate::team::{Ground, Team, TeamTime};
use crate::watch::Watch;
use crate::{PipelineError, Plan, PlannedReplica, PlannedStage, SearchProgress};

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
    /// What the memory that all share has room for, where that is known.
    pub(crate) capacity: Option<SharedCapacity>,
    /// Whether anything is known of a way between clusters.
    pub(crate) has_any_link: bool,
    /// Which clusters hand over alike.
    kinds: SenderKinds,
    /// Times of stages on one class.
    times: StageTimes,
    /// Sets of processors that may own a stage together. They are numbered after the classes.
    pub(crate) teams: Vec<TeamWay>,
    /// Options of stages that searches have found; shared by all that have the same processors.
    pub(crate) options: Arc<Mutex<Option<KnownOptions>>>,
    watch: Option<Watch>,
    /// What counts of teams' stages that nobody has looked at.
    pub(crate) reading: Reading,
}

/// A team as a way to run stages.
#[derive(Debug, Clone)]
pub(crate) struct TeamWay {
    /// Its encoded numbers of cores.
    pub(crate) size: usize,
    pub(crate) team: Arc<Team>,
    /// What its times are multiplied by.
    factor: f64,
}

/// Which times of teams' stages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Those that were found; what nobody has looked at is left out.
    Found,
    /// The same, and what may be hoped for of others, which is not proven.
    Hoped,
    /// The bounds of all.
    Least,
}

impl TeamWay {
    fn time(&self, reading: Reading, senders: Senders, start: usize, end: usize) -> u64 {
        let scaled = |time: u64| {
            if self.factor == 1.0 { time } else { (time as f64 * self.factor.max(0.0)).round() as u64 }
        };
        if reading == Reading::Least {
            return self.team.lower_bound(senders, start, end).unwrap_or(UNSUPPORTED);
        }
        match self.team.time(senders, start, end) {
            TeamTime::Found(time) => scaled(time),
            TeamTime::Hoped(time) if reading == Reading::Hoped => scaled(time),
            TeamTime::Never | TeamTime::Hoped(_) => UNSUPPORTED,
        }
    }
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
    /// [`PipelineError::MissingProcessor`] if the table lacks a processor class of the board, [`PipelineError::Links`] if its links are too
    /// different from each other,
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
        let first_classes: Vec<(ProcessorIndex, usize)> =
            clusters.iter().map(|own| (processors[own.offset], own.count)).collect();
        let kinds = SenderKinds::new(table, &first_classes);
        if kinds.count() > SenderKinds::MOST {
            return Err(PipelineError::Links { kinds: kinds.count(), most: SenderKinds::MOST });
        }
        let times = StageTimes::new((graph, chain, table), &processors, &kinds, &MemoryLimits::of(board));
        let counts = CoreCounts::new(clusters.iter().map(|cluster| cluster.count).collect());
        let powers = processors.iter().map(|&processor| ClassPower::of(table, processor)).collect();
        let capacity = SharedCapacity::of(graph, chain, board);
        let ends = || first_classes.iter().map(|(processor, _)| *processor);
        let has_any_link = ends().any(|from| ends().any(|to| table.link(from, to).is_some()));
        let chain = chain.clone();
        Ok(Self {
            chain,
            clusters,
            counts,
            classes,
            powers,
            has_replicas: true,
            capacity,
            has_any_link,
            kinds,
            times,
            teams: Vec::new(),
            options: Arc::default(),
            watch: None,
            reading: Reading::Found,
        })
    }

    /// As [`Problem::new`], with stages that several processors own together as well: operators that do not depend on each other
    /// run side by side, and single operators are divided by output channels where that helps. `teams` names the processors
    /// of each; [`teams_of()`](crate::teams_of()) lists sensible ones.
    ///
    /// A team's stage starts and ends where all of the frame is in the values of one merged operator. How a team runs a stage is found by
    /// the searches, where it may matter: before that there is a bound on the time that it takes. A stage may have several teams as
    /// replicas, beside single processors.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn with_teams(
        graph: &Graph,
        chain: &Chain,
        board: &Board,
        table: &CostTable,
        teams: &[Vec<ProcessorClass>],
    ) -> Result<Self, PipelineError> {
        Self::with_teams_and_effort((graph, chain, board, table), teams, Effort::USUAL)
    }

    /// The same, for searches that take more effort or less.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn with_teams_and_effort(
        (graph, chain, board, table): (&Graph, &Chain, &Board, &CostTable),
        teams: &[Vec<ProcessorClass>],
        effort: Effort,
    ) -> Result<Self, PipelineError> {
        let mut problem = Self::new(graph, chain, board, table)?;
        let ground = Arc::new(Ground::new((graph, chain, table), MemoryLimits::of(board), &problem.kinds, effort));
        for classes in teams {
            let Some(size) = problem.size_of(classes) else { continue };
            if let Some(team) = Team::new(&ground, classes.clone()) {
                problem.teams.push(TeamWay { size, team: Arc::new(team), factor: 1.0 });
            }
        }
        Ok(problem)
    }

    /// The same, telling somebody how searches with teams go on. A search that is told not to go on returns what it has found.
    #[must_use]
    pub fn watched(self, watch: impl Fn(&SearchProgress) -> bool + Send + Sync + 'static) -> Self {
        Self { watch: Some(Watch::new(watch)), ..self }
    }

    /// Whether nobody says that a search should not go on.
    pub(crate) fn goes_on(&self, progress: &SearchProgress) -> bool {
        self.watch.as_ref().is_none_or(|watch| watch.wants_more(progress))
    }

    /// The same with one replica per stage, as in the papers.
    #[must_use]
    pub fn without_replicas(mut self) -> Self {
        self.has_replicas = false;
        self.options = Arc::default();
        self
    }

    /// Whether several processors may own a stage together.
    pub fn has_teams(&self) -> bool {
        !self.teams.is_empty()
    }

    /// The same without stages that several processors own together.
    #[must_use]
    pub fn without_teams(mut self) -> Self {
        self.teams.clear();
        self
    }

    /// Multiplies all times of a team: what running a stage of its showed beyond the prediction.
    pub fn scale_team(&mut self, classes: &[ProcessorClass], factor: f64) {
        for own in self.teams.iter_mut().filter(|own| own.team.classes == classes) {
            own.factor *= factor;
        }
    }

    /// The same as if the memory that all share had room for anything.
    #[must_use]
    pub fn without_memory_limit(mut self) -> Self {
        self.capacity = None;
        self
    }

    /// Of what a search found, what fits into the memory that all share. If something did not, the search goes on with fewer cores and without
    /// replicas, and the network on each single processor is there as well. This finds what fits, not always the best of it.
    ///
    /// # Errors
    /// [`PipelineError::Memory`] if nothing fits.
    pub(crate) fn fitting(
        &self,
        found: Vec<Plan>,
        search: impl Fn(&Self) -> Result<Vec<Plan>, PipelineError>,
    ) -> Result<Vec<Plan>, PipelineError> {
        let Some(capacity) = self.capacity.as_ref().filter(|own| !found.iter().all(|plan| own.has_room_for(plan)))
        else {
            return Ok(found);
        };
        let mut plans = found;
        let unlimited = self.clone().without_memory_limit().without_teams();
        for size in 1..self.counts.len() {
            let within = unlimited.within(size);
            plans.extend(search(&within.clone().without_replicas()).unwrap_or_default());
            plans.extend(search(&within).unwrap_or_default());
        }
        let whole = |class: &usize| self.time(*class, Senders::NETWORK, 0, self.blocks()) < UNSUPPORTED;
        let alone = (0..self.classes.len()).filter(whole);
        plans.extend(alone.map(|class| self.plan(vec![(0..self.blocks(), vec![class])])));
        let fitting: Vec<Plan> = plans.iter().filter(|plan| capacity.has_room_for(plan)).cloned().collect();
        if fitting.is_empty() { Err(capacity.exceeded_by(&plans)) } else { Ok(fitting) }
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
        let is_wanted = |own: &TeamWay| {
            let mut own: Vec<&ProcessorClass> = own.team.classes.iter().collect();
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

    /// Time of the stage of blocks `start..end` on a class or a team, which takes its frames over from these senders; at least
    /// [`UNSUPPORTED`] if it can't run there.
    #[inline]
    pub(crate) fn time(&self, class: usize, senders: Senders, start: usize, end: usize) -> u64 {
        match class.checked_sub(self.times.classes()) {
            None => self.times.time(class, senders, start, end),
            Some(team) => self.teams[team].time(self.reading, senders, start, end),
        }
    }

    /// What that stage occupies of the link to its cluster; 0 for nothing.
    #[inline]
    pub(crate) fn link_time(&self, class: usize, senders: Senders, start: usize, end: usize) -> u64 {
        if class < self.times.classes() { self.times.link_time(class, senders, start, end) } else { 0 }
    }

    /// Whether stages occupy links.
    pub(crate) fn has_links(&self) -> bool {
        self.times.have_links()
    }

    /// What replicas of a stage occupy of links, one by one.
    pub(crate) fn links(&self, classes: &[usize], senders: Senders, blocks: &Range<usize>) -> Vec<Option<LinkUse>> {
        if !self.times.have_links() {
            return vec![None; classes.len()];
        }
        let link = |&class: &usize| {
            let time = Nanoseconds(self.link_time(class, senders, blocks.start, blocks.end));
            let receiver = &self.classes.get(class)?.cluster;
            (time > Nanoseconds::ZERO).then(|| LinkUse { receiver: receiver.clone(), time })
        };
        classes.iter().map(link).collect()
    }

    /// All sets of clusters that a stage may take its frames over from, as far as they differ.
    pub(crate) fn all_senders(&self) -> impl Iterator<Item = Senders> + use<> {
        self.kinds.all()
    }

    /// What a stage on these encoded numbers of cores is to the stage after it.
    pub(crate) fn senders_of_size(&self, size: usize) -> Senders {
        let used = self.counts.decode(size);
        self.kinds.of((0..used.len()).filter(|&cluster| used[cluster] > 0))
    }

    /// What a stage on these clusters is to the stage after it: a bit for each.
    pub(crate) fn senders_of_mask(&self, mask: usize) -> Senders {
        self.kinds.of((0..self.clusters.len()).filter(|cluster| mask >> cluster & 1 == 1))
    }

    /// What a stage on these classes or this team is to the stage after it.
    pub(crate) fn senders(&self, classes: &[usize]) -> Senders {
        let of_class = |&class: &usize| match self.team(class) {
            Some(team) => team.classes.iter().collect::<Vec<_>>(),
            None => self.classes.get(class).into_iter().collect(),
        };
        let labels = classes.iter().flat_map(of_class).map(|class| &class.cluster);
        self.kinds.of(labels.filter_map(|label| self.clusters.iter().position(|cluster| cluster.label == *label)))
    }

    /// The team of this number, counted after the classes.
    pub(crate) fn team(&self, class: usize) -> Option<&Team> {
        self.teams.get(class.checked_sub(self.classes.len())?).map(|own| &*own.team)
    }

    /// The team of these processors.
    fn team_of(&self, classes: &[ProcessorClass]) -> Option<&Team> {
        self.teams.iter().find(|own| own.team.classes == classes).map(|own| &*own.team)
    }

    /// The same with other times of teams' stages.
    pub(crate) fn reading(&self, reading: Reading) -> Self {
        Self { reading, ..self.clone() }
    }

    /// The numbers of a stage's classes and teams; `None` if there is no such team.
    pub(crate) fn ways_of(&self, stage: &PlannedStage) -> Option<Vec<usize>> {
        let way = |replica: &PlannedReplica| self.class_of(&replica.processors.iter().collect::<Vec<_>>());
        stage.replicas.iter().map(way).collect()
    }

    /// A plan of these stages, with its period and latency.
    pub(crate) fn plan(&self, mut stages: Vec<(Range<usize>, Vec<usize>)>) -> Plan {
        let mut plan = Plan { stages: Vec::new(), period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
        let mut senders = Senders::NETWORK;
        for (blocks, classes) in &mut stages {
            classes.sort_unstable();
            let time = |&class: &usize| Nanoseconds(self.time(class, senders, blocks.start, blocks.end));
            let times: Vec<Nanoseconds> = classes.iter().map(time).collect();
            plan.period = plan.period.max(shared_period(&times, &self.links(classes, senders, blocks)));
            senders = self.senders(classes);
            plan.latency += times.iter().copied().max().unwrap_or_default();
            let processors = |way: usize| match self.team(way) {
                Some(team) => team.classes.clone(),
                None => vec![self.classes[way].clone()],
            };
            let replicas = classes.iter().zip(times);
            let replicas = replicas.map(|(&way, time)| PlannedReplica { processors: processors(way), time });
            plan.stages.push(PlannedStage { blocks: blocks.clone(), replicas: replicas.collect() });
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
        within.options = Arc::default();
        within.teams.retain_mut(|own| match within.counts.encode(&self.counts.decode(own.size)) {
            Some(encoded) => {
                own.size = encoded;
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
        for class in plan.stages.iter().flat_map(PlannedStage::processors) {
            if let Some(place) = self.clusters.iter().position(|cluster| cluster.label == class.cluster) {
                given[place] += class.count;
            }
        }
        let mut processor = |class: &ProcessorClass| {
            let cores = free.get_mut(class.cluster.as_str()).into_iter().flatten().take(class.count).copied();
            Processor { cluster: class.cluster.clone(), cores: cores.collect() }
        };
        let stages = plan.stages.iter().map(|stage| {
            let replica = |own: &PlannedReplica| {
                let processors: Vec<Processor> = own.processors.iter().map(&mut processor).collect();
                let team = Some(own).filter(|own| own.is_team()).and_then(|own| self.team_of(&own.processors));
                if let Some(team) = team {
                    // Whoever made the plan has looked at it before, so that this can't fail.
                    while team.look_at(&stage.blocks).is_ok_and(|is_known| !is_known) {}
                    return team.replica(&stage.blocks, processors);
                }
                let single = processors.into_iter().next().filter(|_| !own.is_team());
                single.map(|own| Replica::single(own, self.chain.operators(stage.blocks.clone())))
            };
            Stage { replicas: stage.replicas.iter().filter_map(replica).collect() }
        });
        Schedule { stages: stages.collect() }
    }
}
