//! Numbers of cores per cluster, encoded as one index.

/// All vectors `0 <= v <= limits` in mixed-radix encoding: adding the encodings of two vectors adds the vectors.
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

    /// Number of vectors; the encoding of `limits` is the last.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// The encoding of a vector; `None` if it is not within the limits.
    pub(crate) fn encode(&self, counts: &[usize]) -> Option<usize> {
        let fits = counts.iter().zip(&self.limits).all(|(count, limit)| count <= limit);
        fits.then(|| counts.iter().zip(&self.strides).map(|(count, stride)| count * stride).sum())
    }

    /// The encoding of so many cores of one cluster.
    pub(crate) fn of_cluster(&self, cluster: usize, cores: usize) -> usize {
        self.strides[cluster] * cores
    }

    pub(crate) fn decode(&self, index: usize) -> Vec<usize> {
        self.limits.iter().zip(&self.strides).map(|(limit, stride)| index / stride % (limit + 1)).collect()
    }

    /// Encodings of the vectors with one core less in one place.
    pub(crate) fn one_fewer(&self, index: usize) -> Vec<usize> {
        let used = self.decode(index);
        used.iter().zip(&self.strides).filter(|(used, _)| **used > 0).map(|(_, stride)| index - stride).collect()
    }

    /// Encodings of all vectors that leave room for `size`, that is, whose sum with it is within the limits.
    pub(crate) fn with_room_for(&self, size: usize) -> Vec<usize> {
        let wanted = self.decode(size);
        (0..self.size)
            .filter(|&index| {
                let used = self.decode(index);
                used.iter().zip(&wanted).zip(&self.limits).all(|((used, wanted), limit)| used + wanted <= *limit)
            })
            .collect()
    }
}
