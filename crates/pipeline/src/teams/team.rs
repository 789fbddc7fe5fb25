//! Stages whose processors work on one frame together.

use std::sync::{Arc, OnceLock};

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, Nanoseconds};
use millstream_mapping::{MappingError, ProcessorId};
use millstream_partition::{BlockRange, SubgraphId};

use crate::board::senders::Senders;
use crate::board::stage_power::StagePower;
use crate::teams::context::TeamContext;
use crate::teams::power::drawn;
use crate::teams::solutions::Solutions;
use crate::teams::subgraph_range::SubgraphRange;
use crate::teams::team_bounds::{DualPrices, TeamBounds};
use crate::teams::team_costs::TeamCosts;
use crate::teams::tiles::TileSolutions;
use crate::teams::work::TeamWork;
use crate::times::range_table::RangeTable;
use crate::times::stage_times::possible;

/// What is left of a subgraph's time where it is divided into tiles together with others, as far as one may hope.
const MAY_BE_SAVED: f64 = 0.9;

/// What a stage takes on a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TeamTime {
    /// It can't run there.
    Never,
    /// Not evaluated yet: this is what may be hoped for, which is not proven.
    Hoped(Nanoseconds),
    /// The best way that was found.
    Found(Nanoseconds),
}

/// Several processors that may own a stage together, and what ranges of blocks take them.
///
/// Between two subgraphs the frame passes through the values of a single node, on one processor. So the best way
/// through a range is found subgraph by subgraph, for every processor on which the one before may have ended. That
/// takes long, so it is done where it is asked for; until then there is a bound. What was found is kept for everybody
/// who shares the team.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) classes: Vec<ProcessorClass>,
    pub(crate) class_ids: Vec<ClassId>,
    pub(crate) context: Arc<TeamContext>,
    /// What is known without evaluating anything.
    bounds: TeamBounds,
    /// Per subgraph.
    pub(crate) solutions: Vec<OnceLock<Solutions>>,
    /// Per first subgraph, for each region that begins with it.
    pub(crate) tiles: Vec<Vec<OnceLock<TileSolutions>>>,
    /// Results of ranges, once any part has been evaluated.
    ranges: OnceLock<RangeTable<RangeResult>>,
    /// Whether several of the processors make tiles.
    have_tiles: bool,
}

/// Results of a range of blocks.
#[derive(Debug, Default)]
struct RangeResult {
    /// If its subgraphs are all known, the least time of these one after the other; `None` if there is no way.
    way_through: OnceLock<Option<Nanoseconds>>,
    /// `None` if the team can't run the range after all.
    stage: OnceLock<Option<TeamStage>>,
}

/// A range of blocks that was evaluated as a stage, per senders.
#[derive(Debug)]
struct TeamStage {
    work: Arc<TeamWork>,
    by_senders: Vec<EnteredStage>,
}

/// What a stage takes and draws that takes its frames over from some senders.
#[derive(Debug, Clone, Copy)]
struct EnteredStage {
    /// `None` for more than anybody waits for.
    time: Option<Nanoseconds>,
    /// `None` if the power of one of its processors is not known.
    power: Option<StagePower>,
}

impl Team {
    /// `None` if the table does not know one of the processors.
    pub(crate) fn new(context: &Arc<TeamContext>, classes: Vec<ProcessorClass>) -> Option<Self> {
        let class_ids: Vec<ClassId> = classes.iter().map(|class| context.table.find(class)).collect::<Option<_>>()?;
        let regions = SubgraphId::all(context.subgraphs.len()).map(|start| context.regions.from(start));
        let tiles = regions.map(|regions| regions.iter().map(|_| OnceLock::new()).collect());
        Some(Self {
            bounds: TeamBounds::of(context, &classes, &class_ids),
            solutions: context.subgraphs.iter().map(|_| OnceLock::new()).collect(),
            tiles: tiles.collect(),
            ranges: OnceLock::new(),
            have_tiles: TeamCosts { table: &context.table, class_ids: &class_ids }.have_tiles(),
            context: Arc::clone(context),
            classes,
            class_ids,
        })
    }

    /// What the stage of these blocks takes that takes its frames over from these senders.
    #[inline]
    pub(crate) fn time(&self, senders: Senders, blocks: BlockRange) -> TeamTime {
        match self.result(blocks).and_then(|result| result.stage.get()) {
            Some(stage) => {
                let time = stage.as_ref().and_then(|stage| stage.by_senders[senders.index()].time);
                time.map_or(TeamTime::Never, TeamTime::Found)
            }
            None => self.hoped_time(senders, blocks).map_or(TeamTime::Never, TeamTime::Hoped),
        }
    }

    /// The found time of that stage; `None` also if it was not evaluated.
    #[inline]
    pub(crate) fn found_time(&self, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        self.result(blocks)?.stage.get()?.as_ref()?.by_senders[senders.index()].time
    }

    /// A time that no way to run that stage goes below, by a bound alone; `None` if there is no way.
    pub(crate) fn lower_bound(&self, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let subgraphs = self.runnable_subgraphs(blocks)?;
        self.with_hand_over(self.bounds.least_time(subgraphs), senders, blocks)
    }

    /// The proof of the bounds on the times of subgraphs.
    pub(crate) fn dual_prices(&self) -> &DualPrices {
        self.bounds.dual_prices()
    }

    /// The bound on the time of a subgraph.
    fn least_time(&self, subgraph: SubgraphId) -> Nanoseconds {
        self.bounds.least_time(SubgraphRange::single(subgraph))
    }

