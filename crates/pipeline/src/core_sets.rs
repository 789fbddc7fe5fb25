//! Sets of numbers of cores.

use crate::cores::{CoreCounts, Cores};

/// A set of numbers of cores: a bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoreSet(Vec<u64>);

const BITS: usize = u64::BITS as usize;

impl CoreSet {
    /// The empty set of some of these numbers.
    pub(crate) fn none_of(counts: &CoreCounts) -> Self {
        Self(vec![0; counts.len().div_ceil(BITS)])
    }

    /// For every number of cores, all that leave room for it.
    pub(crate) fn with_room_for_each(counts: &CoreCounts) -> Vec<Self> {
        let with_room = |cores: Cores| {
            let mut set = Self::none_of(counts);
            counts.with_room_for(cores).into_iter().for_each(|own| set.insert(own.index()));
            set
        };
        counts.all().map(with_room).collect()
    }

    pub(crate) fn insert(&mut self, cores: usize) {
        self.0[cores / BITS] |= 1 << (cores % BITS);
    }

    #[inline]
    pub(crate) fn contains(&self, cores: usize) -> bool {
        self.0[cores / BITS] >> (cores % BITS) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The least of them.
    pub(crate) fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word * BITS + self.0[word].trailing_zeros() as usize)
    }

    /// Adds what so many cores more than each of those are that are in both other sets.
    pub(crate) fn add_sums(&mut self, some: &Self, with_room: &Self, more: usize) {
        let (words, bits) = (more / BITS, more % BITS);
        let mut carried = 0;
        for (target, (own, room)) in self.0[words..].iter_mut().zip(some.0.iter().zip(&with_room.0)) {
            let own = own & room;
            *target |= own << bits | carried;
            carried = if bits == 0 { 0 } else { own >> (BITS - bits) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More numbers than a word has bits: sums are those of adding cluster by cluster.
    #[test]
    fn sums_are_those_of_each_member() {
        let counts = CoreCounts::new(vec![4, 6, 5]);
        let rooms = CoreSet::with_room_for_each(&counts);
        let some: Vec<Cores> = counts.all().filter(|cores| cores.index() * 7 % 5 < 2).collect();
        let mut set = CoreSet::none_of(&counts);
        assert!(set.is_empty() && set.first().is_none());
        some.iter().for_each(|cores| set.insert(cores.index()));
        for more in counts.all() {
            let mut sums = CoreSet::none_of(&counts);
            sums.add_sums(&set, &rooms[more.index()], more.index());
            let added = counts.decode(more);
            let sum = |own: &Cores| {
                let own = counts.decode(*own).iter().zip(&added).map(|(own, more)| own + more).collect::<Vec<_>>();
                counts.encode(&own)
            };
            let expected: Vec<Cores> = some.iter().filter_map(sum).collect();
            for cores in counts.all() {
                assert_eq!(sums.contains(cores.index()), expected.contains(&cores), "{more:?} {cores:?}");
            }
            assert_eq!(sums.first(), expected.iter().map(|own| own.index()).min());
        }
    }
}
