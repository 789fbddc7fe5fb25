//! What stages on one processor take, by where their frames come from.

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{Chain, InputBytes};
use millstream_schedule::{Entry, LinkUse, Replica};

use crate::memory::{MemoryLimits, held};
use crate::problem::UNSUPPORTED;
use crate::range_table::RangeTable;
use crate::senders::{SenderKinds, Senders};

/// Times of stages, and what they occupy of links.
#[derive(Debug, Clone)]
pub(crate) struct StageTimes {
    classes: usize,
    /// Per senders, per class: in nanoseconds.
    times: Vec<RangeTable<u64>>,
    /// The same of links; empty if none is ever occupied.
    links: Vec<RangeTable<u64>>,
}

/// What all stage times are made from.
struct Ground<'a> {
    graph: &'a Graph,
    chain: &'a Chain,
    table: &'a CostTable,
    bytes: InputBytes,
    /// Bytes that the first so many blocks hold.
    held_until: Vec<u64>,
}

impl StageTimes {
    pub(crate) fn new(
        (graph, chain, table): (&Graph, &Chain, &CostTable),
        processors: &[ProcessorIndex],
        kinds: &SenderKinds,
        memory: &MemoryLimits,
    ) -> Self {
        let mut held_until = vec![0_u64];
        for block in chain.blocks() {
            let own: u64 = block.operators.iter().map(|&id| held(graph, id)).sum();
            held_until.push(held_until[held_until.len() - 1] + own);
        }
        let ground = Ground { graph, chain, table, bytes: chain.input_bytes(graph), held_until };
        let works: Vec<RangeTable<u64>> = processors.iter().map(|&own| ground.work(own, memory)).collect();
        let pairs = || processors.iter().flat_map(|&from| processors.iter().map(move |&to| (from, to)));
        let has_links = pairs().any(|(from, to)| table.link_time(from, to, u64::from(u32::MAX)) > Nanoseconds::ZERO);

        let (mut times, mut links) = (Vec::new(), Vec::new());
        for senders in kinds.all() {
            for (&processor, work) in processors.iter().zip(&works) {
                times.push(ground.times(processor, work, (kinds, senders)));
                if has_links {
                    links.push(ground.link_times(processor, (kinds, senders)));
                }
            }
        }
        Self { classes: processors.len(), times, links }
    }

    /// How many classes they are of.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Time of the stage of blocks `start..end` on a class that takes its frames over from these senders; at least [`UNSUPPORTED`] if it
    /// can't run there.
    #[inline]
    pub(crate) fn time(&self, class: usize, senders: Senders, start: usize, end: usize) -> u64 {
        *self.times[senders.index() * self.classes + class].at(start, end)
    }

    /// Whether stages occupy links.
    pub(crate) fn have_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// What that stage occupies of the link to its cluster; 0 for nothing.
    #[inline]
    pub(crate) fn link_time(&self, class: usize, senders: Senders, start: usize, end: usize) -> u64 {
        self.links.get(senders.index() * self.classes + class).map_or(0, |own| *own.at(start, end))
    }
}

impl Ground<'_> {
    /// Times of the operators of each range.
    fn work(&self, processor: ProcessorIndex, memory: &MemoryLimits) -> RangeTable<u64> {
        let block_time = |operators: &[OperatorId]| {
            let times = operators.iter().map(|id| self.table.time(processor, id.index()));
            times.map(|time| time.map_or(UNSUPPORTED, |time| time.0)).fold(0_u64, u64::saturating_add)
        };
        let mut sums = vec![0_u64];
        let mut gaps = vec![0_usize];
        for block in self.chain.blocks() {
            let time = block_time(&block.operators);
            let supported = time < UNSUPPORTED;
            sums.push(sums[sums.len() - 1] + if supported { time } else { 0 });
            gaps.push(gaps[gaps.len() - 1] + usize::from(!supported));
        }
        let limit = memory.of_label(self.label(processor)).unwrap_or(u64::MAX);
        self.of_ranges(|start, end| {
            let fits = self.held_until[end] - self.held_until[start] + self.bytes.of(start..end) <= limit;
            if gaps[end] > gaps[start] || !fits { UNSUPPORTED } else { sums[end] - sums[start] }
        })
    }

    fn times(
        &self,
        processor: ProcessorIndex,
        work: &RangeTable<u64>,
        senders: (&SenderKinds, Senders),
    ) -> RangeTable<u64> {
        let has_access = self.table.access(processor).is_some();
        let entry = |start: usize| senders.0.entry(senders.1, start, &[self.label(processor)]);
        let entries = [entry(0), entry(1)];
        self.of_ranges(|start, end| {
            let work = *work.at(start, end);
            if work >= UNSUPPORTED {
                return UNSUPPORTED;
            }
            let entry = &entries[start.min(1)];
            let hand_over = match entry {
                // What a processor with memory of its own gives back counts as well.
                _ if has_access => self.replica(processor, start, end).hand_over(entry, self.graph, self.table),
                Entry::Network => Nanoseconds::ZERO,
                Entry::Stage { .. } => {
                    let bytes = self.bytes.of(start..end);
                    self.longest(entry, |from| self.table.hand_over(from, processor, bytes))
                }
            };
            work.saturating_add(hand_over.0).clamp(1, UNSUPPORTED)
        })
    }

    fn link_times(&self, processor: ProcessorIndex, senders: (&SenderKinds, Senders)) -> RangeTable<u64> {
        let entry = senders.0.entry(senders.1, 1, &[self.label(processor)]);
        self.of_ranges(|start, end| {
            if start == 0 {
                return 0;
            }
            if self.table.access(processor).is_some() {
                let used = self.replica(processor, start, end).link_use(&entry, self.graph, self.table);
                return used.map_or(0, |LinkUse { time, .. }| time.0);
            }
            let bytes = self.bytes.of(start..end);
            self.longest(&entry, |from| self.table.link_time(from, processor, bytes)).0
        })
    }

    fn longest(&self, entry: &Entry, time: impl Fn(ProcessorIndex) -> Nanoseconds) -> Nanoseconds {
        let Entry::Stage { senders } = entry else { return Nanoseconds::ZERO };
        senders.iter().filter_map(|class| self.table.find(class)).map(time).max().unwrap_or_default()
    }

    fn label(&self, processor: ProcessorIndex) -> &str {
        &self.table.classes()[processor.index()].cluster
    }

    fn replica(&self, accelerator: ProcessorIndex, start: usize, end: usize) -> Replica {
        Replica::single(Processor::accelerator(self.label(accelerator).to_owned()), self.chain.operators(start..end))
    }

    fn of_ranges(&self, of: impl Fn(usize, usize) -> u64) -> RangeTable<u64> {
        RangeTable::of(self.chain.blocks().len(), |range| of(range.start, range.end))
    }
}
