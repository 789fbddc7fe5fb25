//! Results are those of ONNX Runtime, in whatever way a network is run; with less precision when that is asked for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fetched;

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed, Segment, Tensor, WholeNetwork};
use millstream_backend_openvino::{Hint, OpenVinoBackend, Precision};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::DataType;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Replica, Schedule, Stage};

use fetched::library;

/// The largest difference to ONNX Runtime, relative to the largest element: rounding of a few dozen layers.
const ROUNDING: f32 = 1e-5;

/// What the quantised network is rounded to.
const STEP: f32 = 1.0 / 32.0;

fn processor() -> Processor {
    Processor::new("B", [0])
}

fn image() -> Tensor {
    let element = |index: usize| ((index * 37 % 101) as f32 - 50.0) / 50.0;
    Tensor::from_f32([1, 3, 224, 224], (0..3 * 224 * 224).map(element).collect())
}

fn run(model: &Model, backend: &dyn Backend) -> Vec<f32> {
    let mut network = WholeNetwork::prepare(model.graph(), backend, &processor()).unwrap();
    network.run(&[image()]).unwrap()[0].as_f32().unwrap().to_vec()
}

fn difference(made: &[f32], expected: &[f32]) -> f32 {
    let largest = expected.iter().fold(0.0_f32, |largest, element| largest.max(element.abs()));
    made.iter().zip(expected).fold(0.0_f32, |worst, (one, other)| worst.max((one - other).abs())) / largest
}

