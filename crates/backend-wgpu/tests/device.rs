//! What the device computes is what ONNX Runtime computes. Without any graphics device (not even an emulated one) there is nothing to
//! test, unless `MILLSTREAM_NEEDS_GPU` is set, as in CI.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, Policy, ThreadWork, WgpuBackend, WorkChoice, detect};
use millstream_board::Processor;
use millstream_graph::{OperatorId, Shape};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

fn gpu() -> Option<Gpu> {
    match Gpu::open(None) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("MILLSTREAM_NEEDS_GPU").is_none() => {
            eprintln!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
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

    fn supports(&self, id: OperatorId) -> bool {
        self.gpu.supports(id, &accelerator())
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

#[test]
fn a_whole_network_runs() {
    let Some(gpu) = gpu() else { return };
    let pair = Pair::new(&gpu, millstream_zoo::build("squeezenet").unwrap());
    let graph = pair.model.graph();
    assert!(graph.operator_ids().all(|id| pair.supports(id)));
    pair.check(&Segment::whole(graph));
    let times = pair
        .gpu
        .trace(
            &Segment::whole(graph),
            &accelerator(),
            &[Tensor::from_f32([1, 3, 224, 224], vec![0.5; 150_528])],
            &mut |_| false,
        )
        .unwrap();
    let mut covered: Vec<OperatorId> = times.iter().flat_map(|times| times.operators.clone()).collect();
    covered.sort_unstable();
    assert_eq!(covered, graph.operator_ids().collect::<Vec<_>>());
    assert!(times.iter().all(|times| times.seconds.len() == 1 && times.seconds[0] >= 0.0));
    assert!(times.iter().map(|times| times.seconds[0]).sum::<f64>() > 0.0);
    let transfers = pair.gpu.transfer_times(&accelerator(), 1 << 20).unwrap().unwrap();
    assert!(transfers.upload.as_nanos() > 0 && transfers.download.as_nanos() > 0);
}

/// Single operators of networks, whole and in parts: all kinds of convolution, pooling, normalisation and joining.
#[test]
fn operators_of_networks_run_whole_and_in_parts() {
    let Some(gpu) = gpu() else { return };
    for (name, step) in
        [("googlenet", 9), ("mobilenet-v2", 11), ("alexnet", 2), ("inception-v3", 23), ("tiny-darknet", 5)]
    {
        let pair = Pair::new(&gpu, millstream_zoo::build(name).unwrap());
        let graph = pair.model.graph();
        let largest = |id: &OperatorId| graph.operator(*id).work.weight_bytes < 40_000_000;
        for id in graph.operator_ids().step_by(step).filter(|&id| pair.supports(id)).filter(largest) {
            pair.check(&Segment::new(graph, vec![id]));
            let Some(units) = graph.channel_units(id) else { continue };
            let mut operators = vec![id];
            operators.extend(graph.channel_followers(id).into_iter().filter(|&next| pair.supports(next)));
            let third = (units.channels / units.unit / 3).max(1) * units.unit;
            pair.check(&Segment::part(graph, operators.clone(), 0..third));
            pair.check(&Segment::part(graph, operators, third..units.channels));
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
fn what_the_device_can_not_run_is_known_before() {
    let Some(gpu) = gpu() else { return };
    let mut builder = ModelBuilder::new("odd");
    let input = builder.input("image", [1, 3, 4, 4]);
    let moved = builder.node_with("Transpose", &[&input], Attributes::new().ints("perm", &[0, 2, 3, 1]));
    builder.output(&moved);
    let pair = Pair::new(&gpu, builder.build().unwrap());
    let graph = pair.model.graph();
    assert!(!pair.supports(graph.order()[0]));
    let refused = pair.gpu.prepare(&Segment::whole(graph), &accelerator());
    assert!(matches!(&refused, Err(BackendError::Prepare { detail, .. }) if detail.contains("Transpose")));
    assert!(!pair.gpu.supports(graph.order()[0], &Processor::new("B", [0])), "cores are not the device's");
}

#[test]
fn a_lost_device_is_an_error_of_every_later_frame() {
    if gpu().is_none() {
        return;
    }
    let gpu = Gpu::open(None).unwrap();
    let backend = WgpuBackend::new(&gpu, "G", Arc::new(millstream_zoo::build("squeezenet").unwrap()));
    let whole = Segment::whole(backend_graph(&backend));
    let mut prepared = backend.prepare(&whole, &accelerator()).unwrap();
    let frame = [Tensor::from_f32([1, 3, 224, 224], vec![0.5; 150_528])];
    prepared.run(&frame).unwrap();
    gpu.destroy();
    for _ in 0..2 {
        assert!(matches!(prepared.run(&frame), Err(BackendError::DeviceLost { .. })));
    }
    assert!(matches!(backend.prepare(&whole, &accelerator()), Err(BackendError::DeviceLost { .. })));
}

fn backend_graph(_: &WgpuBackend) -> &'static millstream_graph::Graph {
    static MODEL: std::sync::OnceLock<Model> = std::sync::OnceLock::new();
    MODEL.get_or_init(|| millstream_zoo::build("squeezenet").unwrap()).graph()
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
