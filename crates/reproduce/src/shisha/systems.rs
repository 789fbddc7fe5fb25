//! The simulated chiplet systems: places of big and little cores with fast and slow memory.

use millstream_cost::Nanoseconds;
use millstream_tune::{LayerTimes, PlaceKind, Space, TuneError};

use crate::layers::Layer;

/// Cores of a place of table 1. The paper takes times from a simulator and prints none: the rates are ours.
#[derive(Debug, Clone, Copy)]
struct Cores {
    name: &'static str,
    count: u64,
    /// Multiply-accumulates per second and core.
    macs_per_second: f64,
    /// Memory bandwidth of the place (table 1).
    bytes_per_second: f64,
}

/// A big core at 2 GHz that reaches 70 % of 4 multiply-accumulates per cycle, a little one at 1.4 GHz that reaches 70 %
/// of 2.
const BIG: f64 = 2.0e9 * 4.0 * 0.7;
const LITTLE: f64 = 1.4e9 * 2.0 * 0.7;
/// What each core beyond the first adds to a place.
const PARALLEL_EFFICIENCY: f64 = 0.9;

impl Cores {
    const fn big(name: &'static str, count: u64) -> Self {
        Self { name, count, macs_per_second: BIG, bytes_per_second: 40e9 }
    }

    const fn little(name: &'static str, count: u64) -> Self {
        Self { name, count, macs_per_second: LITTLE, bytes_per_second: 20e9 }
    }

    /// The image-to-column matrix, then the matrix product, each as fast as cores and memory allow.
    fn seconds(&self, layer: &Layer) -> f64 {
        let cores = 1.0 + PARALLEL_EFFICIENCY * (self.count - 1) as f64;
        let product = layer.macs as f64 / (self.macs_per_second * cores);
        let memory = layer.product_bytes as f64 / self.bytes_per_second;
        layer.column_bytes as f64 / self.bytes_per_second + product.max(memory)
    }
}

/// A system of table 3: fast places and slow places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System {
    pub(crate) name: &'static str,
    fast: (usize, Cores),
    slow: (usize, Cores),
}

pub(crate) const SYSTEMS: [System; 5] = [
    System { name: "C1", fast: (1, Cores::big("F8", 8)), slow: (1, Cores::little("S8", 8)) },
    System { name: "C2", fast: (2, Cores::big("F8", 8)), slow: (2, Cores::little("S8", 8)) },
    System { name: "C3", fast: (4, Cores::big("F4", 4)), slow: (2, Cores::little("S8", 8)) },
    System { name: "C4", fast: (2, Cores::big("F8", 8)), slow: (4, Cores::little("S4", 4)) },
    System { name: "C5", fast: (4, Cores::big("F4", 4)), slow: (4, Cores::little("S4", 4)) },
];

/// The systems with four places and with eight that most figures are of.
pub(crate) const C2: System = SYSTEMS[1];
pub(crate) const C5: System = SYSTEMS[4];

impl System {
    /// The space of a network on this system.
    pub(crate) fn space(&self, layers: &[Layer]) -> Result<Space, TuneError> {
        let kinds = [self.fast, self.slow].map(|(count, cores)| PlaceKind::new(cores.name, count));
        Space::new(layers.iter().map(|layer| layer.macs).collect(), kinds.to_vec())
    }

    /// What every layer takes on every place.
    pub(crate) fn times(&self, space: &Space, layers: &[Layer]) -> LayerTimes {
        LayerTimes::new(space, |place, layer| {
            let cores = if space.kind(place) == 0 { self.fast.1 } else { self.slow.1 };
            Nanoseconds::from_seconds(cores.seconds(&layers[layer]))
        })
    }

    /// What is known without running anything: the work of layers, and that fast places are faster; taken as twice as
    /// fast.
    pub(crate) fn prior(&self, space: &Space) -> LayerTimes {
        LayerTimes::new(space, |place, layer| {
            Nanoseconds(space.weights()[layer] / 1000 * if space.kind(place) == 0 { 1 } else { 2 })
        })
    }

    /// Numbers of fast and of slow places.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [self.fast.0, self.slow.0]
    }
}
