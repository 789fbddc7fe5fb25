//! Stages whose processors work on one frame together.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::OperatorId;
use millstream_mapping::{MappingError, ProcessorId};
use millstream_partition::{BlockId, BlockRange};
use millstream_schedule::execution::Execution;
use millstream_schedule::{Entry, Replica};

use crate::ground::Ground;
use crate::range_table::RangeTable;
use crate::senders::Senders;
use crate::stage_power::{ClassPower, StagePower};
use crate::stage_times::possible;
use crate::team_bounds::has_tiles;
use crate::team_solution::Solutions;
use crate::team_tiles::TileSolutions;
use crate::team_work::TeamWork;

/// What is left of a subgraph's time where it is divided by rows together with others, as far as one may hope.
const MAY_BE_SAVED: f64 = 0.9;

/// What a stage takes on a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TeamTime {
    /// It can't run there.
    Never,
    /// Nobody has looked for the best way yet: this is what may be hoped for, which is not proven.
    Hoped(Nanoseconds),
    /// The best way that was found.
    Found(Nanoseconds),
}

/// Several processors that may own a stage together, and what ranges of blocks take them.
///
/// Between two subgraphs the frame passes through the values of a single node, on one processor. So the best way through a range
/// is found subgraph by subgraph, for every processor on which the one before may have ended. That takes long, so it is done where it is
/// asked for; until then there is a bound. What was found is kept for everybody who shares the team.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) classes: Vec<ProcessorClass>,
    pub(crate) processors: Vec<ProcessorIndex>,
    pub(crate) ground: Arc<Ground>,
    /// The least time of the first so many subgraphs, and how many of these have an operator that no processor of the team runs.
    least_until: Vec<u64>,
    unsupported_until: Vec<usize>,
    /// What proves the least times.
    worths: TeamWorths,
    /// If the power of all processors is known: what the first so many subgraphs draw at least, and the idle power of all.
    least_power: Option<LeastPower>,
    /// Per senders: the least that a stage pays which does not begin the network.
    least_hand_over: Vec<u64>,
    /// Per subgraph.
    pub(crate) solutions: Vec<OnceLock<Solutions>>,
    /// Per first subgraph, for each region that begins with it.
    pub(crate) tiles: Vec<Vec<OnceLock<TileSolutions>>>,
    /// What is known of ranges, once the team has been looked at.
    ranges: OnceLock<RangeTable<RangeKnown>>,
    /// Whether several of the processors make tiles of rows.
    has_tiles: bool,
}

/// What the time of a team's processors is worth, in billionths of what all of it is worth: what its operators are worth by that, each where
/// it is cheapest, is a bound on its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamWorths {
    /// For each subgraph, of each processor; nothing where the longest path is no shorter.
    pub subgraphs: Vec<Vec<u64>>,
    /// For all subgraphs that may be divided by rows; nothing if there are none.
    pub tiles: Vec<u64>,
}

#[derive(Debug)]
struct LeastPower {
    joules_until: Vec<f64>,
    idle_watts: f64,
}

/// What is known of a range of blocks.
#[derive(Debug, Default)]
struct RangeKnown {
    /// If its subgraphs are all known, the least time of these one after the other; `None` if there is no way.
    way_through: OnceLock<Option<u64>>,
    /// `None` if the team can't run the range after all.
    stage: OnceLock<Option<TeamStage>>,
}

/// A range of blocks that was looked at, per senders.
#[derive(Debug)]
struct TeamStage {
    work: Arc<TeamWork>,
    /// `None` for more than anybody waits for.
    times: Vec<Option<Nanoseconds>>,
    /// Missing where the power of one of its processors is not known.
    powers: Vec<Option<StagePower>>,
}

