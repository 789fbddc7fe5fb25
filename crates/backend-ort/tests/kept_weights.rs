//! What is kept beside the model for segments goes with them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, PreparedSegment, Segment, Tensor};
use millstream_backend_ort::{Environment, KeptWeights, OrtBackend};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

const SIZE: usize = 64;

fn weight() -> Weight {
    let element = |index: usize| ((index * 31 % 61) as f32 - 30.0) / 61.0;
    Weight::from_f32([SIZE, SIZE], (0..SIZE * SIZE).map(element).collect())
}

/// Two products with matrices of their own: columns of a matrix are apart in memory.
fn products() -> Arc<Model> {
    let mut builder = ModelBuilder::new("products");
    let mut last = builder.input("x", [1, SIZE]);
    for name in ["first", "second"] {
        let weight = builder.weight(name, &weight());
        last = builder.node("MatMul", &[&last, &weight]);
    }
    builder.output(&last);
    Arc::new(builder.build().unwrap())
}

/// The same with matrices that are transposed: what makes a channel lies together.
fn transposed_products() -> Arc<Model> {
    let mut builder = ModelBuilder::new("transposed products");
    let mut last = builder.input("x", [1, SIZE]);
    for name in ["first", "second"] {
        let weight = builder.weight(name, &weight());
        last = builder.node_with("Gemm", &[&last, &weight], Attributes::new().int("transB", 1));
    }
    builder.output(&last);
    Arc::new(builder.build().unwrap())
}

fn backend(model: &Arc<Model>) -> OrtBackend {
    OrtBackend::new(&Environment::load().unwrap(), Arc::clone(model))
}

fn core() -> Processor {
    Processor::new("B", [0])
}

fn input() -> Tensor {
    Tensor::from_f32([1, SIZE], (0..SIZE).map(|index| index as f32 / SIZE as f32 - 0.4).collect())
}

/// The two parts of an operator that is divided at this channel.
fn parts(backend: &OrtBackend, model: &Model, operator: OperatorId, split: usize) -> [Box<dyn PreparedSegment>; 2] {
    [0..split, split..SIZE].map(|channels| {
        let part = Segment::part(model.graph(), vec![operator], channels);
        backend.prepare(&part, &core()).unwrap()
    })
}

fn schedule(backend: &OrtBackend, model: &Model, split: usize) -> Vec<Box<dyn PreparedSegment>> {
    backend.begin_schedule();
    model.graph().order().iter().flat_map(|&operator| parts(backend, model, operator, split)).collect()
}

#[test]
fn replacing_schedules_keeps_no_more_than_what_the_current_one_has() {
    let model = products();
    let backend = backend(&model);
    let mut kept = Vec::new();
    let mut current = schedule(&backend, &model, 4);
    for round in 0..500 {
        // The old schedule goes when the new one is ready.
        let next = schedule(&backend, &model, 8 + round % 48);
        assert_eq!(backend.kept_weights().schedules, 2);
        current = next;
        kept.push(backend.kept_weights());
    }
    let whole = (2 * SIZE * SIZE * 4) as u64;
    assert_eq!(kept[20], KeptWeights { weights: 4, copied_bytes: whole, schedules: 1 });
    assert!(kept[20..].iter().all(|now| *now == kept[20]), "{kept:?}");
    drop(current);
    assert_eq!(backend.kept_weights(), KeptWeights::default());
}

#[test]
fn what_is_measured_and_dropped_leaves_nothing() {
    let model = products();
    let backend = backend(&model);
    for split in 1..SIZE {
        let operator = model.graph().order()[split % 2];
        for mut part in parts(&backend, &model, operator, split) {
            part.run(&[input()]).unwrap();
        }
        assert_eq!(backend.kept_weights(), KeptWeights::default());
    }
}

#[test]
fn segments_of_a_schedule_share_weights() {
    let model = products();
    let backend = backend(&model);
    let replicas = [0, 1, 2].map(|_| backend.prepare(&Segment::whole(model.graph()), &core()).unwrap());
    assert_eq!(backend.kept_weights(), KeptWeights { weights: 2, copied_bytes: 0, schedules: 1 });
    drop(replicas);
    assert_eq!(backend.kept_weights(), KeptWeights::default());
}

#[test]
fn parts_that_lie_together_are_not_copied() {
    for (model, copied_bytes) in [(products(), (2 * SIZE * SIZE * 4) as u64), (transposed_products(), 0)] {
        let backend = backend(&model);
        let parts = schedule(&backend, &model, 24);
        assert_eq!(backend.kept_weights(), KeptWeights { weights: 4, copied_bytes, schedules: 1 }, "{model:?}");
        drop(parts);
    }
}

#[test]
fn segments_outlive_the_backend_and_the_model() {
    let model = transposed_products();
    let backend = backend(&model);
    let whole = Segment::whole(model.graph());
    let expected = backend.prepare(&whole, &core()).unwrap().run(&[input()]).unwrap();
    let (first, second) = (model.graph().order()[0], model.graph().order()[1]);
    let [mut low, mut high] = parts(&backend, &model, first, 24);
    let mut rest = backend.prepare(&Segment::new(model.graph(), vec![second]), &core()).unwrap();
    drop((backend, model));
    // What was freed is written over.
    let others: Vec<Vec<f32>> = (0..100).map(|_| vec![f32::NAN; SIZE * SIZE]).collect();
    let halves = [&mut low, &mut high].map(|part| part.run(&[input()]).unwrap().remove(0));
    let joined: Vec<f32> = halves.iter().flat_map(|half| half.as_f32().unwrap()).copied().collect();
    let made = rest.run(&[Tensor::from_f32([1, SIZE], joined)]).unwrap();
    assert_eq!(others.len(), 100);
    for (made, expected) in made[0].as_f32().unwrap().iter().zip(expected[0].as_f32().unwrap()) {
        assert!((made - expected).abs() < 1e-4, "{made} for {expected}");
    }
}

/// One matrix that is divided by columns for one product and by rows for the next, at the same channel.
#[test]
fn a_weight_can_be_divided_along_both_dimensions() {
    let mut builder = ModelBuilder::new("tied");
    let x = builder.input("x", [1, SIZE]);
    let weight = builder.weight("w", &weight());
    let hidden = builder.node("MatMul", &[&x, &weight]);
    let y = builder.node_with("Gemm", &[&hidden, &weight], Attributes::new().int("transB", 1));
    builder.output(&y);
    let model = Arc::new(builder.build().unwrap());
    let backend = backend(&model);
    let expected = backend.prepare(&Segment::whole(model.graph()), &core()).unwrap().run(&[input()]).unwrap();
    let mut value = input();
    let mut kept = Vec::new();
    for &operator in model.graph().order() {
        let mut parts = parts(&backend, &model, operator, 40);
        let made: Vec<_> =
            parts.iter_mut().map(|part| part.run(std::slice::from_ref(&value)).unwrap().remove(0)).collect();
        let joined: Vec<f32> = made.iter().flat_map(|part| part.as_f32().unwrap()).copied().collect();
        value = Tensor::from_f32([1, SIZE], joined);
        kept.extend(parts);
    }
    assert_eq!(backend.kept_weights().weights, 4);
    for (made, expected) in value.as_f32().unwrap().iter().zip(expected[0].as_f32().unwrap()) {
        assert!((made - expected).abs() < 1e-4, "{made} for {expected}");
    }
}
