//! Runs are ended from another thread, and nothing but the run that is under way notices.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, Canceller, PreparedSegment, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_onnx::proto::{
    AttributeProto, GraphProto, NodeProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use millstream_onnx::{Model, ModelBuilder, ReadOptions, Weight};
use prost::Message;

const SIZE: usize = 48;

fn prepare(model: Model) -> Box<dyn PreparedSegment> {
    let model = Arc::new(model);
    let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
    backend.prepare(&Segment::whole(model.graph()), &Processor::new("B", [0])).unwrap()
}

fn value(name: &str, elem_type: i32) -> ValueInfoProto {
    let shape = (elem_type != 1).then(TensorShapeProto::default);
    let tensor_type = Some(TensorTypeProto { elem_type: Some(elem_type), shape });
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.to_owned()),
        name: Some(output.to_owned()),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

/// A loop without a trip count, whose condition stays true.
fn endless() -> Model {
    const FLOAT: i32 = 1;
    const INT64: i32 = 7;
    const BOOL: i32 = 9;
    let body = GraphProto {
        name: Some("body".to_owned()),
        node: vec![node("Identity", &["go on"], "still"), node("Cos", &["state"], "next")],
        input: vec![value("iteration", INT64), value("go on", BOOL), value("state", FLOAT)],
        output: vec![value("still", BOOL), value("next", FLOAT)],
        ..GraphProto::default()
    };
    let mut builder = ModelBuilder::new("endless");
    builder.input("x", [4]);
    builder.output("y");
    let mut model = builder.into_proto();
    let graph = model.graph.as_mut().unwrap();
    let attribute =
        AttributeProto { name: Some("body".to_owned()), g: Some(body), r#type: Some(5), ..AttributeProto::default() };
    graph.node.push(NodeProto { attribute: vec![attribute], ..node("Loop", &["", "", "x"], "y") });
    graph.output[0] = value("y", FLOAT);
    Model::from_bytes(model.encode_to_vec().into(), &ReadOptions::default()).unwrap()
}

/// A network of some fifty operators.
fn chain() -> Model {
    let mut builder = ModelBuilder::new("chain");
    let mut last = builder.input("x", [SIZE, SIZE]);
    let element = |index: usize| ((index * 29 % 97) as f32 - 48.0) / 480.0;
    let weights = Weight::from_f32([SIZE, SIZE], (0..SIZE * SIZE).map(element).collect());
    let weights = builder.weight("w", &weights);
    for _ in 0..25 {
        last = builder.node("MatMul", &[&last, &weights]);
        last = builder.node("Tanh", &[&last]);
    }
    builder.output(&last);
    builder.build().unwrap()
}

fn image() -> Tensor {
    Tensor::from_f32([SIZE, SIZE], (0..SIZE * SIZE).map(|index| (index % 13) as f32 / 7.0).collect())
}

#[test]
fn an_endless_loop_is_ended_and_can_be_run_again() {
    let mut prepared = prepare(endless());
    let canceller = prepared.canceller().unwrap();
    let (done, is_done) = mpsc::channel();
    let runner = thread::spawn(move || {
        for _ in 0..2 {
            let result = prepared.run(&[Tensor::from_f32([4], vec![0.5; 4])]).map(drop);
            done.send(result).unwrap();
        }
    });
    for _ in 0..2 {
        assert!(is_done.recv_timeout(Duration::from_millis(200)).is_err(), "it ended by itself");
        canceller.cancel();
        let result = is_done.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(matches!(result, Err(BackendError::Cancelled)), "{result:?}");
    }
    runner.join().unwrap();
}

#[test]
fn no_word_to_end_a_run_reaches_another() {
    let mut prepared = prepare(chain());
    let canceller = prepared.canceller().unwrap();
    canceller.cancel();
    let expected = prepared.run(&[image()]).unwrap();
    let bytes = expected[0].bytes().unwrap();
    let mut written = vec![0; bytes.len()];
    for _ in 0..100 {
        canceller.cancel();
        assert_eq!(prepared.run(&[image()]).unwrap()[0].bytes(), Some(bytes));
        canceller.cancel();
        prepared.run_into(&[image()], &mut written).unwrap();
        assert_eq!(written, bytes);
    }
}

#[test]
fn at_whatever_moment_a_frame_is_ended_it_is_right_or_cancelled() {
    let mut prepared = prepare(chain());
    let mut other = prepare(chain());
    let inputs = [image()];
    let expected = prepared.run(&inputs).unwrap();
    let expected = expected[0].bytes().unwrap();
    let start = Instant::now();
    for _ in 0..20 {
        prepared.run(&inputs).unwrap();
    }
    let frame = start.elapsed() / 20;

    let (begun, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let canceller = prepared.canceller().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| cancel_at_random(&*canceller, &begun, &is_over, frame));
        let _over = SetOnDrop(&is_over);
        let (mut right, mut cancelled) = (0, 0);
        let mut written = vec![0; expected.len()];
        while right + cancelled < 1000 || ((right < 20 || cancelled < 20) && right + cancelled < 100_000) {
            begun.fetch_add(1, Ordering::SeqCst);
            let result = match (right + cancelled) % 2 {
                0 => prepared.run(&inputs).map(|made| assert_eq!(made[0].bytes(), Some(expected))),
                _ => prepared.run_into(&inputs, &mut written).map(|()| assert_eq!(written, expected)),
            };
            match result {
                Ok(()) => right += 1,
                Err(BackendError::Cancelled) => cancelled += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(right >= 20 && cancelled >= 20, "{right} frames were right, {cancelled} were ended");
    });
    assert_eq!(prepared.run(&inputs).unwrap()[0].bytes(), Some(expected));
    assert_eq!(other.run(&inputs).unwrap()[0].bytes(), Some(expected));
}

/// Ends the other thread also when the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Ends each frame some time after it began: up to one and a half times as long as a frame takes.
fn cancel_at_random(canceller: &dyn Canceller, begun: &AtomicU64, is_over: &AtomicBool, frame: Duration) {
    let (mut last, mut random) = (0, 0x9e37_79b9_7f4a_7c15_u64);
    while !is_over.load(Ordering::SeqCst) {
        let now = begun.load(Ordering::SeqCst);
        if now == last {
            std::hint::spin_loop();
            continue;
        }
        last = now;
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = frame.mul_f64(1.5 * (random >> 11) as f64 / (1_u64 << 53) as f64);
        let start = Instant::now();
        while start.elapsed() < wait {
            std::hint::spin_loop();
        }
        canceller.cancel();
    }
}
