//! Multisets of ways: the replicas of stages, each multiset kept once.

use std::collections::HashMap;

use crate::ways::way::WayId;

/// A multiset of ways, by its place in [`Multisets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}