impl Team {
    /// `None` if the table does not know one of the processors.
    pub(crate) fn new(ground: &Arc<Ground>, classes: Vec<ProcessorClass>) -> Option<Self> {
        let processors: Vec<ProcessorIndex> =
            classes.iter().map(|class| ground.table.find(class)).collect::<Option<_>>()?;
        let mut least_until = vec![0_u64];
        let mut unsupported_until = vec![0];
        let least_times = ground.windows.least_times(&ground.table, &processors);
        for (index, subgraph) in ground.subgraphs.iter().enumerate() {
            let runs = |id: OperatorId| processors.iter().any(|&own| ground.table.time(own, id.index()).is_some());
            let is_unsupported = !subgraph.operators().all(runs);
            least_until.push(least_until[index].saturating_add(least_times.nanoseconds[index]));
            unsupported_until.push(unsupported_until[index] + usize::from(is_unsupported));
        }

        let receivers: Vec<&str> = classes.iter().map(|class| class.cluster.as_str()).collect();
        let least_hand_over = ground.kinds.all().map(|senders| {
            let Entry::Stage { senders } = ground.kinds.entry(senders, BlockId::new(1), &receivers) else { return 0 };
            let from = || senders.iter().filter_map(|class| ground.table.find(class));
            let of = |&to: &ProcessorIndex| {
                from().map(|from| ground.table.hand_over(from, to, ground.least_bytes).0).max().unwrap_or(0)
            };
            processors.iter().map(of).min().unwrap_or(0)
        });

        let regions = (0..ground.subgraphs.len()).map(|start| ground.regions.from(start));
        let tiles = regions.map(|regions| regions.iter().map(|_| OnceLock::new()).collect());
        Some(Self {
            least_power: LeastPower::of(ground, &processors),
            least_hand_over: least_hand_over.collect(),
            solutions: ground.subgraphs.iter().map(|_| OnceLock::new()).collect(),
            tiles: tiles.collect(),
            ranges: OnceLock::new(),
            has_tiles: has_tiles(&ground.table, &processors),
            ground: Arc::clone(ground),
            classes,
            processors,
            least_until,
            unsupported_until,
            worths: TeamWorths { subgraphs: least_times.worths, tiles: least_times.tile_worths },
        })
    }

    /// What the stage of these blocks takes that takes its frames over from these senders.
    #[inline]
    pub(crate) fn time(&self, senders: Senders, blocks: BlockRange) -> TeamTime {
        match self.known(blocks).and_then(|known| known.stage.get()) {
            Some(stage) => {
                let time = stage.as_ref().and_then(|stage| stage.times[senders.index()]);
                time.map_or(TeamTime::Never, TeamTime::Found)
            }
            None => self.bound(senders, blocks, true).map_or(TeamTime::Never, TeamTime::Hoped),
        }
    }

    /// What was found of that stage; `None` also if nobody has looked at it.
    #[inline]
    pub(crate) fn found(&self, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        self.known(blocks)?.stage.get()?.as_ref()?.times[senders.index()]
    }

    /// A time that no way to run that stage goes below, by a bound alone; `None` if there is no way.
    pub(crate) fn lower_bound(&self, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        self.bound(senders, blocks, false)
    }

    /// What proves the bounds on the times of subgraphs.
    pub(crate) fn worths(&self) -> &TeamWorths {
        &self.worths
    }

    /// The bound on the time of a subgraph.
    fn least_time(&self, subgraph: usize) -> u64 {
        self.least_until[subgraph + 1] - self.least_until[subgraph]
    }

    /// The least time of a range; `with_found`: of subgraphs that were looked at, what was found counts, and of others what that makes one
    /// expect.
    fn bound(&self, senders: Senders, blocks: BlockRange, with_found: bool) -> Option<Nanoseconds> {
        let Range { start, end } = self.ground.subgraphs_of(blocks)?;
        if self.unsupported_until[end] > self.unsupported_until[start] {
            return None;
        }
        let hand_over = if blocks.begins_chain() { 0 } else { self.least_hand_over[senders.index()] };
        let least = match with_found {
            true => self.hoped(blocks, start..end)?,
            false => self.least_until[end] - self.least_until[start],
        };
        possible(Nanoseconds(least.saturating_add(hand_over)))
    }

    /// The least time of subgraphs, where what was found counts: of those one after the other, if all of them are known.
    fn hoped(&self, blocks: BlockRange, subgraphs: Range<usize>) -> Option<u64> {
        let own = self.known(blocks);
        if let Some(&known) = own.and_then(|own| own.way_through.get()) {
            return known;
        }
        let (mut least, mut are_known) = (0, true);
        for subgraph in subgraphs.clone() {
            let expected = match self.solutions[subgraph].get() {
                Some(found) => found.least()?,
                None => {
                    are_known = false;
                    let experience = &self.ground.experience;
                    experience.expected(subgraph, self.classes.len(), self.least_time(subgraph))
                }
            };
            // What dividing it by rows together with others may save shows only once all of them are known.
            let may_save = self.has_tiles && self.ground.regions.cover(subgraph);
            least += if may_save { (expected as f64 * MAY_BE_SAVED) as u64 } else { expected };
        }
        let Some(own) = own.filter(|_| are_known) else { return Some(least) };
        let steps = self.steps(subgraphs);
        let shortest = || steps.last()?.iter().flatten().map(|reached| reached.time).min();
        *own.way_through.get_or_init(shortest)
    }

    /// Energy and power of a stage that was looked at; `None` if the power of one of its processors is not known.
    pub(crate) fn power(&self, senders: Senders, blocks: BlockRange) -> Option<StagePower> {
        self.known(blocks)?.stage.get()?.as_ref()?.powers[senders.index()]
    }

