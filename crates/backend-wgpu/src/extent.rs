//! Shapes as shaders need them: batch, channels, and everything within a channel.

/// The dimensions of a value as a segment sees it.
pub(crate) struct Extent {
    pub(crate) batch: u64,
    pub(crate) channels: u64,
    /// Everything within a channel.
    pub(crate) inner: Vec<u64>,
}

impl Extent {
    /// Elements within a channel.
    pub(crate) fn per_channel(&self) -> u64 {
        self.inner.iter().product()
    }

    pub(crate) fn elements(&self) -> u64 {
        self.batch * self.channels * self.per_channel()
    }

    /// Height and width; 1 where there is none.
    pub(crate) fn pair(&self) -> [u64; 2] {
        [0, 1].map(|index| self.inner.get(index).copied().unwrap_or(1))
    }
}
