//! A chain of eighteen convolutions of AlexNet's shapes, after the synthetic network of the Shisha paper (section 7.1),
//! which repeats AlexNet's layers and prints no further detail: each of AlexNet's five convolutions keeps its place,
//! and the later four are repeated at their resolution.

use crate::layers::{Conv, Layers};

/// Filters, kernel and repetitions of the second to fifth convolution.
const REPEATED: [(usize, usize, usize); 4] = [(256, 5, 4), (384, 3, 4), (384, 3, 5), (256, 3, 4)];

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 227);
    let map = layers.conv(&image, Conv::new(96, 11).stride(4).padding(0));
    let mut map = layers.max_pool(&map, 3, 2, 0);
    for (index, (filters, kernel, repetitions)) in REPEATED.into_iter().enumerate() {
        for _ in 0..repetitions {
            map = layers.conv(&map, Conv::new(filters, kernel));
        }
        if index == 0 {
            map = layers.max_pool(&map, 3, 2, 0);
        }
    }
    layers.output(&map);
}
