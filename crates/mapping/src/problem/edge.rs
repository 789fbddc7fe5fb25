//! A dependency between two nodes of a problem, with its transfers.

use millstream_cost::{BlockedEnd, Nanoseconds};
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
    /// Times of the transfers; row per sending processor.
    transfers: Vec<Nanoseconds>,
    /// Which end each transfer occupies.
    blocks: Vec<Option<BlockedEnd>>,
    processor_count: usize,
}

impl Edge {
    /// A dependency on a node's only value. `transfers` has the transfer times, row per sending processor; transfers go
    /// on beside computation.
    pub fn new(from: TaskId, to: TaskId, transfers: Vec<Vec<Nanoseconds>>) -> Self {
        let processor_count = transfers.len();
        let transfers: Vec<Nanoseconds> = transfers.into_iter().flatten().collect();
        Self { from, to, value: OutputId::new(0), blocks: vec![None; transfers.len()], processor_count, transfers }
    }

    /// This dependency, on another of the maker's values.
    #[must_use]
    pub fn of_value(self, value: OutputId) -> Self {
        Self { value, ..self }
    }

    /// This dependency, with transfers that occupy one of their ends; row per sending processor.
    #[must_use]
    pub fn blocking(self, blocks: Vec<Vec<Option<BlockedEnd>>>) -> Self {
        Self { blocks: blocks.into_iter().flatten().collect(), ..self }
    }

    /// Time that the transfer from one processor to another takes.
    pub fn transfer(&self, maker: ProcessorId, reader: ProcessorId) -> Nanoseconds {
        if maker == reader { Nanoseconds::ZERO } else { self.transfers[self.cell(maker, reader)] }
    }

    /// Which end the transfer from one processor to another occupies.
    pub fn blocks(&self, maker: ProcessorId, reader: ProcessorId) -> Option<BlockedEnd> {
        self.blocks.get(self.cell(maker, reader)).copied().flatten().filter(|_| maker != reader)
    }

    /// Whether it has transfers between any two of so many processors.
    pub(crate) fn is_between(&self, processor_count: usize) -> bool {
        let pairs = processor_count * processor_count;
        self.processor_count == processor_count && self.transfers.len() == pairs && self.blocks.len() == pairs
    }

    /// Times of the transfers between any two processors.
    pub(crate) fn transfers(&self) -> &[Nanoseconds] {
        &self.transfers
    }

    /// Where tables with a row per maker have what is true of a maker and a reader.
    fn cell(&self, maker: ProcessorId, reader: ProcessorId) -> usize {
        maker.index() * self.processor_count + reader.index()
    }

    /// This dependency, between the nodes of a problem that begins with a certain node.
    pub(crate) fn renumbered_from(self, first: TaskId) -> Self {
        let moved = |node: TaskId| TaskId::new(node.index() - first.index());
        Self { from: moved(self.from), to: moved(self.to), ..self }
    }

    /// Which of the maker's values it is.
    pub(crate) fn value(&self) -> OutputId {
        self.value
    }

    /// The longest of the transfers between any two processors.
    pub(crate) fn slowest_transfer(&self) -> Nanoseconds {
        self.pairs().map(|(from, to)| self.transfer(from, to)).max().unwrap_or_default()
    }

    /// Whether a transfer between some two processors occupies this end.
    pub(crate) fn blocks_anywhere(&self, end: BlockedEnd) -> bool {
        self.pairs().any(|(from, to)| self.blocks(from, to) == Some(end))
    }

    /// Whether every transfer that occupies a processor in one of the two dependencies is the same in the other.
    pub(crate) fn moves_as(&self, other: &Self) -> bool {
        self.pairs().all(|(from, to)| {
            let ends = [self.blocks(from, to), other.blocks(from, to)];
            ends == [None; 2] || ends[0] == ends[1] && self.transfer(from, to) == other.transfer(from, to)
        })
    }

    /// Sender and receiver of all transfers.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (ProcessorId, ProcessorId)> + use<> {
        let all = ProcessorId::all(self.processor_count);
        all.clone().flat_map(move |from| all.clone().map(move |to| (from, to)))
    }
}
