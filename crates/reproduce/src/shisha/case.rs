//! A network on a chiplet system, and the best that its configurations reach.

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;
use millstream_tune::{LayerTimes, Space};

use crate::layers::{Layer, shisha_layers};
use crate::paper::ReproduceError;
use crate::shisha::systems::System;

/// Networks of section 7.1.
pub(super) const NETWORKS: [(&str, &str); 3] =
    [("ResNet50", "resnet50"), ("YOLOv3", "yolov3"), ("SynthNet", "synthnet")];

/// What section 7.2 reports for listing SynthNet's configurations on eight places: 1200 s for 41,226 divisions into stages.
pub(super) const PREPARATION: Nanoseconds = Nanoseconds(1_200_000_000_000 / 41_226);

/// A network on a system.
pub(super) struct Case {
    pub(super) network: &'static str,
    pub(super) layers: Vec<Layer>,
    pub(super) system: System,
    pub(super) space: Space,
    pub(super) times: LayerTimes,
    /// The shortest period there is.
    pub(super) optimum: Nanoseconds,
}

impl Case {
    pub(super) fn new(network: (&'static str, &str), system: System) -> Result<Self, ReproduceError> {
        let layers = shisha_layers(network.1)?;
        let space = system.space(&layers)?;
        let times = system.times(&space, &layers);
        let optimum = optimum(&space, &times, &system.counts());
        Ok(Self { network: network.0, layers, system, space, times, optimum })
    }

    /// A configuration's throughput in terms of the best.
    pub(super) fn throughput(&self, period: Nanoseconds) -> f64 {
        self.optimum.seconds() / period.seconds()
    }
}

/// Ways to divide layers into at most so many stages.
pub(super) fn divisions(layers: usize, stages: usize) -> f64 {
    let mut ways = 1.0;
    (1..=stages.min(layers))
        .map(|stages| {
            let now = ways;
            ways *= (layers - stages) as f64 / stages as f64;
            now
        })
        .sum()
}

/// The exact search, for places of these kinds.
pub(super) fn optimum(space: &Space, times: &LayerTimes, counts: &[usize]) -> Nanoseconds {
    let first_of_kind: Vec<_> =
        (0..counts.len()).filter_map(|kind| space.places().find(|&place| space.kind(place) == kind)).collect();
    let time = |kind: usize, range: std::ops::Range<usize>| {
        range.map(|layer| times.time(first_of_kind[kind], layer).0).sum::<u64>()
    };
    Nanoseconds(best_placement(space.layers(), counts, time).map_or(0, |(_, period)| period))
}

/// Seconds with a sensible number of digits.
pub(super) fn seconds(time: Nanoseconds) -> String {
    match time.seconds() {
        long if long >= 100.0 => format!("{long:.0}"),
        long if long >= 1.0 => format!("{long:.1}"),
        short => format!("{short:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_sums_of_binomials() {
        assert_eq!(divisions(3, 3), 1.0 + 2.0 + 1.0);
        assert_eq!(divisions(2, 8), 2.0);
        assert_eq!(divisions(18, 8).round(), 41_226.0);
    }
}