    /// What a stage that nobody has looked at draws if each operator runs where it takes the least energy; `None` if the power of a processor
    /// is not known, or if the team does not run these blocks.
    pub(crate) fn least_power(&self, blocks: BlockRange) -> Option<StagePower> {
        let Range { start, end } = self.ground.subgraphs_of(blocks)?;
        let LeastPower { joules_until, idle_watts } = self.least_power.as_ref()?;
        Some(StagePower { active_joules: joules_until[end] - joules_until[start], idle_watts: *idle_watts })
    }

    /// Who does what of a stage that was looked at.
    pub(crate) fn work(&self, blocks: BlockRange) -> Option<&Arc<TeamWork>> {
        Some(&self.known(blocks)?.stage.get()?.as_ref()?.work)
    }

    fn known(&self, blocks: BlockRange) -> Option<&RangeKnown> {
        Some(self.ranges.get()?.at(blocks))
    }

    /// What all teams of the problem have in common.
    pub(crate) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Looks at one more part of a range of blocks: at a subgraph of it, or at the whole once all subgraphs are known. Returns whether there is
    /// nothing more to look at.
    pub(crate) fn look_at(&self, blocks: BlockRange) -> Result<bool, MappingError> {
        let Some(subgraphs) = self.ground.subgraphs_of(blocks) else { return Ok(true) };
        let all = self.ground.chain.blocks().len();
        let ranges = self.ranges.get_or_init(|| RangeTable::of(all, |_| RangeKnown::default()));
        let weight = |index: &usize| self.least_time(*index);
        let open = subgraphs.filter(|&index| self.solutions[index].get().is_none()).max_by_key(weight);
        let Some(index) = open else {
            ranges.at(blocks).stage.get_or_init(|| self.stage(blocks));
            return Ok(true);
        };
        let may_be_first = self.ground.subgraphs_until.contains(&Some(index));
        let found = Solutions::find(&self.ground, &self.classes, &self.processors, index, may_be_first)?;
        let least = found.least();
        if let (Ok(()), Some(least)) = (self.solutions[index].set(found), least) {
            self.ground.experience.add(index, self.classes.len(), self.least_time(index), least);
        }
        Ok(false)
    }

    /// The team's processors.
    pub(crate) fn places(&self) -> impl Iterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.classes.len())
    }

    /// What the schedule of these blocks takes, and what it draws: processors that are free early may begin the next subgraph, so this
    /// can be less than the subgraphs one after the other.
    fn stage(&self, blocks: BlockRange) -> Option<TeamStage> {
        let Ground { graph, table, memory, kinds, .. } = &*self.ground;
        let work = self.divided(blocks)?;
        let replica = work.replica(self.classes.iter().map(ProcessorClass::stand_in).collect());
        if !memory.allow(&replica, graph) {
            return None;
        }
        let execution = replica.execute(graph, table).ok()?;
        let receivers: Vec<&str> = self.classes.iter().map(|class| class.cluster.as_str()).collect();
        let mut stage = TeamStage { work: Arc::new(work), times: Vec::new(), powers: Vec::new() };
        for senders in kinds.all() {
            let hand_over = replica.hand_over(&kinds.entry(senders, blocks.start(), &receivers), graph, table);
            stage.times.push(possible(hand_over + execution.makespan()));
            stage.powers.push(drawn(&replica, &execution, hand_over, table));
        }
        Some(stage)
    }
}

impl LeastPower {
    fn of(ground: &Ground, processors: &[ProcessorIndex]) -> Option<Self> {
        let powers: Vec<ClassPower> =
            processors.iter().map(|&own| ClassPower::of(&ground.table, own)).collect::<Option<_>>()?;
        let of_operator = |id: OperatorId| {
            let joules = processors.iter().zip(&powers).filter_map(|(&own, power)| {
                ground.table.time(own, id.index()).map(|time| power.for_time(time).active_joules)
            });
            joules.min_by(f64::total_cmp).unwrap_or(0.0)
        };
        let mut joules_until = vec![0.0];
        for (index, subgraph) in ground.subgraphs.iter().enumerate() {
            joules_until.push(joules_until[index] + subgraph.operators().map(of_operator).sum::<f64>());
        }
        Some(Self { joules_until, idle_watts: powers.iter().map(|own| own.idle_watts).sum() })
    }
}

