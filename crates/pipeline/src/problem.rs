use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use millstream_board::{Accelerator, Board, Cluster, CoreId, EngineSet, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{BlockRange, Chain};

use crate::cores::{CoreCounts, Cores};
use crate::effort::Effort;
use crate::ground::Ground;
use crate::known_options::KnownOptions;
use crate::link_ground::LinkGround;
use crate::memory::{MemoryLimits, SharedCapacity};
use crate::senders::SenderKinds;
use crate::stage_power::ClassPower;
use crate::stage_times::StageTimes;
use crate::team::{Team, TeamWorths};
use crate::team_way::{Reading, TeamWay};
use crate::watch::Watch;
use crate::{PipelineError, SearchProgress};

/// Stage times of a network on a board, ready for searching.
#[derive(Debug, Clone)]
pub struct Problem {
    pub(crate) chain: Chain,
    pub(crate) clusters: Vec<Units>,
    pub(crate) counts: CoreCounts,
    /// Clusters' classes, cluster by cluster, counts ascending: `classes[offset(cluster) + count - 1]`. They have the cluster's first
    /// engine, and stand for all: each stage has the one that is quickest for it.
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
    pub(crate) kinds: SenderKinds,
    /// Times of stages on one class.
    pub(crate) times: StageTimes,
    /// Sets of processors that may own a stage together.
    pub(crate) teams: Vec<TeamWay>,
    /// Options of stages that searches have found, by what counted; shared by all that have the same processors.
    pub(crate) options: Arc<Mutex<HashMap<Reading, KnownOptions>>>,
    pub(crate) watch: Option<Watch>,
    /// What counts of teams' stages that nobody has looked at.
    pub(crate) reading: Reading,
    /// What stages pay on top for frames from and to other hosts; nothing on a single board.
    pub(crate) crossing: Option<Arc<CrossingTimes>>,
    /// Where links are occupied: what shows what several stages take over the same one.
    pub(crate) links: Option<Arc<LinkGround>>,
}

/// What a stage pays for a frame that comes from another host or goes to one, by the place where it begins or ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrossingTimes {
    /// By the number of blocks before it; empty if it is entered from its own host.
    pub(crate) receiving: Vec<Nanoseconds>,
    /// By the number of blocks that are done after it; empty if frames stay on its host.
    pub(crate) sending: Vec<Nanoseconds>,
}

impl CrossingTimes {
    /// What the stage of these blocks pays.
    pub(crate) fn of(&self, blocks: BlockRange) -> Nanoseconds {
        let at = |times: &[Nanoseconds], place: usize| times.get(place).copied().unwrap_or_default();
        at(&self.receiving, blocks.start().index()) + at(&self.sending, blocks.end().index())
    }
}

/// The cores of a cluster, or an accelerator: a cluster of one unit without a core.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    pub(crate) label: String,
    pub(crate) cores: Vec<CoreId>,
    pub(crate) count: usize,
    /// Index of its first class.
    pub(crate) offset: usize,
    /// What may compute there.
    pub(crate) engines: EngineSet,
}

