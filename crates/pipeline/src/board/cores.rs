//! Numbers of cores per cluster, encoded as one number.

use std::ops::{Add, Sub};

use crate::board::cluster_id::ClusterId;

/// A number of cores of each cluster, encoded by [`CoreCounts`]. Adding two adds their numbers, cluster by cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cores(usize);

impl Cores {
    /// No core at all.
    pub(crate) const NONE: Self = Self(0);

    /// The one at a place among all of them.
    #[inline]
    pub(crate) const fn at(place: usize) -> Self {
        Self(place)
    }

    /// Its place among all of them.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

impl Add for Cores {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Cores {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// All vectors `0 <= v <= limits` in mixed-radix encoding.
#[derive(Debug, Clone)]
pub(crate) struct CoreCounts {
    limits: Vec<usize>,
    strides: Vec<usize>,
    size: usize,
}

impl CoreCounts {
    pub(crate) fn new(limits: Vec<usize>) -> Self {
        let mut strides = Vec::with_capacity(limits.len());
        let mut size = 1;
        for &limit in &limits {
            strides.push(size);
            size *= limit + 1;
        }
        Self { limits, strides, size }
    }

    /// Number of vectors.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// All of them: no core first, and none before one with fewer cores somewhere and more nowhere.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = Cores> + use<> {
        (0..self.size).map(Cores)
    }

    /// Every core.
    pub(crate) fn most(&self) -> Cores {
        Cores(self.size - 1)
    }

    /// The encoding of a vector; `None` if it is not within the limits.
    pub(crate) fn encode(&self, counts: &[usize]) -> Option<Cores> {
        let fits = counts.iter().zip(&self.limits).all(|(count, limit)| count <= limit);
        fits.then(|| Cores(counts.iter().zip(&self.strides).map(|(count, stride)| count * stride).sum()))
    }

    /// So many cores of one cluster.
    pub(crate) fn of_cluster(&self, cluster: ClusterId, cores: usize) -> Cores {
        Cores(self.strides[cluster.index()] * cores)
    }

    pub(crate) fn decode(&self, cores: Cores) -> Vec<usize> {
        self.limits.iter().zip(&self.strides).map(|(limit, stride)| cores.0 / stride % (limit + 1)).collect()
    }

    /// Those with one core less in one place.
    pub(crate) fn one_fewer(&self, cores: Cores) -> Vec<Cores> {
        let used = self.decode(cores);
        let less = used.iter().zip(&self.strides).filter(|(used, _)| **used > 0);
        less.map(|(_, stride)| Cores(cores.0 - stride)).collect()
    }

    /// All that leave room for these, that is, whose sum with them is within the limits; ascending.
    pub(crate) fn with_room_for(&self, cores: Cores) -> Vec<Cores> {
        let wanted = self.decode(cores);
        let mut compatible = vec![Cores::NONE];
        for ((wanted, limit), stride) in wanted.iter().zip(&self.limits).zip(&self.strides) {
            let more = 0..=limit - wanted;
            compatible =
                more.flat_map(|more| compatible.iter().map(move |fewer| Cores(fewer.0 + more * stride))).collect();
        }
        compatible
    }

    /// Whether some have no more of any cluster than others.
    pub(crate) fn are_within(&self, cores: Cores, others: Cores) -> bool {
        self.decode(cores).iter().zip(self.decode(others)).all(|(count, limit)| *count <= limit)
    }
}
