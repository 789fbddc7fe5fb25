//! Every network of the zoo gives what plain sequential inference gives: cut into pipelines, with its branches on
//! different processors, with every operator anywhere, and with operators divided by output channels.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod teams;

use std::sync::Arc;

use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_frames::{Difference, FrameMaker, Tolerance, compare};
use millstream_graph::OperatorId;
use millstream_onnx::Model;
use millstream_partition::Chain;
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

/// How far a result is from what it should be; an output of zeros, or of the same element everywhere, would say
/// nothing.
fn difference(found: &Tensor, expected: &Tensor) -> Difference {
    let bytes = expected.bytes().unwrap();
    let element = expected.data_type().bytes().unwrap();
    assert!(bytes.chunks(element).any(|other| other != &bytes[..element]), "all elements are equal");
    compare(found, expected, Tolerance::default()).unwrap()
}

fn check(name: &str) {
    let model: Arc<Model> = Arc::new(millstream_zoo::build(name).unwrap());
    let graph = model.graph();
    let backend: Arc<dyn Backend> = Arc::new(OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
    let frames = FrameMaker::new(&model).different_frames(3).unwrap();
    assert_eq!(frames.len(), 3);

    let mut whole = WholeNetwork::prepare(graph, &*backend, &Processor::new("B", [0])).unwrap();
    let expected: Vec<Vec<Tensor>> = frames.iter().map(|frame| whole.run(frame).unwrap()).collect();
    let is_quantised = name.ends_with("-int8") || name.starts_with("minilm");
    let single = |replica: Replica| Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let three = teams::processors(3);
    let schedules = [
        ("pipeline", pipeline(&Chain::of(graph))),
        ("branches", single(teams::branches(graph, &three))),
        ("random mapping", single(teams::random(graph, &three, 0.0, &mut random))),
        ("random divisions", single(teams::random(graph, &three, 1.0, &mut random))),
    ];
    for (kind, schedule) in schedules {
        let engine = Engine::new(graph, &schedule, std::slice::from_ref(&backend), &EngineOptions::default()).unwrap();
        let results: Vec<Vec<Tensor>> = engine.run(frames.clone()).map(|result| result.outcome.unwrap()).collect();
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(result.len(), expected.len());
            for (found, expected) in result.iter().zip(expected) {
                let difference = difference(found, expected);
                assert_eq!(difference.wrong, 0, "{name}, {kind}: {difference:?}");
                assert!(!is_quantised || difference.largest == 0.0, "{name}, {kind}: not bit by bit the same");
            }
        }
    }
}

macro_rules! networks {
    ($($(#[$attribute:meta])? $test:ident: $name:literal,)*) => {
        $(#[test]
        $(#[$attribute])?
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
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    vgg19: "vgg19",
    googlenet: "googlenet",
    squeezenet: "squeezenet",
    mobilenet_v1: "mobilenet-v1",
    mobilenet_v2: "mobilenet-v2",
    resnet50: "resnet50",
    inception_v3: "inception-v3",
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    inception_v4: "inception-v4",
    inception_resnet_v2: "inception-resnet-v2",
    petr_like: "petr-like",
    bevformer_like: "bevformer-like",
    #[ignore = "takes minutes: `cargo xtask long-tests`"]
    yolov3: "yolov3",
    tiny_darknet: "tiny-darknet",
    synthnet: "synthnet",
    resnet50_int8: "resnet50-int8",
    mobilenet_v2_int8: "mobilenet-v2-int8",
    minilm_like_int8: "minilm-like-int8",
}
