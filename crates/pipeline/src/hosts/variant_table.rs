//! How stages of a host are entered and left, and tables with a value for each kind of both.

use std::iter::once;
use std::ops::Index;

/// How a stage is entered: first from its own host or from outside the network, then by each kind of link from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryKind(usize);

/// How a stage is left: first to its own host or to outside, then by each kind of link to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitKind(usize);

impl EntryKind {
    /// From the same host, or from outside.
    pub(super) const SAME_HOST: Self = Self(0);

    /// By the kind of link at this place among those that lead to the host.
    pub(super) const fn by_link(kind: usize) -> Self {
        Self(kind + 1)
    }

    /// The place of its kind of link among those that lead to the host. Not of [`EntryKind::SAME_HOST`], which has
    /// none.
    pub(super) const fn link_kind(self) -> usize {
        self.0 - 1
    }
}

impl ExitKind {
    /// To the same host, or to outside.
    pub(super) const SAME_HOST: Self = Self(0);

    /// By the kind of link at this place among those that lead away from the host.
    pub(super) const fn by_link(kind: usize) -> Self {
        Self(kind + 1)
    }
}

/// A value for every kind of entry and exit of a host.
#[derive(Debug, Clone)]
pub(super) struct VariantTable<T> {
    /// Row per kind of entry.
    values: Vec<T>,
    /// How many kinds of exit there are.
    exits: usize,
}

impl<T> VariantTable<T> {
    /// Of the kinds of link that stages are entered and left by, `value` makes the values; without a kind for the own
    /// host, or outside.
    pub(super) fn of<L>(entries: &[L], exits: &[L], mut value: impl FnMut(Option<&L>, Option<&L>) -> T) -> Self {
        let mut values = Vec::new();
        for entry in once(None).chain(entries.iter().map(Some)) {
            for exit in once(None).chain(exits.iter().map(Some)) {
                values.push(value(entry, exit));
            }
        }
        Self { values, exits: exits.len() + 1 }
    }

    /// The table of what comes of each value.
    pub(super) fn map<'a, U>(&'a self, value: impl FnMut(&'a T) -> U) -> VariantTable<U> {
        VariantTable { values: self.values.iter().map(value).collect(), exits: self.exits }
    }

    /// All values.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    /// All values.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}

impl<T> Index<(EntryKind, ExitKind)> for VariantTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, (entry, exit): (EntryKind, ExitKind)) -> &T {
        &self.values[entry.0 * self.exits + exit.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_and_exit_has_a_value_of_its_own() {
        let table = VariantTable::of(&['a', 'b'], &['x'], |entry, exit| (entry.copied(), exit.copied()));
        let (within, [a, b]) = (EntryKind::SAME_HOST, [0, 1].map(EntryKind::by_link));
        let (done, x) = (ExitKind::SAME_HOST, ExitKind::by_link(0));
        assert_eq!((table[(within, done)], table[(within, x)]), ((None, None), (None, Some('x'))));
        assert_eq!((table[(a, done)], table[(b, x)]), ((Some('a'), None), (Some('b'), Some('x'))));
        assert_eq!([a, b].map(EntryKind::link_kind), [0, 1]);
    }
}