/// What a replica draws; `None` if the power of one of its processors is not known.
fn drawn(replica: &Replica, execution: &Execution, hand_over: Nanoseconds, table: &CostTable) -> Option<StagePower> {
    let mut total = StagePower::default();
    for (assignment, &busy) in replica.assignments.iter().zip(execution.busy()) {
        let busy = busy + hand_over;
        let power = ClassPower::of(table, table.find(&assignment.processor.class())?)?;
        total.active_joules += power.more_watts * busy.seconds();
        total.idle_watts += power.idle_watts;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::Board;
    use millstream_cost::{BlockedEnd, HandOver, LinkCost, PartCost, RowCost, TransferModel};
    use millstream_graph::{Along, Graph};
    use millstream_partition::Chain;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::range_table::ranges;
    use crate::{Problem, teams_of};

    const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "pairs", "clusters": [
        {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]},
        {"label": "s", "capacity": 300, "cores": [{"id": 2}, {"id": 3}]}],
        "accelerators": [{"label": "G", "kind": "gpu"}]}"#;

    /// So that some operators wait for memory, and others don't.
    const MEMORY_BYTES_PER_SECOND: f64 = 3e9;

    /// Times, parts, transfers and links of all sorts.
    fn table(graph: &Graph, board: &Board, has_tiles: bool, random: &mut ChaCha8Rng) -> CostTable {
        let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
        let waves = [1, 1, 4, 24];
        for processor in table.processors() {
            let speed = random.random_range(0.3..3.0);
            let makes_tiles = has_tiles && random.random_bool(0.8);
            for id in graph.operator_ids() {
                if processor.index() > 0 && random.random_bool(0.03) {
                    continue;
                }
                let work = graph.operator(id).work.macs as f64 / 1e3 + 300.0;
                let time = work / speed * random.random_range(0.5..2.0);
                table.set_time(processor, id.index(), Nanoseconds(time as u64));
                let wave = waves[random.random_range(0..waves.len())];
                let apart = Nanoseconds(random.random_range(0..900));
                let part = PartCost { fixed_fraction: random.random_range(0.0..0.3), wave, apart };
                table.set_part(processor, id.index(), part);
                if makes_tiles {
                    let [start, read, write] = [900, 500, 700].map(|most| Nanoseconds(random.random_range(0..most)));
                    let rows = RowCost { fixed_fraction: random.random_range(0.0..0.1), start, read, write };
                    table.set_rows(processor, id.index(), rows);
                }
            }
            table.set_hand_over(processor, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
        }

        let all: Vec<ProcessorIndex> = table.processors().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let latency_seconds = random.random_range(0.0..4e-6);
            let blocks = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)][random.random_range(0..3)];
            let model = TransferModel { latency_seconds, seconds_per_byte: 1e-10, blocks, ..TransferModel::default() };
            table.set_transfer(from, to, model);
            if from.index() % 2 == 0 {
                let hand_over = HandOver { seconds: latency_seconds, seconds_per_byte: 0.0 };
                table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 0.0 });
            }
        }

        table
    }

    /// A bound that is above what was found is none, whatever found it.
    #[test]
    fn no_stage_takes_less_than_its_bound() {
        let board = Board::from_json(BOARD).unwrap();
        let (mut looked_at, mut is_close) = (0, 0);
        let networks = ["squeezenet", "googlenet", "mobilenet-v2", "minilm-like-int8", "petr-like"];
        let mut tiled = 0;
        for (name, seed) in networks.into_iter().flat_map(|name| [name, name]).zip(1..) {
            let Ok(model) = millstream_zoo::build(name) else { continue };
            let graph = model.graph();
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut table = table(graph, &board, seed % 2 == 1, &mut random);
            if seed % 4 < 2 {
                table = table.within_memory(graph, MEMORY_BYTES_PER_SECOND);
            }
            let mut teams = teams_of(&board);
            teams.retain(|_| random.random_bool(0.2));
            let chain = Chain::of(graph);
            let problem = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
            for own in &problem.teams {
                for blocks in ranges(problem.blocks()).filter(|range| range.len() < 6) {
                    let hoped: Vec<TeamTime> =
                        problem.all_senders().map(|senders| own.team.time(senders, blocks)).collect();
                    while !own.team.look_at(blocks).unwrap() {}
                    for (senders, hoped) in problem.all_senders().zip(hoped) {
                        let TeamTime::Found(found) = own.team.time(senders, blocks) else { continue };
                        let least = own.team.lower_bound(senders, blocks).unwrap();
                        let processors = own.team.classes.iter().map(ProcessorClass::stand_in).collect();
                        let splits = own.team.work(blocks).unwrap().replica(processors).splits;
                        tiled += usize::from(splits.iter().any(|split| split.along == Along::Rows));
                        assert!(least <= found, "{name} {:?} {blocks:?}: {least} > {found}", own.team.classes);
                        assert_ne!(hoped, TeamTime::Never);
                        looked_at += 1;
                        is_close += usize::from(least.seconds() > 0.6 * found.seconds());
                    }
                }
            }
        }

        // Of processors that are so unlike each other, many are of no use to a team, which no bound knows.
        assert!(tiled > 100, "{tiled} of {looked_at} have tiles");
        assert!(looked_at > 2000 && is_close > looked_at / 4, "{is_close} of {looked_at} say something");
    }
}