#[test]
fn results_are_those_of_onnx_runtime() {
    let Some(library) = library() else { return };
    for name in ["squeezenet", "googlenet"] {
        let model = Arc::new(millstream_zoo::build(name).unwrap());
        let expected = run(&model, &OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
        let made = run(&model, &OpenVinoBackend::new(&library, Arc::clone(&model)));
        assert!(difference(&made, &expected) < ROUNDING, "{name}: {}", difference(&made, &expected));
        for precision in [Precision::F16, Precision::Bf16] {
            let backend = OpenVinoBackend::new(&library, Arc::clone(&model)).with_precision(precision);
            if library.device("CPU").unwrap().reduced_precisions.contains(&precision) {
                let differs = difference(&run(&model, &backend), &expected);
                assert!((ROUNDING..0.05).contains(&differs), "{name} with {precision:?}: {differs}");
            } else {
                let first = model.graph().order()[0];
                assert!(!backend.supports(first, &processor()));
                let why = backend.why_refused(first, &processor()).unwrap();
                assert!(why.starts_with("this processor has no instructions for floats of 16 bits"), "{why}");
                let whole = WholeNetwork::prepare(model.graph(), &backend, &processor());
                assert!(whole.err().is_some_and(|error| error.to_string().contains(&why)));
            }
        }
    }
}

/// Attention of four heads over twelve tokens, with a mask that is added for each token that is attended to.
fn masked_attention() -> Model {
    let mut builder = ModelBuilder::new("attention");
    let [query, key, value] = ["q", "k", "v"].map(|name| builder.input(name, [1, 4, 12, 8]));
    let mask = builder.input("mask", [1, 1, 1, 12]);
    let key = builder.node_with("Transpose", &[&key], Attributes::new().ints("perm", &[0, 1, 3, 2]));
    let scores = builder.node("MatMul", &[&query, &key]);
    let masked = builder.node("Add", &[&scores, &mask]);
    let weights = builder.node_with("Softmax", &[&masked], Attributes::new().int("axis", -1));
    let attended = builder.node("MatMul", &[&weights, &value]);
    builder.output(&attended);
    builder.build().unwrap()
}

#[test]
fn attention_with_a_mask_is_right_in_every_precision() {
    let Some(library) = library() else { return };
    let model = Arc::new(masked_attention());
    let element = |index: usize| ((index * 37 % 101) as f32 - 50.0) / 25.0;
    let tensor = |shape: [usize; 4], skip: usize| {
        Tensor::from_f32(shape, (0..shape.iter().product()).map(|index| element(index + skip)).collect())
    };
    let mask = (0..12).map(|token| if token % 3 == 0 { -1e4 } else { 0.0 }).collect();
    let mut inputs: Vec<Tensor> = [0, 1000, 2000].into_iter().map(|skip| tensor([1, 4, 12, 8], skip)).collect();
    inputs.push(Tensor::from_f32([1, 1, 1, 12], mask));
    let run = |backend: &dyn Backend| {
        let mut network = WholeNetwork::prepare(model.graph(), backend, &processor()).unwrap();
        network.run(&inputs).unwrap()[0].as_f32().unwrap().to_vec()
    };

    let expected = run(&OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
    let here = library.device("CPU").unwrap().reduced_precisions;
    for precision in [Precision::F32, Precision::Int8, Precision::F16, Precision::Bf16] {
        if precision == Precision::F32 || here.contains(&precision) {
            let made = run(&OpenVinoBackend::new(&library, Arc::clone(&model)).with_precision(precision));
            assert!(difference(&made, &expected) < 0.05, "{precision:?}: {}", difference(&made, &expected));
        }
    }
}

/// Quantised to steps of 1/32: what two convolutions make of one channel each. Weights are within 63, so that two products
/// of bytes fit into 16 bits: where processors add these first, ONNX Runtime's results would be other ones.
fn quantised() -> Model {
    let mut builder = ModelBuilder::new("quantised");
    let scale = builder.weight("scale", &Weight::from_f32([], vec![STEP]));
    let zero = Weight { data_type: DataType::U8, shape: Vec::new().into(), data: vec![128].into() };
    let zero = builder.weight("zero", &zero);
    let mut map = builder.input("x", [1, 3, 224, 224]);
    for layer in 0..2_usize {
        let integers = builder.node("QuantizeLinear", &[&map, &scale, &zero]);
        let floats = builder.node("DequantizeLinear", &[&integers, &scale, &zero]);
        let data: Vec<u8> = (0..3 * 3 * 9)
            .map(|index: usize| ((index * 31 + layer * 7) % 127) as u8)
            .map(|byte| byte.wrapping_sub(63))
            .collect();
        let filter = Weight { data_type: DataType::I8, shape: [3, 3, 3, 3].into(), data: data.into() };
        let filter = builder.weight("filter", &filter);
        let size = builder.weight("size", &Weight::from_f32([], vec![1.0 / 512.0]));
        let filter = builder.node("DequantizeLinear", &[&filter, &size]);
        map = builder.node_with("Conv", &[&floats, &filter], Attributes::new().ints("pads", &[1; 4]));
    }
    let integers = builder.node("QuantizeLinear", &[&map, &scale, &zero]);
    let floats = builder.node("DequantizeLinear", &[&integers, &scale, &zero]);
    builder.output(&floats);
    builder.build().unwrap()
}

/// Sums of integers are exact where those of floats are rounded: a value that was between two steps may fall to the
/// other side, in each layer.
#[test]
fn quantised_networks_are_computed_with_integers_where_that_is_asked_for() {
    let Some(library) = library() else { return };
    let with = |model: &Arc<Model>, precision| {
        run(model, &OpenVinoBackend::new(&library, Arc::clone(model)).with_precision(precision))
    };

    let model = Arc::new(quantised());
    let expected = run(&model, &OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
    for precision in [Precision::F32, Precision::Int8] {
        let made = with(&model, precision);
        let apart = made.iter().zip(&expected).map(|(one, other)| ((one - other).abs() / STEP).round());
        assert_eq!(made.len(), expected.len());
        assert!(apart.into_iter().all(|steps| steps <= 2.0), "{precision:?}: a step for each of two layers");
    }

    // So many layers enlarge what is rounded that nobody takes one for the other. Processors of other kinds may have no
    // instructions for integers.
    let model = Arc::new(millstream_zoo::build("mobilenet-v2-int8").unwrap());
    let integers = with(&model, Precision::Int8);
    assert_eq!(with(&model, Precision::Int8), integers);
    if cfg!(target_arch = "x86_64") {
        assert_ne!(with(&model, Precision::F32), integers, "other roundings");
    }
}

/// As its users run it, whatever processors it is given, and several requests at once.
#[test]
fn left_to_its_hints_it_gives_the_same_results() {
    let Some(library) = library() else { return };
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let expected = run(&model, &OpenVinoBackend::new(&library, Arc::clone(&model)));
    for hint in [Hint::Latency, Hint::Throughput] {
        let backend = OpenVinoBackend::with_hint(&library, Arc::clone(&model), hint);
        let requests = backend.optimal_requests().unwrap();
        let cores = std::thread::available_parallelism().unwrap().get();
        assert!((1..=2 * cores).contains(&requests) && (hint == Hint::Throughput || requests == 1), "{requests}");
        std::thread::scope(|scope| {
            let work = || scope.spawn(|| run(&model, &backend));
            let made: Vec<_> = (0..requests.max(2)).map(|_| work()).collect();
            for made in made {
                assert!(difference(&made.join().unwrap(), &expected) < ROUNDING, "{hint:?}");
            }
        });
    }
}

#[test]
fn an_engine_gives_the_bits_of_the_whole() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let Some(library) = library() else { return };
    let backend: Arc<dyn Backend> = Arc::new(OpenVinoBackend::new(&library, Arc::clone(&model)));
    let expected = run(&model, &*backend);
    let stage = |operators: &[_]| Stage { replicas: vec![Replica::single(processor(), operators.to_vec())] };
    // At the first concatenation, where only one value crosses.
    let cut = graph.order().iter().position(|&id| graph.operator(id).op_type == "Concat").unwrap() + 1;
    let (first, second) = graph.order().split_at(cut);
    let replicas = [(); 2].map(|()| Replica::single(processor(), graph.order().to_vec())).to_vec();
    for schedule in
        [Schedule { stages: vec![stage(first), stage(second)] }, Schedule { stages: vec![Stage { replicas }] }]
    {
        let engine = Engine::new(graph, &schedule, std::slice::from_ref(&backend), &EngineOptions::default()).unwrap();
        let results: Vec<Vec<Tensor>> =
            engine.run((0..4).map(|_| vec![image()])).map(|result| result.outcome.unwrap()).collect();
        assert_eq!(results.len(), 4);
        assert!(results.iter().all(|made| made[0].as_f32() == Some(&expected[..])));
    }
}

/// OpenVINO would leave the results alone, and write to the input, if it were told where the results go.
#[test]
fn inputs_that_are_handed_on_are_results() {
    let mut builder = ModelBuilder::new("nothing");
    let input = builder.input("x", [1, 3]);
    let one = builder.weight("one", &Weight::from_f32([1], vec![1.0]));
    let results = [
        builder.node("Identity", &[&input]),
        builder.node("Max", &[&input]),
        builder.node("Dropout", &[&input]),
        builder.node("Mul", &[&input, &one]),
        builder.node_with("Concat", &[&input], Attributes::new().int("axis", 1)),
        builder.node_with("Transpose", &[&input], Attributes::new().ints("perm", &[0, 1])),
    ];
    for result in &results {
        builder.output(result);
    }

    let model = Arc::new(builder.build().unwrap());
    let graph = model.graph();
    let Some(library) = library() else { return };
    let backend = OpenVinoBackend::new(&library, Arc::clone(&model));
    let alone = graph.order().iter().map(|&id| Segment::new(graph, vec![id]));
    for segment in alone.chain([Segment::whole(graph)]) {
        let mut prepared = backend.prepare(&segment, &processor()).unwrap();
        for first in [1.0, 2.0] {
            let elements = [first, 5.0, 7.0];
            let input = Tensor::from_f32([1, 3], elements.to_vec());
            for made in prepared.run(std::slice::from_ref(&input)).unwrap() {
                assert_eq!(made.as_f32(), Some(&elements[..]));
            }
            assert_eq!(input.as_f32(), Some(&elements[..]), "an input is never written to");
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let Some(library) = library() else { return };
    let refused = OpenVinoBackend::on_device(&library, "NPU.9", "N", model).map(drop);
    let Err(BackendError::Unavailable { backend, detail }) = refused else { unreachable!("it is not there") };
    assert!(backend == "openvino" && detail.contains("no device NPU.9") && detail.contains("driver"), "{detail}");
}

/// What a device of the library's does is tested with the one that is everywhere, as if the cores were an accelerator.
#[test]
fn a_device_gives_the_results_of_cores() {
    let Some(library) = library() else { return };
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let expected = run(&model, &OpenVinoBackend::new(&library, Arc::clone(&model)));
    let device = OpenVinoBackend::on_device(&library, "CPU", "V", Arc::clone(&model)).unwrap();
    let (own, segment) = (Processor::accelerator("V"), Segment::whole(model.graph()));
    assert!(segment.operators.iter().all(|&id| device.supports(id, &own) && !device.supports(id, &processor())));
    let inputs = [image()];
    let made = device.prepare(&segment, &own).unwrap().run(&inputs).unwrap();
    assert!(difference(made[0].as_f32().unwrap(), &expected) < ROUNDING);
    for other in [processor(), Processor::accelerator("G")] {
        let refused = device.prepare(&segment, &other).err().unwrap().to_string();
        assert!(refused.contains("it runs on V"), "{refused}");
    }
    let times = device.trace(&segment, &own, &inputs, &mut |_| false).unwrap();
    assert_eq!(times.iter().map(|group| group.operators.len()).sum::<usize>(), segment.operators.len());
}

/// Roundings at other places move scores, most where many thin layers enlarge them (by 0.08 and 0.01 of the largest
/// here); a layer that is computed wrongly moves them by as much as they are.
#[test]
fn quantised_networks_find_the_class_that_onnx_runtime_finds() {
    const MOST: f32 = 0.25;
    let Some(library) = library() else { return };
    let best = |scores: &[f32]| (0..scores.len()).max_by(|&one, &other| scores[one].total_cmp(&scores[other]));
    for name in ["mobilenet-v2-int8", "resnet50-int8"] {
        let model = Arc::new(millstream_zoo::build(name).unwrap());
        let made = run(&model, &OpenVinoBackend::new(&library, Arc::clone(&model)).with_precision(Precision::Int8));
        let expected = run(&model, &OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model)));
        assert_eq!(best(&made), best(&expected), "{name}");
        let apart = difference(&made, &expected);
        assert!(apart < MOST, "{name}: {apart}");
    }
}
