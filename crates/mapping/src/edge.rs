use millstream_cost::BlockedEnd;
use millstream_schedule::execution::{OutputId, ProcessorId, TaskId};

/// A value that one node makes and another one reads, with what moving it between any two processors takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The node that makes the value.
    pub from: TaskId,
    /// The node that reads it.
    pub to: TaskId,
    /// Which of the maker's values it is: edges with the same one share its transfers.
    value: OutputId,
    /// Row per sending processor.
    transfers: Vec<u64>,
    /// Which end each transfer occupies.
    blocks: Vec<Option<BlockedEnd>>,
    processor_count: usize,
}

impl Edge {
    /// A dependency on a node's only value with given transfer times in nanoseconds, row per sending processor, which go on
    /// beside computation.
    pub fn new(from: TaskId, to: TaskId, transfers: Vec<Vec<u64>>) -> Self {
        let processor_count = transfers.len();
        let transfers: Vec<u64> = transfers.into_iter().flatten().collect();
        Self { from, to, value: OutputId::new(0), blocks: vec![None; transfers.len()], processor_count, transfers }
    }

    /// The same for another of the maker's values.
    #[must_use]
    pub fn of_value(self, value: OutputId) -> Self {
        Self { value, ..self }
    }

    /// The same with transfers that occupy one of their ends; row per sending processor.
    #[must_use]
    pub fn blocking(self, blocks: Vec<Vec<Option<BlockedEnd>>>) -> Self {
        Self { blocks: blocks.into_iter().flatten().collect(), ..self }
    }

    /// Time in nanoseconds that the transfer from one processor to another takes.
    pub fn transfer(&self, maker: ProcessorId, reader: ProcessorId) -> u64 {
        if maker == reader { 0 } else { self.transfers[self.pair(maker, reader)] }
    }

    /// Which end the transfer from one processor to another occupies.
    pub fn blocks(&self, maker: ProcessorId, reader: ProcessorId) -> Option<BlockedEnd> {
        self.blocks.get(self.pair(maker, reader)).copied().flatten().filter(|_| maker != reader)
    }

    /// Whether it has transfers between any two of so many processors.
    pub(crate) fn is_between(&self, processor_count: usize) -> bool {
        let pairs = processor_count * processor_count;
        self.processor_count == processor_count && self.transfers.len() == pairs && self.blocks.len() == pairs
    }

    /// Times of the transfers between any two processors, in nanoseconds.
    pub(crate) fn transfers(&self) -> &[u64] {
        &self.transfers
    }

    /// The place of a pair of processors among all of them.
    fn pair(&self, maker: ProcessorId, reader: ProcessorId) -> usize {
        maker.index() * self.processor_count + reader.index()
    }

    /// The same between the nodes of a problem that begins with this node.
    pub(crate) fn renumbered_from(self, first: TaskId) -> Self {
        let moved = |node: TaskId| TaskId::new(node.index() - first.index());
        Self { from: moved(self.from), to: moved(self.to), ..self }
    }

    /// Which of the maker's values it is.
    pub(crate) fn value(&self) -> OutputId {
        self.value
    }

    /// The longest of the transfers between any two processors.
    pub(crate) fn slowest_transfer(&self) -> u64 {
        self.pairs().map(|(from, to)| self.transfer(from, to)).max().unwrap_or(0)
    }

    /// Whether a transfer between some two processors occupies this end.
    pub(crate) fn blocks_anywhere(&self, end: BlockedEnd) -> bool {
        self.pairs().any(|(from, to)| self.blocks(from, to) == Some(end))
    }

    /// Sender and receiver of all transfers.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (ProcessorId, ProcessorId)> + use<> {
        let all = ProcessorId::all(self.processor_count);
        all.clone().flat_map(move |from| all.clone().map(move |to| (from, to)))
    }
}
