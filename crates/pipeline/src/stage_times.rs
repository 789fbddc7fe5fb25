//! What stages on one processor take, by where their frames come from.

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{BlockId, BlockRange, Chain, InputBytes};
use millstream_schedule::{Entry, LinkUse, Replica, held_bytes};

use crate::memory::MemoryLimits;
use crate::range_table::RangeTable;
use crate::senders::{SenderKinds, Senders};
use crate::way::WayId;

/// What would take as long as this, 146 years, counts as impossible: so sums of a pipeline's stages stay within their type.
const FOR_EVER: Nanoseconds = Nanoseconds(u64::MAX / 4);

/// The time of a stage; `None` if nobody lives to see its end. No stage takes less than a nanosecond.
pub(crate) fn possible(time: Nanoseconds) -> Option<Nanoseconds> {
    (time < FOR_EVER).then(|| time.max(Nanoseconds(1)))
}

/// Times of stages, and what they occupy of links.
#[derive(Debug, Clone)]
pub(crate) struct StageTimes {
    classes: usize,
    /// Per senders, per class, with the engine that is quickest; `None` where it can't run.
    times: Vec<RangeTable<Option<Nanoseconds>>>,
    /// The same of the places of these engines among those of the class; empty if none has several.
    quickest: Vec<RangeTable<u8>>,
    /// The same of links; empty if none is ever occupied.
    links: Vec<RangeTable<Nanoseconds>>,
}

/// Times of all ranges; `None` for those that can't run.
type Work = RangeTable<Option<Nanoseconds>>;

/// What all stage times are made from.
struct Ground<'a> {
    graph: &'a Graph,
    chain: &'a Chain,
    table: &'a CostTable,
    bytes: InputBytes,
    /// Bytes that each range holds in a memory of its processor's own; `None` if nobody has one.
    held: Option<RangeTable<u64>>,
}

impl StageTimes {
    pub(crate) fn new(
        (graph, chain, table): (&Graph, &Chain, &CostTable),
        classes: &[Vec<ProcessorIndex>],
        kinds: &SenderKinds,
        memory: &MemoryLimits,
    ) -> Self {
        let held_by = || RangeTable::of(chain.blocks().len(), |blocks| held_bytes(graph, &chain.operators(blocks)));
        let held = (!memory.are_none()).then(held_by);
        let ground = Ground { graph, chain, table, bytes: chain.input_bytes(graph), held };
        let work = |own: &ProcessorIndex| (*own, ground.work(*own, memory));
        let works: Vec<Vec<(ProcessorIndex, Work)>> =
            classes.iter().map(|with_each| with_each.iter().map(work).collect()).collect();
        let firsts = || classes.iter().filter_map(|with_each| with_each.first().copied());
        let pairs = || firsts().flat_map(|from| firsts().map(move |to| (from, to)));
        let have_choices = classes.iter().any(|with_each| with_each.len() > 1);
        let has_links = pairs().any(|(from, to)| table.link_time(from, to, u64::from(u32::MAX)) > Nanoseconds::ZERO);

        let (mut times, mut quickest, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for senders in kinds.all() {
            for (processor, with_each) in firsts().zip(&works) {
                let own = with_each.iter().map(|(processor, work)| ground.times(*processor, work, (kinds, senders)));
                let own: Vec<Work> = own.collect();
                if have_choices {
                    quickest.push(ground.of_ranges(|blocks| place_of_least(&own, blocks)));
                }
                times.push(least(own));
                if has_links {
                    links.push(ground.link_times(processor, (kinds, senders)));
                }
            }
        }
        Self { classes: classes.len(), times, quickest, links }
    }

    /// The place of the engine that is quickest for a stage among those of its class.
    pub(crate) fn quickest(&self, class: WayId, senders: Senders, blocks: BlockRange) -> usize {
        let own = self.quickest.get(senders.index() * self.classes + class.index());
        own.map_or(0, |own| usize::from(*own.at(blocks)))
    }

    /// How many classes they are of.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Time of the stage of these blocks on a class that takes its frames over from these senders; `None` if it can't run there.
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
        let own = self.links.get(senders.index() * self.classes + class.index());
        own.map_or(Nanoseconds::ZERO, |own| *own.at(blocks))
    }
}

