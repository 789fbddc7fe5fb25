//! What the networks of the Inception family have in common.

use crate::layers::{Conv, Layers, Map};

/// With batch normalisation, as all convolutions since the second version.
pub(crate) fn conv(filters: usize, kernel: usize) -> Conv {
    Conv::new(filters, kernel).batch_norm()
}

/// A long kernel.
pub(crate) fn wide(filters: usize, height: usize, width: usize) -> Conv {
    conv(filters, 1).kernel(height, width)
}

/// Without padding, as the letter V in the papers' figures says.
pub(crate) fn valid(filters: usize, kernel: usize) -> Conv {
    conv(filters, kernel).padding(0)
}

/// Runs convolutions one after the other.
pub(crate) fn chain(layers: &mut Layers, input: &Map, convolutions: &[Conv]) -> Map {
    convolutions.iter().fold(input.clone(), |map, &conv| layers.conv(&map, conv))
}
