//! A cluster while frames flow, and how fast it is.

/// A cluster or an accelerator.
pub(crate) struct ClusterState {
    pub(crate) label: String,
    pub(crate) speed: Speed,
}

/// What part of its full speed a cluster has, and of its full power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speed {
    /// The part of the speed that disturbances leave it.
    pub(crate) disturbed: f64,
    /// The part of the speed that its temperature leaves it.
    pub(crate) throttled: f64,
    /// The part of its full power that it draws at the clock that its temperature leaves it.
    pub(crate) throttled_power: f64,
}

impl Speed {
    pub(crate) const FULL: Self = Self { disturbed: 1.0, throttled: 1.0, throttled_power: 1.0 };

    /// What part of its full speed the cluster has.
    pub(crate) fn factor(self) -> f64 {
        self.disturbed * self.throttled
    }

    /// What part of its full power the cluster draws.
    pub(crate) fn power_factor(self) -> f64 {
        self.disturbed * self.throttled_power
    }
}
