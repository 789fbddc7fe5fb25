//! Every network of the zoo gives what plain sequential inference gives: cut into pipelines, with its branches on different
//! processors, with every operator anywhere, and with operators divided by output channels.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod teams;

use std::sync::Arc;

use millstream_backend::{Backend, PreparedSegment, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_onnx::Model;
use millstream_partition::Chain;
use millstream_profile::sample_frame;
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Replica, Schedule, Stage};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn stage(cores: &[&[u32]], operators: &[OperatorId]) -> Stage {
    let replica = |cores: &&[u32]| Replica::single(Processor::new("B", cores.iter().copied()), operators.to_vec());
    Stage { replicas: cores.iter().map(replica).collect() }
}

/// Three stages, the middle one with two replicas; the cuts go wherever thirds of the chain happen to end, which in
/// branched networks is inside branches.
fn pipeline(chain: &Chain) -> Schedule {
    let blocks = chain.blocks().len();
    let (first, second) = (blocks / 3, 2 * blocks / 3);
    Schedule {
        stages: vec![
            stage(&[&[0]], &chain.operators(0..first)),
            stage(&[&[0], &[1]], &chain.operators(first..second)),
            stage(&[&[0, 1]], &chain.operators(second..blocks)),
        ],
    }
}

/// Largest difference of two tensors relative to the reference's largest element.
fn difference(found: &Tensor, expected: &Tensor) -> f32 {
    assert_eq!(found.shape(), expected.shape());
    let (found, expected) = (found.as_f32().unwrap(), expected.as_f32().unwrap());
    assert!(found.iter().chain(expected).all(|value| value.is_finite()));
    let scale = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    assert!(scale > 0.0, "an output of zeros says nothing");
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs() / scale).fold(0.0, f32::max)
}

fn outputs(graph: &Graph, whole: &mut dyn PreparedSegment, frame: &[Tensor]) -> Vec<Tensor> {
    let made = Segment::whole(graph).boundary.outputs;
    let tensors = whole.run(frame).unwrap();
    let place = |output| made.iter().position(|value| value == output).unwrap();
    graph.outputs().iter().map(|output| tensors[place(output)].clone()).collect()
}

fn check(name: &str) {
    let model: Arc<Model> = Arc::new(millstream_zoo::build(name).unwrap());
    let graph = model.graph();
    let backend: Arc<dyn Backend> = Arc::new(OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
    let frames: Vec<Vec<Tensor>> = (0..3).map(|seed| sample_frame(graph, seed).unwrap()).collect();
    let mut whole = backend.prepare(&Segment::whole(graph), &Processor::new("B", [0])).unwrap();
    let expected: Vec<Vec<Tensor>> = frames.iter().map(|frame| outputs(graph, &mut *whole, frame)).collect();
    let single = |replica: Replica| Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let three = teams::processors(3);
    let schedules = [
        ("pipeline", pipeline(&Chain::of(graph))),
        ("branches", single(teams::branches(graph, &three))),
        ("random mapping", single(teams::random(graph, &three, 0.0, &mut random))),
        ("random channels", single(teams::random(graph, &three, 1.0, &mut random))),
    ];
    for (kind, schedule) in schedules {
        let engine = Engine::new(graph, &schedule, std::slice::from_ref(&backend), &EngineOptions::default()).unwrap();
        let results: Vec<Vec<Tensor>> = engine.run(frames.clone()).map(|result| result.outcome.unwrap()).collect();
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(result.len(), expected.len());
            for (found, expected) in result.iter().zip(expected) {
                let difference = difference(found, expected);
                assert!(difference <= 1e-4, "{name}, {kind}: {difference}");
            }
        }
    }
}

macro_rules! networks {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn no_network_is_forgotten() {
            let tested = [$($name),*];
            let forgotten: Vec<&str> = millstream_zoo::names().filter(|name| !tested.contains(name)).collect();
            assert!(forgotten.is_empty(), "{forgotten:?}");
        }
    };
}

networks! {
    alexnet: "alexnet",
    vgg16: "vgg16",
    vgg19: "vgg19",
    googlenet: "googlenet",
    squeezenet: "squeezenet",
    mobilenet_v1: "mobilenet-v1",
    mobilenet_v2: "mobilenet-v2",
    resnet50: "resnet50",
    inception_v3: "inception-v3",
    inception_v4: "inception-v4",
    inception_resnet_v2: "inception-resnet-v2",
    petr_like: "petr-like",
    bevformer_like: "bevformer-like",
    yolov3: "yolov3",
    tiny_darknet: "tiny-darknet",
    synthnet: "synthnet",
}
