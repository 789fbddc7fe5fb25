//! Shisha: searches compared on simulated chiplet systems.

mod comparison;
mod guided;
mod latency;
mod seeds;
mod sensitivity;
mod systems;

use millstream_cost::Nanoseconds;
use millstream_pipeline::best_placement;
use millstream_tune::{LayerTimes, Space};

use crate::layers::{Layer, shisha_layers};
use crate::{LeftOut, ReproduceError, Reproduction, Selection};
use systems::System;

/// Networks of section 7.1.
const NETWORKS: [(&str, &str); 3] = [("ResNet50", "resnet50"), ("YOLOv3", "yolov3"), ("SynthNet", "synthnet")];
/// What section 7.2 reports for listing SynthNet's configurations on eight places: 1200 s for 41,226 divisions into stages.
const PREPARATION: Nanoseconds = Nanoseconds(1_200_000_000_000 / 41_226);

const LEFT_OUT: [LeftOut; 3] = [
    LeftOut {
        what: "Table 1 and table 2",
        reason: "list what is simulated and name heuristics; there is nothing to compute",
    },
    LeftOut { what: "Figures 1 and 2", reason: "a memory benchmark as measured on a Knights Landing" },
    LeftOut {
        what: "Figure 4, throughputs of annealing and climbing",
        reason: "the text prints 0.80 and 0.94 without saying which search reaches which",
    },
];

pub(crate) fn reproduce(selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut sections = Vec::new();
    let mut figures = Vec::new();
    let wanted = |number| selection.wants_figure(number);
    let mut add = |(section, figure)| {
        sections.push(section);
        figures.extend(figure);
    };

    if selection.wants_table(3) {
        add((comparison::systems()?, None));
    }
    if wanted(4) {
        add(comparison::convergence()?);
    }
    if wanted(5) {
        add(comparison::optimality()?);
    }
    if wanted(6) {
        add(seeds::seeds()?);
    }
    if wanted(7) {
        add(sensitivity::heuristics()?);
    }
    if wanted(8) {
        add(sensitivity::convergence_of_two()?);
    }
    if wanted(9) {
        add(latency::latency()?);
    }
    if selection.is_everything() {
        add((guided::guided()?, None));
    }

    Ok(Reproduction {
        paper: "Soomro et al., Shisha: Online scheduling of CNN pipelines on heterogeneous architectures (2022)"
            .to_owned(),
        sections,
        figures,
        left_out: LEFT_OUT.to_vec(),
    })
}

/// A network on a system.
struct Case {
    network: &'static str,
    layers: Vec<Layer>,
    system: System,
    space: Space,
    times: LayerTimes,
    /// The shortest period there is.
    optimum: Nanoseconds,
}

impl Case {
    fn new(network: (&'static str, &str), system: System) -> Result<Self, ReproduceError> {
        let layers = shisha_layers(network.1)?;
        let space = system.space(&layers)?;
        let times = system.times(&space, &layers);
        let optimum = optimum(&space, &times, &system.counts());
        Ok(Self { network: network.0, layers, system, space, times, optimum })
    }

    /// A configuration's throughput in terms of the best.
    fn throughput(&self, period: Nanoseconds) -> f64 {
        self.optimum.seconds() / period.seconds()
    }
}

/// Ways to divide layers into at most so many stages.
fn divisions(layers: usize, stages: usize) -> f64 {
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
fn optimum(space: &Space, times: &LayerTimes, counts: &[usize]) -> Nanoseconds {
    let first_of_kind: Vec<_> =
        (0..counts.len()).filter_map(|kind| space.places().find(|&place| space.kind(place) == kind)).collect();
    let time = |kind: usize, range: std::ops::Range<usize>| {
        range.map(|layer| times.time(first_of_kind[kind], layer).0).sum::<u64>()
    };
    Nanoseconds(best_placement(space.layers(), counts, time).map_or(0, |(_, period)| period))
}

/// Seconds with a sensible number of digits.
fn seconds(time: Nanoseconds) -> String {
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
