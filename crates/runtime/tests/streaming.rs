//! Order, backpressure, failures, panics and shutdown of the engine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_runtime::{Engine, EngineOptions, FrameError, FrameResult, Received, RuntimeError};
use millstream_schedule::StageId;
use proptest::prelude::*;
use support::{Adding, FAILS, PANICS, chain, pipeline};

fn frame(value: f32) -> Vec<Tensor> {
    vec![Tensor::from_f32([1], vec![value])]
}

fn engine(replicas: &[usize], backend: Adding) -> Engine {
    let graph = chain(replicas.len());
    Engine::new(&graph, &pipeline(&graph, replicas), &[Arc::new(backend)], &EngineOptions::default()).unwrap()
}

fn value(result: &FrameResult) -> f32 {
    result.outcome.as_ref().unwrap()[0].as_f32().unwrap()[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the replicas and however uneven their speeds: every frame once, in order, with its own result.
    #[test]
    fn results_are_complete_and_in_order(
        replicas in prop::collection::vec(1_usize..4, 1..4),
        delays in prop::collection::vec(0_u64..400, 12),
        frames in 0_usize..40,
        in_flight in prop::option::of(1_usize..20),
    ) {
        let graph = chain(replicas.len());
        let backend: Arc<dyn Backend> = Arc::new(Adding { delays, ..Adding::default() });
        let options = EngineOptions::default().with_frames_in_flight(in_flight).with_frames_outstanding(in_flight.map(|count| 2 * count));
        let engine = Engine::new(&graph, &pipeline(&graph, &replicas), &[backend], &options).unwrap();
        let results: Vec<FrameResult> = engine.run((0..frames).map(|index| frame(index as f32))).collect();
        prop_assert_eq!(results.len(), frames);
        for (index, result) in results.iter().enumerate() {
            prop_assert_eq!(result.sequence, index as u64);
            prop_assert_eq!(value(result), (index + replicas.len()) as f32);
            prop_assert_eq!(result.spans.len(), replicas.len());
        }
        let counted: Vec<u64> =
            engine.metrics().iter().map(|stage| stage.replicas.iter().map(|replica| replica.frames).sum()).collect();
        prop_assert_eq!(counted, vec![frames as u64; replicas.len()]);
        prop_assert!(engine.recv().is_none());
    }
}

/// Keeps frames of 0 until the gate is open.
struct Gated(Arc<(Mutex<bool>, Condvar)>);

impl Backend for Gated {
    fn name(&self) -> &str {
        "gated"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, _: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }
}

impl PreparedSegment for Gated {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let (gate, opened) = &*self.0;
        if inputs[0].as_f32() == Some(&[0.0]) {
            drop(opened.wait_while(gate.lock().unwrap(), |is_open| !*is_open).unwrap());
        }
        Ok(inputs.to_vec())
    }
}

#[test]
fn who_waits_for_a_while_is_told_what_came_of_it() {
    const LONG: Duration = Duration::from_secs(60);
    let gate: Arc<(Mutex<bool>, Condvar)> = Arc::default();
    let graph = chain(1);
    let backend: Arc<dyn Backend> = Arc::new(Gated(Arc::clone(&gate)));
    let engine = Engine::new(&graph, &pipeline(&graph, &[2]), &[backend], &EngineOptions::default()).unwrap();
    assert!(matches!(engine.recv_timeout(LONG), Received::Nothing));

    (0..2).for_each(|number| assert_eq!(engine.submit(frame(number as f32)).unwrap(), number));
    let begin = Instant::now();
    assert!(matches!(engine.recv_timeout(LONG), Received::NotYet), "the second frame is out, the first one is not");
    assert!(begin.elapsed() < LONG);
    assert!(matches!(engine.recv_timeout(Duration::ZERO), Received::NotYet));

    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for number in 0..2 {
        let Received::Result(result) = engine.recv_timeout(LONG) else { panic!("there is a result") };
        assert_eq!((result.sequence, value(&result)), (number, number as f32));
    }
    assert!(matches!(engine.recv_timeout(LONG), Received::Nothing));
}

#[test]
fn a_failing_or_misshapen_frame_fails_alone() {
    let engine = engine(&[1, 2], Adding::default());
    let frames = vec![frame(1.0), frame(FAILS), vec![], vec![Tensor::from_f32([2], vec![0.0; 2])], frame(2.0)];
    let results: Vec<FrameResult> = engine.run(frames).collect();
    assert_eq!(value(&results[0]), 3.0);
    assert!(matches!(results[1].outcome, Err(FrameError::Stage { stage: StageId::FIRST, .. })));
    assert!(matches!(results[2].outcome, Err(FrameError::InputCount { expected: 1, found: 0 })));
    let message = results[3].outcome.as_ref().unwrap_err().to_string();
    assert!(message.contains("'input' must be f32 [1]") && message.contains("f32 [2]"), "{message}");
    assert_eq!(value(&results[4]), 4.0);
    assert_eq!(engine.metrics()[0].replicas[0].failures, 1);
}