impl Units {
    /// The clusters and then the accelerators of a board, and their classes one after the other.
    fn of(board: &Board) -> (Vec<Self>, Vec<ProcessorClass>) {
        let (mut clusters, mut classes) = (Vec::new(), Vec::new());
        let of_cluster = |cluster: &Cluster| {
            let cores = cluster.cores.iter().map(|core| core.id).collect();
            (cluster.label.clone(), cores, cluster.engines.clone())
        };
        let of_accelerator = |accelerator: &Accelerator| (accelerator.label.clone(), Vec::new(), EngineSet::default());
        let units = board.clusters().iter().map(of_cluster).chain(board.accelerators().iter().map(of_accelerator));
        for (label, cores, engines) in units {
            let cores: Vec<CoreId> = cores;
            let (count, offset) = (cores.len().max(1), classes.len());
            let class = |count| ProcessorClass::new(label.clone(), count).with_engine(engines.first());
            classes.extend((1..=count).map(class));
            clusters.push(Self { label, cores, count, offset, engines });
        }
        (clusters, classes)
    }
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
        let runs = |class: &ProcessorClass, operator: usize| {
            table.find(class).is_some_and(|processor| table.time(processor, operator).is_some())
        };
        let problem = Self::of_board(graph, chain, board, table, None)?;
        let classes: Vec<ProcessorClass> = board.processor_classes().collect();
        let is_orphan = |id: &OperatorId| !classes.iter().any(|class| runs(class, id.index()));
        match graph.operator_ids().find(is_orphan) {
            Some(id) => Err(PipelineError::Unsupported { operator: graph.operator(id).name.clone() }),
            None => Ok(problem),
        }
    }

    /// The same of a board that need not run all operators, where all stages but those that begin the network take their frames over from
    /// this class, if one is given.
    pub(crate) fn of_board(
        graph: &Graph,
        chain: &Chain,
        board: &Board,
        table: &CostTable,
        sender: Option<ProcessorClass>,
    ) -> Result<Self, PipelineError> {
        let (clusters, classes) = Units::of(board);
        let find = |class: ProcessorClass| table.find(&class).ok_or(PipelineError::MissingProcessor { class });
        let with_each_engine = |class: &ProcessorClass| {
            let own = clusters.iter().find(|own: &&Units| own.label == class.cluster);
            let engines = own.into_iter().flat_map(|own| own.engines.iter());
            engines.map(|engine| find(class.clone().with_engine(engine))).collect::<Result<Vec<_>, _>>()
        };

        let processors: Vec<Vec<ProcessorIndex>> = classes.iter().map(with_each_engine).collect::<Result<_, _>>()?;
        let first_classes: Vec<(ProcessorIndex, usize)> =
            clusters.iter().map(|own| (processors[own.offset][0], own.count)).collect();
        let kinds = match sender {
            Some(sender) => SenderKinds::only(sender, clusters.len()),
            None => SenderKinds::new(table, &first_classes),
        };
        if kinds.count() > SenderKinds::MOST {
            return Err(PipelineError::Links { kinds: kinds.count(), most: SenderKinds::MOST });
        }

        let times = StageTimes::new((graph, chain, table), &processors, &kinds, &MemoryLimits::of(board));
        let counts = CoreCounts::new(clusters.iter().map(|cluster| cluster.count).collect());
        // A processor's power does not depend on what computes on it.
        let powers = processors.iter().map(|with_each| ClassPower::of(table, with_each[0])).collect();
        let capacity = SharedCapacity::of(graph, chain, board);
        let ends = || first_classes.iter().map(|(processor, _)| *processor);
        let has_any_link = ends().any(|from| ends().any(|to| table.link(from, to).is_some()));
        let links = times.have_links().then(|| LinkGround::new(graph, table));
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
            crossing: None,
            links,
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
            let Some(cores) = problem.cores_of(classes) else { continue };
            if let Some(team) = Team::new(&ground, classes.clone()) {
                problem.teams.push(TeamWay { cores, team: Arc::new(team), factor: 1.0 });
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

    /// The teams, with what proves the bounds on their times.
    pub fn team_worths(&self) -> impl Iterator<Item = (&[ProcessorClass], &TeamWorths)> {
        self.teams.iter().map(|own| (own.team.classes.as_slice(), own.team.worths()))
    }

    /// The same without stages that several processors own together.
    #[must_use]
    pub fn without_teams(mut self) -> Self {
        self.teams.clear();
        self
    }

    /// Multiplies all times of a team: what running a stage of its showed beyond the prediction. A factor that is no number above 0 changes
    /// nothing.
    pub fn scale_team(&mut self, classes: &[ProcessorClass], factor: f64) {
        let is_factor = factor.is_finite() && factor > 0.0;
        for own in self.teams.iter_mut().filter(|own| is_factor && own.team.classes == classes) {
            own.factor *= factor;
        }
    }

    /// The same as if the memory that all share had room for anything.
    #[must_use]
    pub fn without_memory_limit(mut self) -> Self {
        self.capacity = None;
        self
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.chain.blocks().len()
    }

    pub(crate) fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// The same with at most so many cores of each cluster.
    pub(crate) fn within(&self, cores: Cores) -> Self {
        let counts = self.counts.decode(cores);
        let mut within = self.clone();
        for (cluster, &count) in within.clusters.iter_mut().zip(&counts) {
            cluster.count = count;
            cluster.cores.truncate(count);
        }
        within.counts = CoreCounts::new(counts);
        within.options = Arc::default();
        within.teams.retain_mut(|own| match within.counts.encode(&self.counts.decode(own.cores)) {
            Some(encoded) => {
                own.cores = encoded;
                true
            }
            None => false,
        });
        within
    }
}
