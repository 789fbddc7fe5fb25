//! Segments are prepared and given up by several threads at once, as a pipeline's workers do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fetched;

use std::sync::Arc;
use std::thread;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_openvino::OpenVinoBackend;
use millstream_board::Processor;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use fetched::library;

const ROUNDS: usize = 30;

/// A small model, of another size for each number.
fn model(index: usize) -> Arc<Model> {
    let mut builder = ModelBuilder::new("small");
    let input = builder.input("image", [1, 4, 6 + index, 8]);
    let filter = builder.weight("filter", &Weight::from_f32([4, 4, 3, 3], vec![0.25; 144]));
    let map = builder.node_with("Conv", &[&input, &filter], Attributes::new().ints("pads", &[1; 4]));
    let map = builder.node("Relu", &[&map]);
    let map = builder.node("Add", &[&map, &input]);
    builder.output(&map);
    Arc::new(builder.build().unwrap())
}

#[test]
fn threads_prepare_and_give_up_at_once() {
    let Some(library) = library() else { return };
    for round in 0..ROUNDS {
        let model = model(round % 5);
        let backend = OpenVinoBackend::new(&library, Arc::clone(&model));
        let image = Tensor::from_f32([1, 4, 6 + round % 5, 8], vec![0.5; 4 * (6 + round % 5) * 8]);
        thread::scope(|scope| {
            for core in 0..2 {
                let (model, backend, image) = (&model, &backend, &image);
                scope.spawn(move || {
                    let segment = Segment::whole(model.graph());
                    let mut prepared = backend.prepare(&segment, &Processor::new("B", [core])).unwrap();
                    prepared.run(std::slice::from_ref(image)).unwrap();
                });
            }
        });
    }
}
