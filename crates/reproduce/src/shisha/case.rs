//! A network on a chiplet system, and the best that its configurations reach.

use std::fmt;

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;
use millstream_tune::{LayerTimes, Space};

use crate::layers::{Layer, shisha_layers};
use crate::paper::ReproduceError;
use crate::shisha::systems::System;

/// A network of section 7.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    ResNet50,
    YoloV3,
    SynthNet,
}

impl Network {
    pub(super) const ALL: [Self; 3] = [Self::ResNet50, Self::YoloV3, Self::SynthNet];

    /// As the paper writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ResNet50 => "ResNet50",
            Self::YoloV3 => "YOLOv3",
            Self::SynthNet => "SynthNet",
        }
    }

    /// As the zoo has it.
    fn model(self) -> &'static str {
        match self {
            Self::ResNet50 => "resnet50",
            Self::YoloV3 => "yolov3",
            Self::SynthNet => "synthnet",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What section 7.2 reports for listing SynthNet's configurations on eight places: 1200 s for 41,226 divisions into
/// stages.
pub(super) const PREPARATION: Nanoseconds = Nanoseconds(1_200_000_000_000 / 41_226);

/// A network on a system.
pub(super) struct Case {
    pub(super) network: Network,
    pub(super) layers: Vec<Layer>,
    pub(super) system: System,
    pub(super) space: Space,
    pub(super) times: LayerTimes,
    /// The shortest period there is.
    pub(super) optimum: Nanoseconds,
}

impl Case {
    pub(super) fn new(network: Network, system: System) -> Result<Self, ReproduceError> {
        let layers = shisha_layers(network.model())?;
        let space = system.space(&layers)?;
        let times = system.times(&space, &layers);
        let optimum = optimum(&space, &times, &system.counts());
        Ok(Self { network, layers, system, space, times, optimum })
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
        range.map(|layer| times.time(first_of_kind[kind], layer)).sum::<Nanoseconds>()
    };
    best_placement(space.layers(), counts, time).map_or(Nanoseconds::ZERO, |(_, period)| period)
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
