//! What stages on one processor take, by where their frames come from.

use millstream_board::Processor;
use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{BlockId, BlockRange, Chain, InputBytes};
use millstream_schedule::{Entry, LinkUse, Replica, held_bytes};

use crate::board::memory_limits::MemoryLimits;
use crate::board::processors::Processors;
use crate::board::senders::{SenderKinds, Senders};
use crate::inputs::ProblemInputs;
use crate::times::range_table::RangeTable;
use crate::ways::way::WayId;

/// What would take as long as this, 146 years, counts as impossible: so sums of a pipeline's stages stay within their
/// type.
const TIME_LIMIT: Nanoseconds = Nanoseconds(u64::MAX / 4);

/// The time of a stage, at least a nanosecond; `None` if it reaches the limit and counts as impossible.
pub(crate) fn possible(time: Nanoseconds) -> Option<Nanoseconds> {
    within_limit(time).map(|time| time.max(Nanoseconds(1)))
}

fn within_limit(time: Nanoseconds) -> Option<Nanoseconds> {
    Some(time).filter(|time| *time < TIME_LIMIT)
}

/// Times of stages, and what they occupy of links.
#[derive(Debug, Clone)]
pub(crate) struct StageTimes {
    classes: usize,
    /// Per senders, per class, with the engine that is quickest; `None` where it can't run.
    times: Vec<RangeTable<Option<Nanoseconds>>>,
    /// Per senders, per class: the place of the quickest engine among those of the class; empty if no class has
    /// several.
    quickest: Vec<RangeTable<u8>>,
    /// Per senders, per class: what stages occupy of the link to the class; empty if no link is ever occupied.
    links: Vec<RangeTable<Nanoseconds>>,
}

/// Times of all ranges; `None` for those that can't run.
type Work = RangeTable<Option<Nanoseconds>>;

/// Works out the times of all stages on a class.
struct StageTimer<'a> {
    graph: &'a Graph,
    chain: &'a Chain,
    table: &'a CostTable,
    kinds: &'a SenderKinds,
    /// Bytes that each range reads of what blocks before it have made.
    bytes: InputBytes,
    /// Bytes that each range holds in a memory of its processor's own; `None` if no processor has one.
    held: Option<RangeTable<u64>>,
}

impl StageTimes {
    pub(crate) fn new(inputs: ProblemInputs<'_>, processors: &Processors) -> Self {
        let Processors { classes, kinds, .. } = processors;
        let ProblemInputs { graph, chain, board, table } = inputs;
        let memory = &MemoryLimits::of(board);
        let held_by = || RangeTable::of(chain.blocks().len(), |blocks| held_bytes(graph, &chain.operators(blocks)));
        let held = (!memory.are_none()).then(held_by);
        let timer = StageTimer { graph, chain, table, kinds, bytes: chain.input_bytes(graph), held };
        let work = |processor: &ClassId| (*processor, timer.work(*processor, memory));
        let works: Vec<Vec<(ClassId, Work)>> =
            classes.iter().map(|class| class.with_each_engine.iter().map(work).collect()).collect();

        let firsts = || classes.iter().map(|class| class.index);
        let pairs = || firsts().flat_map(|from| firsts().map(move |to| (from, to)));
        let have_choices = classes.iter().any(|class| class.with_each_engine.len() > 1);
        let has_links = pairs().any(|(from, to)| table.link_time(from, to, u64::from(u32::MAX)) > Nanoseconds::ZERO);

        let (mut times, mut quickest, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for senders in kinds.all() {
            for (processor, with_each) in firsts().zip(&works) {
                let engines = with_each.iter();
                let by_engine: Vec<Work> =
                    engines.map(|(processor, work)| timer.times(*processor, work, senders)).collect();
                if have_choices {
                    quickest.push(timer.of_ranges(|blocks| place_of_least(&by_engine, blocks)));
                }
                times.push(least(by_engine));
                if has_links {
                    links.push(timer.link_times(processor, senders));
                }
            }
        }
        Self { classes: classes.len(), times, quickest, links }
    }

    /// The place of the engine that is quickest for a stage among those of its class.
    pub(crate) fn quickest(&self, class: WayId, senders: Senders, blocks: BlockRange) -> usize {
        let table = self.quickest.get(senders.index() * self.classes + class.index());
        table.map_or(0, |table| usize::from(*table.at(blocks)))
    }

    /// How many classes they are of.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Time of the stage of these blocks on a class that takes its frames over from these senders, which may be nothing
    /// at all; `None` if it can't run there.
    #[inline]
    pub(crate) fn time(&self, class: WayId, senders: Senders, blocks: BlockRange) -> Option<Nanoseconds> {
        *self.times[senders.index() * self.classes + class.index()].at(blocks)
    }

    /// Whether stages occupy links.
    pub(crate) fn have_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// What that stage occupies of the link to its cluster; zero for nothing.
    #[inline]
    pub(crate) fn link_time(&self, class: WayId, senders: Senders, blocks: BlockRange) -> Nanoseconds {
        let table = self.links.get(senders.index() * self.classes + class.index());
        table.map_or(Nanoseconds::ZERO, |table| *table.at(blocks))
    }
}

/// The place of the least of several times of a stage, the first of equals; that of the first if there is none.
fn place_of_least(with_each: &[Work], blocks: BlockRange) -> u8 {
    let times = with_each.iter().zip(0..).filter_map(|(table, place)| Some(((*table.at(blocks))?, place)));
    times.min().map_or(0, |(_, place)| place)
}

/// The least of several times of each stage.
fn least(with_each: Vec<Work>) -> Work {
    let mut all = with_each.into_iter();
    let first = all.next().unwrap_or_else(|| RangeTable::of(0, |_| None));
    all.fold(first, |least, other| least.zip_with(&other, |one, other| one.into_iter().chain(other).min()))
}

impl StageTimer<'_> {
    /// Times of the operators of each range.
    fn work(&self, class: ClassId, memory: &MemoryLimits) -> Work {
        let block_time = |operators: &[OperatorId]| {
            let mut times = operators.iter().map(|&id| self.table.time(class, id));
            times.try_fold(0_u128, |sum, time| Some(sum + u128::from(time?.0)))
        };
        let mut sums = vec![0_u128];
        let mut gaps = vec![0_usize];
        for block in self.chain.blocks() {
            let time = block_time(&block.operators);
            sums.push(sums[sums.len() - 1] + time.unwrap_or(0));
            gaps.push(gaps[gaps.len() - 1] + usize::from(time.is_none()));
        }
        let limit = memory.of_label(self.label(class));
        let limited = limit.and_then(|limit| Some((limit, self.held.as_ref()?)));
        self.of_ranges(|blocks| {
            let (start, end) = (blocks.start().index(), blocks.end().index());
            let fits = limited.is_none_or(|(limit, held)| *held.at(blocks) <= limit);
            (gaps[end] == gaps[start] && fits)
                .then(|| Nanoseconds(u64::try_from(sums[end] - sums[start]).unwrap_or(u64::MAX)))
        })
    }