    /// The time of that stage as far as one may hope: of subgraphs that were evaluated, what was found counts, and of
    /// others what that makes one expect.
    fn hoped_time(&self, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let subgraphs = self.runnable_subgraphs(blocks)?;
        self.with_hand_over(self.hoped(blocks, subgraphs)?, senders, blocks)
    }

    /// The subgraphs that these blocks consist of; `None` if they end within one, or the team can't run them.
    fn runnable_subgraphs(&self, blocks: BlockRange) -> Option<SubgraphRange> {
        self.context.subgraphs_of(blocks).filter(|&subgraphs| self.bounds.can_run(subgraphs))
    }

    /// The time of a stage whose subgraphs take so long, with the least that handing over takes; `None` if that is
    /// impossible.
    fn with_hand_over(&self, time: Nanoseconds, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        let hand_over = if blocks.begins_chain() { Nanoseconds::ZERO } else { self.bounds.least_hand_over(senders) };
        possible(time + hand_over)
    }

    /// What these subgraphs may take: one after the other, if all of them were evaluated.
    fn hoped(&self, blocks: BlockRange, subgraphs: SubgraphRange) -> Option<Nanoseconds> {
        let result = self.result(blocks);
        if let Some(&time) = result.and_then(|result| result.way_through.get()) {
            return time;
        }
        let (mut least, mut are_known) = (Nanoseconds::ZERO, true);
        for subgraph in subgraphs.ids() {
            let expected = match self.solutions[subgraph.index()].get() {
                Some(solutions) => solutions.least()?,
                None => {
                    are_known = false;
                    let experience = &self.context.experience;
                    experience.expected(subgraph, self.classes.len(), self.least_time(subgraph))
                }
            };
            // What dividing it into tiles together with others may save shows only once all of them are known.
            let may_save = self.have_tiles && self.context.regions.cover(subgraph);
            least += if may_save { Nanoseconds((expected.0 as f64 * MAY_BE_SAVED) as u64) } else { expected };
        }
        let Some(result) = result.filter(|_| are_known) else { return Some(least) };
        let steps = self.steps(subgraphs);
        let shortest = || steps.last()?.iter().flatten().map(|reached| reached.time).min();
        *result.way_through.get_or_init(shortest)
    }

    /// Energy and power of a stage that was evaluated; `None` if the power of one of its processors is not known.
    pub(crate) fn power(&self, senders: Senders, blocks: BlockRange) -> Option<StagePower> {
        self.result(blocks)?.stage.get()?.as_ref()?.by_senders[senders.index()].power
    }

    /// What a stage that was not evaluated draws if each operator runs where it takes the least energy; `None` if the
    /// power of a processor is not known, or if the team does not run these blocks.
    pub(crate) fn least_power(&self, blocks: BlockRange) -> Option<StagePower> {
        self.bounds.least_power(self.context.subgraphs_of(blocks)?)
    }

    /// What each processor does of a stage that was evaluated.
    pub(crate) fn work(&self, blocks: BlockRange) -> Option<&Arc<TeamWork>> {
        Some(&self.result(blocks)?.stage.get()?.as_ref()?.work)
    }

    fn result(&self, blocks: BlockRange) -> Option<&RangeResult> {
        Some(self.ranges.get()?.at(blocks))
    }

    /// What all teams of the problem have in common.
    pub(crate) fn context(&self) -> &TeamContext {
        &self.context
    }

    /// Evaluates one more part of a range of blocks: a subgraph of it, or the whole once all subgraphs are known.
    /// Returns whether all is known now.
    pub(crate) fn evaluate_next_part(&self, blocks: BlockRange) -> Result<bool, MappingError> {
        let Some(subgraphs) = self.context.subgraphs_of(blocks) else { return Ok(true) };
        let all = self.context.chain.blocks().len();
        let ranges = self.ranges.get_or_init(|| RangeTable::of(all, |_| RangeResult::default()));
        let weight = |id: &SubgraphId| self.least_time(*id);
        let open = subgraphs.ids().filter(|id| self.solutions[id.index()].get().is_none()).max_by_key(weight);
        let Some(id) = open else {
            ranges.at(blocks).stage.get_or_init(|| self.stage(blocks));
            return Ok(true);
        };
        let may_be_first = self.context.subgraphs_until.contains(&Some(id));
        let solutions = Solutions::find(&self.context, &self.classes, &self.class_ids, id, may_be_first)?;
        let least = solutions.least();
        if let (Ok(()), Some(least)) = (self.solutions[id.index()].set(solutions), least) {
            self.context.experience.add(id, self.classes.len(), self.least_time(id), least);
        }
        Ok(false)
    }

    /// The team's processors.
    pub(crate) fn processors(&self) -> impl Iterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.classes.len())
    }

    /// What the schedule of these blocks takes, and what it draws: processors that are free early may begin the next
    /// subgraph, so this can be less than the subgraphs one after the other.
    fn stage(&self, blocks: BlockRange) -> Option<TeamStage> {
        let TeamContext { graph, table, memory, kinds, .. } = &*self.context;
        let work = self.divided(blocks)?;
        let replica = work.replica(self.classes.iter().map(ProcessorClass::stand_in).collect());
        if !memory.allow(&replica, graph) {
            return None;
        }
        let execution = replica.execute(graph, table).ok()?;
        let receivers: Vec<&str> = self.classes.iter().map(|class| class.cluster.as_str()).collect();
        let entered = |senders: Senders| {
            let hand_over = replica.hand_over(&kinds.entry(senders, blocks.start(), &receivers), graph, table);
            EnteredStage {
                time: possible(hand_over + execution.makespan()),
                power: drawn(&replica, &execution, hand_over, table),
            }
        };
        Some(TeamStage { work: Arc::new(work), by_senders: kinds.all().map(entered).collect() })
    }
}
