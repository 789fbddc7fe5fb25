//! Multisets of ways: the replicas of stages, each multiset kept once.

use std::collections::HashMap;

use crate::ways::way::WayId;

/// A multiset of ways, by its place in [`Multisets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MultisetId(usize);

impl MultisetId {
    /// Of the start of a network, which nothing runs.
    pub(crate) const NONE: Self = Self(usize::MAX);
}

/// Multisets of ways: replicas that options of stages have. Many stages have the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Multisets {
    all: Vec<Vec<WayId>>,
    places: HashMap<Vec<WayId>, MultisetId>,
    /// Those with one way more than another one.
    larger: HashMap<(Option<MultisetId>, WayId), MultisetId>,
}

impl Multisets {
    pub(crate) fn at(&self, place: MultisetId) -> &[WayId] {
        &self.all[place.0]
    }

    /// The place of these ways, in ascending order.
    pub(crate) fn place(&mut self, multiset: Vec<WayId>) -> MultisetId {
        if let Some(&place) = self.places.get(&multiset) {
            return place;
        }
        let place = MultisetId(self.all.len());
        self.all.push(multiset.clone());
        self.places.insert(multiset, place);
        place
    }

    /// The place of a multiset with one way more; of the way alone if there is no multiset.
    pub(crate) fn with_one_more(&mut self, multiset: Option<MultisetId>, way: WayId) -> MultisetId {
        if let Some(&place) = self.larger.get(&(multiset, way)) {
            return place;
        }
        let mut ways = multiset.map_or_else(Vec::new, |multiset| self.at(multiset).to_vec());
        ways.insert(ways.partition_point(|other| *other < way), way);
        let place = self.place(ways);
        self.larger.insert((multiset, way), place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_which_ways_come_does_not_matter() {
        let mut multisets = Multisets::default();
        let [one, two, three] = [1, 2, 3].map(WayId::new);
        let places = [[two, one, two, three], [three, two, two, one], [two, three, two, one]].map(|ways| {
            let more = |before, way| Some(multisets.with_one_more(before, way));
            ways.into_iter().fold(None, more)
        });
        assert!(places.iter().all(|place| place.is_some() && *place == places[0]));
        assert_eq!(places[0], Some(multisets.place(vec![one, two, two, three])));
        assert_eq!(places[0].map(|place| multisets.at(place)), Some(&[one, two, two, three][..]));
    }
}
