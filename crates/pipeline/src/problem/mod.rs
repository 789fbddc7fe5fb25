//! The problem that searches solve: the processors of a board, the stages of a network, and what each takes on each.
//!
//! Methods of [`Problem`] are in the files of this folder by what they are about: teams, ways to run a stage, senders,
//! what stages take, plans and schedules, and what whole plans draw and occupy. Two more that run a search again are
//! where that is: `lazy_evaluation` evaluates teams in between, and `memory/fitting.rs` takes fewer cores.

pub(crate) mod known_options;
pub(crate) mod link_evaluator;
mod membership;
pub(crate) mod plan_energy;
mod planning;
pub(crate) mod search_settings;
pub(crate) mod shared_capacity;
mod shared_links;
pub(crate) mod stage_costs;
mod stage_senders;
mod stages;
mod ways;
mod with_teams;

use std::sync::Arc;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::CostTable;
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::{CoreCounts, Cores};
use crate::board::processors::Processors;
use crate::error::PipelineError;
use crate::inputs::ProblemInputs;
use crate::problem::known_options::{KnownOptions, OptionCache};
use crate::problem::search_settings::SearchSettings;
use crate::problem::stage_costs::StageCosts;
use crate::teams::progress::{ProgressCallback, SearchProgress};
use crate::teams::team_way::{TeamTimeKind, TeamWay};
use crate::times::crossing_times::CrossingTimes;

/// Stage times of a network on a board, ready for searching.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The board's side.
    pub(crate) processors: Processors,
    /// The network's side: what its stages take on these processors.
    pub(crate) costs: StageCosts,
    /// Sets of processors that may own a stage together.
    pub(crate) teams: Vec<TeamWay>,
    /// What searches may choose from, and what they count.
    pub(crate) settings: SearchSettings,
    /// Options of stages that searches have found; shared by all problems with the same processors.
    pub(crate) known_options: OptionCache,
}

impl Problem {
    /// Collects the times of every possible stage. A stage whose weights and values exceed the memory of an accelerator
    /// does not run there.
    ///
    /// # Errors
    /// [`PipelineError::MissingProcessor`] if the table lacks a processor class of the board, [`PipelineError::Links`]
    /// if its links are too different from each other, [`PipelineError::Unsupported`] if no processor runs some
    /// operator.
    pub fn new(graph: &Graph, chain: &Chain, board: &Board, table: &CostTable) -> Result<Self, PipelineError> {
        let runs = |class: &ProcessorClass, operator: OperatorId| {
            table.find(class).is_some_and(|processor| table.time(processor, operator).is_some())
        };
        let problem = Self::of_board(ProblemInputs { graph, chain, board, table }, None)?;
        let classes: Vec<ProcessorClass> = board.processor_classes().collect();
        let is_orphan = |id: &OperatorId| !classes.iter().any(|class| runs(class, *id));
        match graph.operator_ids().find(is_orphan) {
            Some(id) => Err(PipelineError::Unsupported { operator: graph.operator(id).name.clone() }),
            None => Ok(problem),
        }
    }

    /// Collects the times of every possible stage on a board that need not run all operators. If a sender is given, all
    /// stages but those that begin the network take their frames over from this class.
    ///
    /// # Errors
    /// As [`Problem::new`], but for operators that no processor runs.
    pub(crate) fn of_board(inputs: ProblemInputs<'_>, sender: Option<ProcessorClass>) -> Result<Self, PipelineError> {
        let processors = Processors::of(inputs.board, inputs.table, sender)?;
        let costs = StageCosts::new(inputs, &processors);
        let (settings, known_options) = (SearchSettings::default(), OptionCache::default());
        Ok(Self { processors, costs, teams: Vec::new(), settings, known_options })
    }

    /// The problem with a callback that is told how far searches with teams are. If it returns `false`, the search
    /// stops and returns what it has found.
    #[must_use]
    pub fn with_progress(mut self, should_continue: impl Fn(&SearchProgress) -> bool + Send + Sync + 'static) -> Self {
        self.settings.progress = Some(ProgressCallback::new(should_continue));
        self
    }

    /// The problem with one replica per stage, as in the papers.
    #[must_use]
    pub fn without_replicas(mut self) -> Self {
        self.settings.has_replicas = false;
        self.known_options = OptionCache::default();
        self
    }

    /// The problem with another kind of times of teams' stages.
    pub(crate) fn with_team_times(&self, kind: TeamTimeKind) -> Self {
        let mut other = self.clone();
        other.settings.team_time_kind = kind;
        other
    }

    /// The problem of stages that pay this on top for frames from and to other hosts; nothing on a single board.
    pub(crate) fn with_crossing(&self, crossing: CrossingTimes) -> Self {
        let mut other = self.clone();
        other.costs.crossing = Some(Arc::new(crossing));
        other.known_options = OptionCache::default();
        other
    }

    /// The problem as if the memory that all processors share had room for anything.
    #[must_use]
    pub fn without_memory_limit(mut self) -> Self {
        self.costs.capacity = None;
        self
    }

    /// The problem as if the memory that all processors share had only so many bytes.
    pub(crate) fn with_memory(&self, bytes: u64) -> Self {
        let mut other = self.clone();
        other.costs.capacity = self.costs.capacity.as_ref().map(|capacity| capacity.within(bytes));
        other
    }

    /// The problem with at most so many cores of each cluster.
    pub(crate) fn within(&self, cores: Cores) -> Self {
        let mut within = self.clone();
        within.processors.keep(self.counts().decode(cores));
        within.known_options = OptionCache::default();
        let counts = &within.processors.counts;
        within.teams.retain_mut(|way| match counts.encode(&self.counts().decode(way.cores)) {
            Some(encoded) => {
                way.cores = encoded;
                true
            }
            None => false,
        });
        within
    }

    /// Hands the options of stages that were found by the times that count to a function that may add to them.
    pub(crate) fn with_known_options<T>(&self, with: impl FnOnce(&mut KnownOptions) -> T) -> T {
        let new = || KnownOptions::new(self.all_senders(), self.blocks());
        self.known_options.with(self.settings.team_time_kind, new, with)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.costs.chain.blocks().len()
    }

    /// Number of clusters and accelerators.
    pub(crate) fn cluster_count(&self) -> usize {
        self.processors.clusters.len()
    }

    /// All clusters and then all accelerators.
    pub(crate) fn clusters(&self) -> impl ExactSizeIterator<Item = ClusterId> + DoubleEndedIterator + use<> {
        ClusterId::all(self.cluster_count())
    }

    /// The numbers of cores that pipelines may use.
    #[inline]
    pub(crate) fn counts(&self) -> &CoreCounts {
        &self.processors.counts
    }
}