#[test]
fn a_panic_is_an_error_and_the_engine_still_shuts_down() {
    let engine = engine(&[1, 1], Adding::default());
    let results: Vec<FrameResult> = engine.run(vec![frame(0.0), frame(PANICS), frame(1.0)]).collect();
    assert_eq!(value(&results[0]), 2.0);
    let message = results[1].outcome.as_ref().unwrap_err().to_string();
    assert!(message.contains("stage 1") && message.contains("blew up on 2000"), "{message}");
    assert_eq!(value(&results[2]), 3.0, "the worker is there again");
    drop(engine);
}

#[test]
fn a_full_engine_gives_the_frame_back() {
    let graph = chain(1);
    let backend: Arc<dyn Backend> = Arc::new(Adding { delays: vec![20_000], ..Adding::default() });
    let options = EngineOptions::default().with_frames_in_flight(1).with_frames_outstanding(2);
    let engine = Engine::new(&graph, &pipeline(&graph, &[1]), &[backend], &options).unwrap();
    assert_eq!(engine.submit(frame(0.0)).unwrap(), 0);
    assert_eq!(engine.submit(frame(1.0)).unwrap(), 1);
    assert_eq!(engine.outstanding(), 2);
    let returned = engine.try_submit(frame(2.0)).unwrap().unwrap_err();
    assert_eq!(returned[0].as_f32(), Some(&[2.0][..]));
    let result = engine.recv().unwrap();
    assert_eq!(value(&result), 1.0);
    assert!(result.latency() <= result.time_in_engine());
    assert_eq!(value(&engine.recv().unwrap()), 2.0);
    assert!(engine.recv().is_none());
    assert!(engine.try_submit(frame(2.0)).unwrap().is_ok());
}

#[test]
fn submitting_blocks_until_another_thread_receives() {
    let engine = engine(&[1, 1, 1], Adding::default());
    let received = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while received.load(Ordering::SeqCst) < 500 {
                if let Some(result) = engine.recv() {
                    assert_eq!(value(&result), received.fetch_add(1, Ordering::SeqCst) as f32 + 3.0);
                }
            }
        });
        for index in 0..500 {
            engine.submit(frame(index as f32)).unwrap();
        }
    });
    assert_eq!(received.load(Ordering::SeqCst), 500);
}

/// A slow replica delays its own frames only: the other one goes on beside it. The one that was prepared first keeps a
/// frame until the other has finished so many, of which no more are outstanding than it may keep waiting for.
#[test]
fn a_fast_replica_overtakes_a_slow_one() {
    const LET_PASS: usize = 10;
    let graph = chain(1);
    let backend: Arc<dyn Backend> = Arc::new(Adding { lets_pass: LET_PASS, ..Adding::default() });
    let options = EngineOptions::default().with_frames_outstanding(LET_PASS + 1);
    let engine = Engine::new(&graph, &pipeline(&graph, &[2]), &[backend], &options).unwrap();
    let results: Vec<FrameResult> = engine.run((0..30).map(|index| frame(index as f32))).collect();
    assert!(results.iter().enumerate().all(|(index, result)| value(result) == index as f32 + 1.0));
}

/// No thread or segment is left behind.
#[test]
fn an_engine_can_be_dropped_with_frames_in_flight() {
    let finished = Arc::new(AtomicUsize::new(0));
    let backend = Adding { delays: vec![2000; 3], finished: Arc::clone(&finished), ..Adding::default() };
    let engine = engine(&[2, 1], backend);
    for index in 0..3 {
        engine.submit(frame(index as f32)).unwrap();
    }
    drop(engine);
    assert_eq!(Arc::strong_count(&finished), 1, "a thread still has a segment");
}

#[test]
fn what_can_not_start_says_why() {
    let graph = chain(2);
    let schedule = pipeline(&graph, &[1, 1]);
    let start = |backend: Adding| Engine::new(&graph, &schedule, &[Arc::new(backend)], &EngineOptions::default()).err();
    let unprepared = Adding { unprepared: Some("o1".into()), ..Adding::default() };
    assert!(matches!(start(unprepared), Some(RuntimeError::Prepare { .. })));
    let unsupported = Adding { unsupported: graph.find_operator("o1"), ..Adding::default() };
    assert!(start(unsupported).unwrap().to_string().contains("'o1' of stage 2"));
    let mut reversed = schedule.clone();
    reversed.stages.reverse();
    let backends: [Arc<dyn Backend>; 1] = [Arc::new(Adding::default())];
    let error = Engine::new(&graph, &reversed, &backends, &EngineOptions::default()).err().unwrap();
    assert!(matches!(&error, RuntimeError::MissingValue { stage: StageId::FIRST, .. }), "{error}");
}

#[test]
fn a_refused_pin_is_a_warning() {
    let graph = chain(1);
    let mut schedule = pipeline(&graph, &[1]);
    let backends: [Arc<dyn Backend>; 1] = [Arc::new(Adding::default())];
    // The CPU mask that pinning uses has a fixed size, so the core must be within it and yet not exist.
    schedule.stages[0].replicas[0].assignments[0].processor = Processor::new("B", [1000]);
    let engine = Engine::new(&graph, &schedule, &backends, &EngineOptions::default()).unwrap();
    assert!(engine.warnings()[0].contains("core 1000"), "{:?}", engine.warnings());
    assert_eq!(engine.run([frame(0.0)]).filter(|result| result.outcome.is_ok()).count(), 1);
}
