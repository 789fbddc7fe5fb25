//! Sets of numbers of cores.

use crate::board::cores::{CoreCounts, Cores};

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
            counts.with_room_for(cores).into_iter().for_each(|fitting| set.insert(fitting));
            set
        };
        counts.all().map(with_room).collect()
    }

    pub(crate) fn insert(&mut self, cores: Cores) {
        self.0[cores.index() / BITS] |= 1 << (cores.index() % BITS);
    }

    #[inline]
    pub(crate) fn contains(&self, cores: Cores) -> bool {
        self.0[cores.index() / BITS] >> (cores.index() % BITS) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// How many words it takes.
    pub(crate) fn words(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The least of them.
    pub(crate) fn first(&self) -> Option<Cores> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(Cores::at(word * BITS + self.0[word].trailing_zeros() as usize))
    }

    /// Adds the sum with `more` of every number of cores that is in both other sets: their bits, shifted. All in
    /// `with_room` leave room for it.
    pub(crate) fn add_sums(&mut self, some: &Self, with_room: &Self, more: Cores) {
        let (words, bits) = (more.index() / BITS, more.index() % BITS);
        let mut carried = 0;
        for (target, (word, room)) in self.0[words..].iter_mut().zip(some.0.iter().zip(&with_room.0)) {
            let word = word & room;
            *target |= word << bits | carried;
            carried = if bits == 0 { 0 } else { word >> (BITS - bits) };
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
        let compatible = CoreSet::with_room_for_each(&counts);
        let some: Vec<Cores> = counts.all().filter(|cores| cores.index() * 7 % 5 < 2).collect();
        let mut set = CoreSet::none_of(&counts);
        assert!(set.is_empty() && set.first().is_none());
        some.iter().for_each(|cores| set.insert(*cores));
        for more in counts.all() {
            let mut sums = CoreSet::none_of(&counts);
            sums.add_sums(&set, &compatible[more.index()], more);
            let added = counts.decode(more);
            let sum = |some: &Cores| {
                let sum = counts.decode(*some).iter().zip(&added).map(|(one, more)| one + more).collect::<Vec<_>>();
                counts.encode(&sum)
            };
            let expected: Vec<Cores> = some.iter().filter_map(sum).collect();
            for cores in counts.all() {
                assert_eq!(sums.contains(cores), expected.contains(&cores), "{more:?} {cores:?}");
            }
            assert_eq!(sums.first(), expected.iter().copied().min());
        }
    }
}