    /// What stages take with all that handing over costs.
    fn times(&self, class: ClassId, work: &Work, senders: Senders) -> Work {
        let has_access = self.table.access(class).is_some();
        let entry = |start: usize| self.kinds.entry(senders, BlockId::new(start), &[self.label(class)]);
        let entries = [entry(0), entry(1)];
        self.of_ranges(|blocks| {
            let work = (*work.at(blocks))?;
            let entry = &entries[usize::from(!blocks.begins_chain())];
            let hand_over = match entry {
                // What a processor with memory of its own gives back counts as well.
                _ if has_access => self.replica(class, blocks).hand_over(entry, self.graph, self.table),
                Entry::Network => Nanoseconds::ZERO,
                Entry::Stage { .. } => {
                    let bytes = self.bytes.of(blocks);
                    self.longest(entry, |from| self.table.hand_over(from, class, bytes))
                }
            };
            within_limit(Nanoseconds(work.0.saturating_add(hand_over.0)))
        })
    }

    /// What stages occupy of the link to their cluster.
    fn link_times(&self, class: ClassId, senders: Senders) -> RangeTable<Nanoseconds> {
        let entry = Entry::Stage { senders: self.kinds.sending_to(senders, &[self.label(class)]) };
        self.of_ranges(|blocks| {
            if blocks.begins_chain() {
                return Nanoseconds::ZERO;
            }
            if self.table.access(class).is_some() {
                let used = self.replica(class, blocks).link_uses(&entry, self.graph, self.table);
                return used.iter().map(|LinkUse { time, .. }| *time).sum();
            }
            let bytes = self.bytes.of(blocks);
            self.longest(&entry, |from| self.table.link_time(from, class, bytes))
        })
    }

    /// The longest of what each sender takes.
    fn longest(&self, entry: &Entry, time: impl Fn(ClassId) -> Nanoseconds) -> Nanoseconds {
        let Entry::Stage { senders } = entry else { return Nanoseconds::ZERO };
        senders.iter().filter_map(|class| self.table.find(class)).map(time).max().unwrap_or_default()
    }

    fn label(&self, class: ClassId) -> &str {
        &self.table.classes()[class.index()].cluster
    }

    fn replica(&self, accelerator: ClassId, blocks: BlockRange) -> Replica {
        Replica::single(Processor::accelerator(self.label(accelerator).to_owned()), self.chain.operators(blocks))
    }

    fn of_ranges<T>(&self, of: impl Fn(BlockRange) -> T) -> RangeTable<T> {
        RangeTable::of(self.chain.blocks().len(), of)
    }
}
