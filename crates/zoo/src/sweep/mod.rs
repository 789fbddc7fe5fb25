//! Networks made for profiling: they cover the grid of Pipe-it (section V-B) and the other operators that networks
//! have.
//!
//! Runtimes fuse operators and choose layouts by what is around them, so a convolution that is measured alone is not
//! the one that a network runs. The sweep therefore consists of small networks, in which every operator is in the
//! company that it usually keeps.

mod design;
mod motifs;
mod quantised;

use millstream_onnx::Model;

use crate::ZooError;
use crate::layers::{Activation, Conv, Layers, Map};
use design::{Design, SIZES};

/// Largest layer of each network, in multiply-accumulates; networks take turns.
const LARGEST_LAYERS: [usize; 4] = [120_000_000, 400_000_000, 1_000_000_000, 2_000_000_000];
/// Sizes that are not on the grid: those of networks with other input sizes.
const OTHER_SIZES: [[usize; 5]; 3] = [[104, 52, 26, 13, 7], [147, 73, 35, 17, 8], [108, 54, 27, 13, 6]];

/// One network of so many is quantised.
const QUANTISED_TURN: usize = 5;

/// An endless sequence of networks that together fill the space of layer shapes, the most telling ones first. They are
/// called `sweep-0`, `sweep-1` and so on, and are the same on every machine.
///
/// ```
/// let first = millstream_zoo::Sweep::new().next().expect("it is endless")?;
/// assert_eq!(first.graph().name(), "sweep-0");
/// # Ok::<(), millstream_zoo::ZooError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sweep {
    design: Design,
    built: usize,
}

impl Sweep {
    /// From the first network on.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Iterator for Sweep {
    type Item = Result<Model, ZooError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.built;
        self.built += 1;
        let mut layers = Layers::new(&format!("sweep-{index}"));
        // Every fifth network is quantised; the others are the same as without those.
        match index % QUANTISED_TURN {
            last if last + 1 == QUANTISED_TURN => quantised::build(&mut layers, index / QUANTISED_TURN),
            _ => build(&mut layers, &mut self.design, index - index / QUANTISED_TURN),
        }
        Some(layers.finish().map_err(ZooError::from))
    }
}

/// A walk from large maps to small ones: at each size two convolutions of the design, a motif, and one more
/// convolution.
fn build(layers: &mut Layers, design: &mut Design, index: usize) {
    let is_wide = index % 2 == 1;
    // Every third network has sizes off the grid.
    let sizes = if index % 3 == 2 { OTHER_SIZES[index / 3 % OTHER_SIZES.len()] } else { SIZES };
    let most_macs = LARGEST_LAYERS[index % LARGEST_LAYERS.len()];
    // Many layers fill the first size, which costs the most; every other network starts with the second.
    let first_size = if index.is_multiple_of(2) { 0 } else { 1 };
    let mut map = stem(layers, index, sizes[first_size]);
    for (step, &size) in sizes.iter().enumerate().skip(first_size) {
        let convolutions = if step < 2 { 2 } else { 3 };
        map = convolve(layers, design, &map, most_macs, is_wide && step >= 2);
        map = motifs::motif(layers, &map, index + 3 * step);
        for _ in 1..convolutions {
            map = convolve(layers, design, &map, most_macs, is_wide && step >= 2);
        }
        if let Some(&next) = sizes.get(step + 1) {
            map = shrink(layers, &map, size, next, index + step);
        }
    }
    head(layers, &map, index);
}

/// From an image to a map of this size with 32 to 96 channels.
fn stem(layers: &mut Layers, index: usize, size: usize) -> Map {
    match index % 4 {
        0 => {
            let image = layers.image(3, 2 * size);
            layers.conv(&image, Conv::new(64, 7).stride(2).padding(3))
        }
        1 => {
            let image = layers.image(3, 4 * size + 3);
            let map = layers.conv(&image, Conv::new(if index % 8 == 1 { 64 } else { 96 }, 11).stride(4).padding(4));
            layers.response_norm(&map)
        }
        2 => {
            let image = layers.image(3, 2 * size);
            let map = layers.conv(&image, Conv::new(32, 3).batch_norm());
            layers.max_pool(&map, 2, 2, 0)
        }
        _ => {
            let image = layers.image(3, 2 * size);
            layers.conv(&image, Conv::new(32, 3).stride(2).batch_norm().activation(Activation::Relu6))
        }
    }
}

fn convolve(layers: &mut Layers, design: &mut Design, map: &Map, most_macs: usize, is_wide: bool) -> Map {
    match design.next(map.size[0], map.channels, most_macs, is_wide) {
        Some(point) => layers.conv(map, Conv::new(point.filters, point.kernel)),
        // Too many channels for any convolution of the design: fewer channels, then.
        None => layers.conv(map, Conv::new(32, 1)),
    }
}

/// To the next size, by one of the ways that networks use.
fn shrink(layers: &mut Layers, map: &Map, size: usize, next: usize, turn: usize) -> Map {
    let halves_exactly = size / 2 == next && size.is_multiple_of(2);
    match turn % 5 {
        0 if halves_exactly => layers.max_pool(map, 2, 2, 0),
        1 => layers.conv(map, Conv::new(map.channels, 3).stride(2).padding(if halves_exactly { 1 } else { 0 })),
        2 if halves_exactly => layers.conv(map, Conv::new(map.channels, 1).stride(2).batch_norm()),
        3 => {
            let depthwise = Conv::new(map.channels, 3).stride(2).padding(if halves_exactly { 1 } else { 0 });
            layers.conv(map, depthwise.groups(map.channels).batch_norm().activation(Activation::Relu6))
        }
        4 if halves_exactly => layers.average_pool(map, 2, 2, 0),
        _ => layers.max_pool(map, 3, 2, if halves_exactly { 1 } else { 0 }),
    }
}

/// A classifier: pooled, or fully connected layers on the flattened map.
fn head(layers: &mut Layers, map: &Map, index: usize) {
    let map = match index % 3 {
        0 => {
            let pooled = layers.global_average_pool(map);
            let flat = layers.flatten(&pooled);
            layers.fully_connected(&flat, 1000, Activation::None)
        }
        1 => {
            let units = [4096, 2048, 1024][index / 3 % 3];
            let squeezed = layers.conv(map, Conv::new([64, 128, 192][index / 3 % 3], 1));
            let flat = layers.flatten(&squeezed);
            let hidden = layers.fully_connected(&flat, units, Activation::Relu);
            let hidden = layers.fully_connected(&hidden, [2048, 4096][index / 3 % 2], Activation::Relu);
            layers.fully_connected(&hidden, 1000, Activation::None)
        }
        _ => {
            let scores = layers.conv(map, Conv::new(1000, 1));
            let pooled = layers.global_average_pool(&scores);
            layers.flatten(&pooled)
        }
    };
    let map = layers.softmax(&map);
    layers.output(&map);
}
