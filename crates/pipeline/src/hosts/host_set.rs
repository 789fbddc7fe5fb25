//! Sets of hosts.

use super::place::HostPlace;

/// A set of hosts: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostSet(usize);

impl HostSet {
    /// The set of one host.
    pub(super) const fn only(host: HostPlace) -> Self {
        Self(1 << host.index())
    }

    /// All sets of the first so many hosts: the empty one first, and none before a part of it.
    pub(super) fn all(host_count: usize) -> impl Iterator<Item = Self> {
        (0..1 << host_count).map(Self)
    }

    /// Its place among all of them.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0
    }

    #[inline]
    pub(super) const fn contains(self, host: HostPlace) -> bool {
        self.0 & Self::only(host).0 != 0
    }

    /// The set with one more host.
    #[inline]
    pub(super) const fn with(self, host: HostPlace) -> Self {
        Self(self.0 | Self::only(host).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_hosts_that_they_are_made_of() {
        let [first, second, third] = [0, 1, 2].map(HostPlace::new);
        let set = HostSet::only(third).with(first);
        assert!(set.contains(first) && !set.contains(second) && set.contains(third));
        assert_eq!(set.with(first), set);
        assert!(HostSet::all(3).enumerate().all(|(place, set)| set.index() == place));
        assert_eq!(HostSet::all(3).filter(|set| set.contains(second)).count(), 4);
    }
}
