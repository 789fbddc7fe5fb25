//! Builds a network of a few convolutions, on frames of 3x32x32, and writes it to a file: small enough for the slowest
//! of computers.
//!
//! `cargo run --release -p millstream-onnx --example small_network small.onnx`

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example, which a test takes in")]

use std::error::Error;
use std::path::Path;

use millstream_onnx::{Attributes, Model, ModelBuilder, OnnxError, Weight, WeightStorage};

const CHANNELS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name the file to write")?;
    write(Path::new(&path)).map(|operators| println!("{path}: {operators} operators"))
}

/// Writes the network, and returns how many operators it has.
pub fn write(path: &Path) -> Result<usize, Box<dyn Error>> {
    let model = network()?;
    let graph = model.graph();
    std::fs::write(path, model.segment(graph.order(), WeightStorage::Inline)?.bytes)?;
    Ok(graph.operators().len())
}

/// Four convolutions, of which the second and the third read the same, and the sum of what these make.
fn network() -> Result<Model, OnnxError> {
    let mut builder = ModelBuilder::new("small");
    let image = builder.input("image", [1, 3, 32, 32]);
    let stem = convolution(&mut builder, &image, 3);
    let one = convolution(&mut builder, &stem, CHANNELS);
    let other = convolution(&mut builder, &stem, CHANNELS);
    let sum = builder.node("Add", &[&one, &other]);
    let last = convolution(&mut builder, &sum, CHANNELS);
    let scores = builder.node("GlobalAveragePool", &[&last]);
    builder.output(&scores);
    builder.build()
}

/// A convolution of 3x3 and its activation.
fn convolution(builder: &mut ModelBuilder, input: &str, channels: usize) -> String {
    let count = CHANNELS * channels * 9;
    let values = (0..count).map(|index| (index * 37 % 101) as f32 / 505.0 - 0.1).collect();
    let filters = builder.weight("filters", &Weight::from_f32([CHANNELS, channels, 3, 3], values));
    let map = builder.node_with("Conv", &[input, &filters], Attributes::new().ints("pads", &[1, 1, 1, 1]));
    builder.node("Relu", &[&map])
}
