//! Pipelines of the first blocks, and tables of what is known of them.

use std::ops::{Index, IndexMut};

use millstream_partition::BlockId;

use crate::board::cores::Cores;
use crate::board::senders::Senders;

/// How many blocks a pipeline of the first blocks has done, and the senders to the next stage. As an index
/// into tables with an entry for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixId(usize);

impl PrefixId {
    /// No block is done.
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

/// All of them, in the order of the blocks done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefixes {
    blocks: usize,
    senders: usize,
}

impl Prefixes {
    /// Those of a chain of so many blocks, where there are so many different senders.
    pub(crate) fn new(blocks: usize, senders: usize) -> Self {
        Self { blocks, senders }
    }

    pub(crate) fn len(self) -> usize {
        (self.blocks + 1) * self.senders
    }

    /// The one with the blocks before this one done, and these senders.
    #[inline]
    pub(crate) fn id(self, done: BlockId, senders: Senders) -> PrefixId {
        PrefixId(done.index() * self.senders + senders.index())
    }

    /// Those with the blocks before this one done, by senders.
    pub(crate) fn after(self, done: BlockId) -> impl Iterator<Item = (Senders, PrefixId)> {
        Senders::all(self.senders).map(move |senders| (senders, self.id(done, senders)))
    }

    /// The first one with the blocks before this one done.
    #[inline]
    pub(crate) fn first_after(self, done: BlockId) -> PrefixId {
        PrefixId(done.index() * self.senders)
    }

    /// Those with all blocks done.
    pub(crate) fn whole(self) -> impl Iterator<Item = PrefixId> {
        self.after(BlockId::new(self.blocks)).map(|(_, prefix)| prefix)
    }
}

/// A value for every prefix and every number of cores.
#[derive(Debug, Clone)]
pub(crate) struct PrefixTable<T> {
    /// Row per prefix.
    values: Vec<T>,
    /// How many numbers of cores there are.
    sizes: usize,
}

impl<T: Clone> PrefixTable<T> {
    /// The same value everywhere.
    pub(crate) fn filled(prefixes: Prefixes, sizes: usize, value: T) -> Self {
        Self { values: vec![value; prefixes.len() * sizes], sizes }
    }

    /// The row of a prefix, and those of all prefixes after it.
    #[inline]
    pub(crate) fn row_and_later(&mut self, prefix: PrefixId) -> (&mut [T], LaterRows<'_, T>) {
        let next = PrefixId(prefix.0 + 1);
        let (values, later) = self.values.split_at_mut(next.0 * self.sizes);
        (&mut values[prefix.0 * self.sizes..], LaterRows { values: later, first: next, sizes: self.sizes })
    }
}

/// The rows of a table from a prefix on.
pub(crate) struct LaterRows<'a, T> {
    values: &'a [T],
    first: PrefixId,
    sizes: usize,
}

impl<T> LaterRows<'_, T> {
    /// That of one of these prefixes.
    #[inline]
    pub(crate) fn of(&self, prefix: PrefixId) -> &[T] {
        &self.values[(prefix.0 - self.first.0) * self.sizes..][..self.sizes]
    }
}

impl<T> Index<(PrefixId, Cores)> for PrefixTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, (prefix, cores): (PrefixId, Cores)) -> &T {
        &self.values[prefix.0 * self.sizes + cores.index()]
    }
}

impl<T> IndexMut<(PrefixId, Cores)> for PrefixTable<T> {
    #[inline]
    fn index_mut(&mut self, (prefix, cores): (PrefixId, Cores)) -> &mut T {
        &mut self.values[prefix.0 * self.sizes + cores.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_and_number_of_cores_has_a_value_of_its_own() {
        let prefixes = Prefixes::new(3, 2);
        let mut table = PrefixTable::filled(prefixes, 5, 0);
        let all = || (0..=3).flat_map(|done| prefixes.after(BlockId::new(done)).map(|(_, prefix)| prefix));
        let states = || all().flat_map(|prefix| (0..5).map(move |cores| (prefix, Cores::at(cores))));
        states().enumerate().for_each(|(number, state)| table[state] = number);
        assert!(states().enumerate().all(|(number, state)| table[state] == number));
        assert_eq!((states().count(), prefixes.len()), (40, all().count()));
        assert_eq!(prefixes.whole().collect::<Vec<_>>(), all().skip(6).collect::<Vec<_>>());
        let second = prefixes.first_after(BlockId::new(1));
        assert_eq!(prefixes.after(BlockId::new(1)).next(), Some((Senders::NETWORK, second)));
        let (row, later) = table.row_and_later(second);
        assert_eq!(row, [10, 11, 12, 13, 14], "two prefixes come before it");
        assert_eq!(later.of(PrefixId(3)), [15, 16, 17, 18, 19]);
        assert_eq!(later.of(PrefixId(7)), [35, 36, 37, 38, 39]);
    }
}