/// The place of the least of several times of a stage, the first of equals; that of the first if there is none.
fn place_of_least(with_each: &[Work], blocks: BlockRange) -> u8 {
    let known = with_each.iter().zip(0..).filter_map(|(own, place)| Some(((*own.at(blocks))?, place)));
    known.min().map_or(0, |(_, place)| place)
}

/// The least of several times of each stage.
fn least(with_each: Vec<Work>) -> Work {
    let mut all = with_each.into_iter();
    let first = all.next().unwrap_or_else(|| RangeTable::of(0, |_| None));
    all.fold(first, |least, other| least.zip_with(&other, |one, other| one.into_iter().chain(other).min()))
}

impl Ground<'_> {
    /// Times of the operators of each range.
    fn work(&self, processor: ProcessorIndex, memory: &MemoryLimits) -> Work {
        let block_time = |operators: &[OperatorId]| {
            let mut times = operators.iter().map(|id| self.table.time(processor, id.index()));
            times.try_fold(0_u128, |sum, time| Some(sum + u128::from(time?.0)))
        };
        let mut sums = vec![0_u128];
        let mut gaps = vec![0_usize];
        for block in self.chain.blocks() {
            let time = block_time(&block.operators);
            sums.push(sums[sums.len() - 1] + time.unwrap_or(0));
            gaps.push(gaps[gaps.len() - 1] + usize::from(time.is_none()));
        }
        let limit = memory.of_label(self.label(processor));
        let limited = limit.and_then(|limit| Some((limit, self.held.as_ref()?)));
        self.of_ranges(|blocks| {
            let (start, end) = (blocks.start().index(), blocks.end().index());
            let fits = limited.is_none_or(|(limit, held)| *held.at(blocks) <= limit);
            (gaps[end] == gaps[start] && fits)
                .then(|| Nanoseconds(u64::try_from(sums[end] - sums[start]).unwrap_or(u64::MAX)))
        })
    }

    fn times(&self, processor: ProcessorIndex, work: &Work, senders: (&SenderKinds, Senders)) -> Work {
        let has_access = self.table.access(processor).is_some();
        let entry = |start: usize| senders.0.entry(senders.1, BlockId::new(start), &[self.label(processor)]);
        let entries = [entry(0), entry(1)];
        self.of_ranges(|blocks| {
            let work = (*work.at(blocks))?;
            let entry = &entries[usize::from(!blocks.begins_chain())];
            let hand_over = match entry {
                // What a processor with memory of its own gives back counts as well.
                _ if has_access => self.replica(processor, blocks).hand_over(entry, self.graph, self.table),
                Entry::Network => Nanoseconds::ZERO,
                Entry::Stage { .. } => {
                    let bytes = self.bytes.of(blocks);
                    self.longest(entry, |from| self.table.hand_over(from, processor, bytes))
                }
            };
            possible(Nanoseconds(work.0.saturating_add(hand_over.0)))
        })
    }

    fn link_times(&self, processor: ProcessorIndex, senders: (&SenderKinds, Senders)) -> RangeTable<Nanoseconds> {
        let entry = senders.0.entry(senders.1, BlockId::new(1), &[self.label(processor)]);
        self.of_ranges(|blocks| {
            if blocks.begins_chain() {
                return Nanoseconds::ZERO;
            }
            if self.table.access(processor).is_some() {
                let used = self.replica(processor, blocks).link_uses(&entry, self.graph, self.table);
                return used.iter().map(|LinkUse { time, .. }| *time).sum();
            }
            let bytes = self.bytes.of(blocks);
            self.longest(&entry, |from| self.table.link_time(from, processor, bytes))
        })
    }

    fn longest(&self, entry: &Entry, time: impl Fn(ProcessorIndex) -> Nanoseconds) -> Nanoseconds {
        let Entry::Stage { senders } = entry else { return Nanoseconds::ZERO };
        senders.iter().filter_map(|class| self.table.find(class)).map(time).max().unwrap_or_default()
    }

    fn label(&self, processor: ProcessorIndex) -> &str {
        &self.table.classes()[processor.index()].cluster
    }

    fn replica(&self, accelerator: ProcessorIndex, blocks: BlockRange) -> Replica {
        Replica::single(Processor::accelerator(self.label(accelerator).to_owned()), self.chain.operators(blocks))
    }

    fn of_ranges<T>(&self, of: impl Fn(BlockRange) -> T) -> RangeTable<T> {
        RangeTable::of(self.chain.blocks().len(), of)
    }
}
