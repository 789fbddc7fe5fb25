//! What the conformance suite does not ask: granularities, memory, and which devices there are. Without any graphics
//! device (not even an emulated one) there is nothing to test, unless `MILLSTREAM_NEEDS_GPU` is set, as in CI.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, GpuOptions, Policy, ThreadWork, WgpuBackend, WorkChoice, detect};
use millstream_board::Processor;
use millstream_graph::Shape;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use millstream_test_support::not_tested;

fn gpu() -> Option<Gpu> {
    Gpu::open(None).map_err(|error| not_tested("GPU", error)).ok()
}

fn pattern(shape: &Shape, seed: usize) -> Vec<f32> {
    (0..shape.elements()).map(|index| ((index as usize * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0).collect()
}

fn accelerator() -> Processor {
    Processor::accelerator("G")
}

struct Pair {
    model: Arc<Model>,
    cpu: OrtBackend,
    gpu: WgpuBackend,
}

impl Pair {
    fn new(gpu: &Gpu, model: Model) -> Self {
        let model = Arc::new(model);
        Self {
            cpu: OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)),
            gpu: WgpuBackend::new(gpu, "G", Arc::clone(&model)),
            model,
        }
    }

    fn check(&self, segment: &Segment) {
        let graph = self.model.graph();
        let inputs: Vec<Tensor> = segment
            .boundary
            .inputs
            .iter()
            .zip(0..)
            .map(|(&value, seed)| {
                let shape = graph.value(value).shape.clone().unwrap();
                Tensor::from_f32(shape.clone(), pattern(&shape, seed))
            })
            .collect();
        let expected = self.cpu.prepare(segment, &Processor::new("B", [0])).unwrap().run(&inputs).unwrap();
        let mut prepared = self.gpu.prepare(segment, &accelerator()).unwrap();
        let name = &graph.operator(segment.operators[0]).name;
        // A second frame finds the buffers as the first one left them.
        for _ in 0..2 {
            for (found, expected) in prepared.run(&inputs).unwrap().iter().zip(&expected) {
                assert_eq!(found.shape(), expected.shape(), "{name}");
                let (found, expected) = (found.as_f32().unwrap(), expected.as_f32().unwrap());
                let scale = expected.iter().fold(1e-3_f32, |largest, value| largest.max(value.abs()));
                let difference = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f32::max);
                assert!(difference < 2e-4, "{name}: {difference}");
            }
        }
    }
}

/// Every granularity and policy gives the same result, also where outputs do not divide evenly.
#[test]
fn granularity_does_not_change_results() {
    let Some(gpu) = gpu() else { return };
    let mut builder = ModelBuilder::new("odd");
    let input = builder.input("image", [1, 6, 9, 7]);
    let weight = |shape: &[usize]| {
        let shape = Shape::from(shape.to_vec());
        Weight::from_f32(shape.clone(), pattern(&shape, 3))
    };
    let filter = builder.weight("filter", &weight(&[21, 6, 3, 2]));
    let attributes = Attributes::new().ints("pads", &[1, 2, 0, 1]).ints("strides", &[2, 1]).ints("dilations", &[1, 2]);
    let first = builder.node_with("Conv", &[&input, &filter], attributes);
    let grouped = builder.weight("grouped", &weight(&[12, 7, 1, 1]));
    let bias = builder.weight("bias", &weight(&[12]));
    let second = builder.node_with("Conv", &[&first, &grouped, &bias], Attributes::new().int("group", 3));
    builder.output(&second);
    let pair = Pair::new(&gpu, builder.build().unwrap());
    let whole = Segment::whole(pair.model.graph());
    for policy in Policy::ALL {
        for outputs in [1, 2, 4, 8, 16, 32] {
            pair.gpu.choose_work(WorkChoice::Fixed(ThreadWork { outputs, policy }));
            pair.check(&whole);
        }
    }
}

#[test]
fn too_large_a_value_is_out_of_memory() {
    let Some(gpu) = gpu() else { return };
    let mut builder = ModelBuilder::new("huge");
    // Twice what Vulkan lets a shader address, and as many elements as shape rules count.
    let input = builder.input("image", [1, (1 << 21) - 1, 1 << 5, 1 << 5]);
    let made = builder.node("Relu", &[&input]);
    builder.output(&made);
    let pair = Pair::new(&gpu, builder.build().unwrap());
    let refused = pair.gpu.prepare(&Segment::whole(pair.model.graph()), &accelerator());
    assert!(matches!(refused, Err(BackendError::OutOfMemory { .. })), "{:?}", refused.err());
}

#[test]
fn an_unknown_device_says_which_there_are() {
    let error = Gpu::open(Some("no such device")).err().unwrap().to_string();
    assert!(error.contains("no such device") && error.contains("mesa-vulkan-drivers"), "{error}");
    let all = detect(true);
    assert!(detect(false).len() <= all.len());
    assert!(all.iter().zip(["G", "G2", "G3"]).all(|(accelerator, label)| accelerator.label == label));
}

/// A convolution of so many output channels, which takes an emulated device a while.
fn heavy(channels: usize) -> Arc<Model> {
    let mut builder = ModelBuilder::new("heavy");
    let input = builder.input("image", [1, 32, 96, 96]);
    let weights = builder.weight("filters", &Weight::from_f32([channels, 32, 3, 3], vec![0.01; channels * 32 * 9]));
    let made = builder.node_with("Conv", &[&input, &weights], Attributes::new().ints("pads", &[1, 1, 1, 1]));
    builder.output(&made);
    Arc::new(builder.build().unwrap())
}

#[test]
fn a_device_that_takes_too_long_is_lost_and_nobody_waits_for_it() {
    if gpu().is_none() {
        return;
    }
    let mut options = GpuOptions::default();
    options.longest_wait = Duration::from_micros(1);
    let gpu = Gpu::open_with(None, options).unwrap();
    let model = heavy(128);
    let backend = WgpuBackend::new(&gpu, "G", Arc::clone(&model));
    let mut prepared = backend.prepare(&Segment::whole(model.graph()), &accelerator()).unwrap();
    let input = [Tensor::from_f32([1, 32, 96, 96], vec![0.5; 32 * 96 * 96])];
    let mut room = vec![0; 128 * 96 * 96 * 4];
    let start = Instant::now();
    for _ in 0..3 {
        let results = [prepared.run(&input).map(drop), prepared.run_into(&input, &mut room)];
        for result in results {
            let Err(BackendError::DeviceLost { detail, .. }) = &result else { panic!("{result:?}") };
            assert!(detail.contains("not done after 1µs"), "{detail}");
        }
    }
    assert!(matches!(
        backend.prepare(&Segment::whole(model.graph()), &accelerator()).map(drop),
        Err(BackendError::DeviceLost { .. })
    ));
    // Nor is it waited for when all of it goes.
    drop((prepared, backend, gpu));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn constants_go_with_the_segments_that_have_them() {
    let Some(gpu) = gpu() else { return };
    let model = heavy(64);
    let backend = WgpuBackend::new(&gpu, "G", Arc::clone(&model));
    let operator = model.graph().order()[0];
    let mut current = Vec::new();
    let mut kept = Vec::new();
    for round in 0..60 {
        backend.begin_schedule();
        let split = 2 + round;
        current = [0..split, split..64]
            .map(|channels| {
                let part = Segment::part(model.graph(), vec![operator], channels);
                backend.prepare(&part, &accelerator()).unwrap()
            })
            .into();
        kept.push(backend.kept_constants().1);
    }
    assert!(kept.iter().all(|bytes| *bytes == kept[0] && *bytes >= 64 * 32 * 9 * 4), "{kept:?}");
    drop(current);
    assert_eq!(backend.kept_constants(), (0, 0));
}
