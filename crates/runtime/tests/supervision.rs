//! What an engine does after a fault: replicas that are lost, stuck frames, devices that go away, and its own end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, Canceller, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_runtime::{Engine, EngineOptions, FrameError, FrameResult, ReplicaMetrics};
use millstream_schedule::{Assignment, Replica, Schedule, Stage, StageId};
use support::{chain, pipeline};

/// Inputs from here to 100 above do something else than add one per operator.
const PANICS: f32 = 1000.0;
/// Runs until it is cancelled.
const HANGS: f32 = 2000.0;
/// Runs until the test lets it go, whoever cancels it.
const STICKS: f32 = 3000.0;
const LOSES_DEVICE: f32 = 4000.0;
/// Panics when it is cancelled.
const PANICS_LATE: f32 = 9000.0;
/// Panics, and again when the segment is dropped.
const PANICS_TWICE: f32 = 5000.0;
/// Runs until the test lets it end, apart from what sticks.
const WAITS: f32 = 6000.0;

/// What happens to frames, and what happened to the backend.
#[derive(Default)]
struct Control {
    lets_go: AtomicBool,
    may_end: AtomicBool,
    waiting: AtomicUsize,
    stuck: AtomicUsize,
    /// Frames.
    begun: AtomicUsize,
    prepared: AtomicUsize,
    /// Prepares that fail, once this many succeeded.
    fails_after: Option<(usize, usize)>,
    schedules: AtomicUsize,
}

struct Scripted(Arc<Control>);

struct Adder {
    control: Arc<Control>,
    operators: f32,
    cancelled: Arc<Flag>,
    panics_when_dropped: bool,
}

impl Drop for Adder {
    fn drop(&mut self) {
        assert!(!self.panics_when_dropped, "the operator can't even be dropped");
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Canceller for Flag {
    fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Backend for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let before = self.0.prepared.fetch_add(1, Ordering::SeqCst);
        if self.0.fails_after.is_some_and(|(first, count)| (first..first + count).contains(&before)) {
            return Err(BackendError::failed("not yet"));
        }
        let operators = segment.operators.len() as f32;
        Ok(Box::new(Adder {
            control: Arc::clone(&self.0),
            operators,
            cancelled: Arc::default(),
            panics_when_dropped: false,
        }))
    }

    fn begin_schedule(&self) {
        self.0.schedules.fetch_add(1, Ordering::SeqCst);
    }
}

fn wait_for(is_over: impl Fn() -> bool) {
    while !is_over() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

impl PreparedSegment for Adder {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let input = inputs[0].as_f32().unwrap()[0];
        self.control.begun.fetch_add(1, Ordering::SeqCst);
        self.cancelled.0.store(false, Ordering::SeqCst);
        let is = |kind: f32| (kind..kind + 100.0).contains(&input);
        self.panics_when_dropped = is(PANICS_TWICE);
        assert!(!is(PANICS) && !is(PANICS_TWICE), "the operator blew up");
        if is(HANGS) {
            wait_for(|| self.cancelled.0.load(Ordering::SeqCst));
            return Err(BackendError::failed("cancelled"));
        }
        if is(PANICS_LATE) {
            wait_for(|| self.cancelled.0.load(Ordering::SeqCst));
            panic!("the operator blew up when it was cancelled");
        }
        if is(STICKS) {
            self.control.stuck.fetch_add(1, Ordering::SeqCst);
            wait_for(|| self.control.lets_go.load(Ordering::SeqCst));
            self.control.stuck.fetch_sub(1, Ordering::SeqCst);
        }
        if is(WAITS) {
            self.control.waiting.fetch_add(1, Ordering::SeqCst);
            wait_for(|| self.control.may_end.load(Ordering::SeqCst));
        }
        if is(LOSES_DEVICE) {
            return Err(BackendError::DeviceLost { backend: "scripted".into(), detail: "unplugged".into() });
        }
        Ok(vec![Tensor::from_f32([1], vec![input + self.operators])])
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        Some(Arc::clone(&self.cancelled) as _)
    }
}

fn frame(value: f32) -> Vec<Tensor> {
    vec![Tensor::from_f32([1], vec![value])]
}

fn value(result: &FrameResult) -> Option<f32> {
    Some(result.outcome.as_ref().ok()?[0].as_f32()?[0])
}

fn start(replicas: &[usize], control: &Arc<Control>, options: &EngineOptions) -> (Arc<Graph>, Engine) {
    let graph = chain(replicas.len());
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(control)));
    let engine = Engine::new(&graph, &pipeline(&graph, replicas), &[backend], options).unwrap();
    (graph, engine)
}

/// A frame may take a second.
fn short() -> EngineOptions {
    EngineOptions::default().with_frame_timeout(Duration::from_secs(1))
}

/// All frames are answered in order; those at `faults` fail, the others succeed.
fn check(results: &[FrameResult], stages: usize, faults: &[usize]) {
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result.sequence, index as u64);
        let expected = (!faults.contains(&index)).then_some((index % 500 + stages) as f32);
        assert_eq!(value(result), expected, "frame {index}: {:?}", result.outcome.as_ref().err());
    }
}

/// So many frames, with faults at some.
fn frames(count: usize, faults: &[(usize, f32)]) -> Vec<Vec<Tensor>> {
    let own = |index: usize| faults.iter().find(|(fault, _)| *fault == index).map(|(_, value)| *value);
    (0..count).map(|index| frame(own(index).unwrap_or((index % 500) as f32))).collect()
}

#[test]
fn a_panic_of_one_replica_costs_one_frame() {
    for replicas in [vec![2], vec![1], vec![1, 3], vec![2, 1, 2]] {
        let control = Arc::default();
        let (_, engine) = start(&replicas, &control, &EngineOptions::default());
        let results: Vec<FrameResult> = engine.run(frames(2000, &[(700, PANICS)])).collect();
        check(&results, replicas.len(), &[700]);
        let message = results[700].outcome.as_ref().unwrap_err().to_string();
        assert!(message.contains("stage 1") && message.contains("blew up"), "{message}");
    }
}

#[test]
fn a_lost_replica_works_again_and_says_so() {
    let control = Arc::default();
    let (_, engine) = start(&[1, 1], &control, &EngineOptions::default());
    check(&engine.run(frames(20, &[(3, PANICS), (9, LOSES_DEVICE)])).collect::<Vec<_>>(), 2, &[3, 9]);
    assert_eq!(engine.metrics()[0].replicas[0].restarts, 2);
    assert_eq!(engine.metrics()[1].replicas[0].restarts, 0);
    assert_eq!(control.prepared.load(Ordering::SeqCst), 4);
    assert_eq!(control.schedules.load(Ordering::SeqCst), 1);
}

/// The frames of a stage that is being prepared again wait for it.
#[test]
fn preparing_again_is_tried_until_it_succeeds() {
    let control = Arc::new(Control { fails_after: Some((1, 3)), ..Control::default() });
    let (_, engine) = start(&[1], &control, &EngineOptions::default());
    check(&engine.run(frames(50, &[(10, PANICS)])).collect::<Vec<_>>(), 1, &[10]);
    assert!(engine.warnings().iter().any(|warning| warning.contains("not yet")), "{:?}", engine.warnings());
}

#[test]
fn frames_do_not_wait_for_a_stage_that_was_lost_too_often() {
    let options = EngineOptions::default().with_restarts(2);
    let losses: Vec<usize> = vec![5, 6, 7];
    let faults: Vec<(usize, f32)> = losses.iter().map(|&index| (index, PANICS)).collect();
    let control = Arc::default();
    let (_, engine) = start(&[1], &control, &options);
    let results: Vec<FrameResult> = engine.run(frames(40, &faults)).collect();
    check(&results[..8], 1, &losses);
    assert!(
        results[8..].iter().all(|result| matches!(result.outcome, Err(FrameError::Lost { stage: StageId::FIRST })))
    );
    assert!(engine.warnings().iter().any(|warning| warning.contains("too often")), "{:?}", engine.warnings());

    // Another replica that lives serves them all.
    let control = Arc::new(Control { fails_after: Some((2, 100)), ..Control::default() });
    let (_, engine) = start(&[2], &control, &options);
    check(&engine.run(frames(500, &[(5, PANICS)])).collect::<Vec<_>>(), 1, &[5]);
    assert_eq!(engine.metrics()[0].replicas.iter().map(|replica| replica.restarts).sum::<u64>(), 0);
}

/// A device that is away for longer than frames wait costs the frames of that time, and no others.
#[test]
fn a_stage_whose_device_was_away_for_long_works_again() {
    for replicas in [1, 2] {
        let options = EngineOptions::default().with_restarts(2);
        let control = Arc::new(Control { fails_after: Some((replicas + 1, 8)), ..Control::default() });
        let (_, engine) = start(&[replicas, 1], &control, &options);
        // All replicas of the first stage are lost before the device is there again.
        let input = |index: usize| if index < replicas { LOSES_DEVICE } else { (index % 500) as f32 };
        let mut results = Vec::new();
        while results.last().is_none_or(|result: &FrameResult| result.outcome.is_err()) {
            assert!(results.len() < 100_000, "it does not come back: {:?}", engine.warnings());
            std::thread::sleep(Duration::from_micros(100));
            engine.submit(frame(input(results.len()))).unwrap();
            results.extend(engine.recv());
        }
        assert!(results.iter().enumerate().all(|(index, result)| result.sequence == index as u64));
        let lost = |result: &FrameResult| matches!(result.outcome, Err(FrameError::Lost { stage: StageId::FIRST }));
        assert!(results.iter().any(lost), "frames waited for a device that was away");
        let warnings = engine.warnings();
        assert!(warnings.iter().any(|warning| warning.contains("until it works again")), "{warnings:?}");

        let later: Vec<Option<f32>> = engine.run(frames(200, &[])).map(|result| value(&result)).collect();
        assert_eq!(later, (0..200).map(|index| Some(index as f32 + 2.0)).collect::<Vec<_>>());
    }
}

#[test]
fn a_replica_without_restarts_is_lost_for_good() {
    let options = EngineOptions::default().with_restarts(0);
    let control = Arc::default();
    let (_, engine) = start(&[1], &control, &options);
    let results: Vec<FrameResult> = engine.run(frames(20, &[(3, PANICS)])).collect();
    check(&results[..4], 1, &[3]);
    assert!(
        results[4..].iter().all(|result| matches!(result.outcome, Err(FrameError::Lost { stage: StageId::FIRST })))
    );
    assert_eq!(control.prepared.load(Ordering::SeqCst), 1);
}

/// One replica is lost for good while the other holds the schedule's threads together: with the schedule, the need for
/// it goes.
#[test]
fn a_replica_of_a_replaced_schedule_is_not_started_again() {
    let graph = chain(1);
    let control = Arc::new(Control { fails_after: Some((2, 6)), ..Control::default() });
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
    let options = EngineOptions::default().with_restarts(1);
    let engine = Engine::new(&graph, &pipeline(&graph, &[2]), &[backend], &options).unwrap();
    engine.submit(frame(WAITS)).unwrap();
    wait_for(|| control.waiting.load(Ordering::SeqCst) == 1);
    engine.submit(frame(PANICS)).unwrap();
    wait_for(|| engine.warnings().iter().any(|warning| warning.contains("until it works again")));
    // The other schedule can be prepared once the first attempts have failed.
    wait_for(|| control.prepared.load(Ordering::SeqCst) >= 8);
    engine.reschedule(&pipeline(&graph, &[1])).unwrap();
    let prepared = control.prepared.load(Ordering::SeqCst);
    // The next attempt would have been within this time.
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(control.prepared.load(Ordering::SeqCst), prepared);
    control.may_end.store(true, Ordering::SeqCst);
    assert_eq!(engine.recv().as_ref().and_then(value), Some(WAITS + 1.0));
    assert!(engine.recv().unwrap().outcome.is_err());
}

/// A drop that has a backend panic, or say that its device is gone, begins nothing new.
#[test]
fn an_engine_that_is_dropped_prepares_nothing() {
    let control: Arc<Control> = Arc::default();
    let (_, engine) = start(&[1], &control, &EngineOptions::default());
    engine.submit(frame(PANICS_LATE)).unwrap();
    wait_for(|| control.begun.load(Ordering::SeqCst) == 1);
    drop(engine);
    assert_eq!(control.prepared.load(Ordering::SeqCst), 1);
    assert_eq!(Arc::strong_count(&control), 1, "a thread is left behind");
}

#[test]
fn a_frame_that_takes_too_long_is_cancelled_and_its_replica_goes_on() {
    for replicas in [vec![1], vec![1, 2], vec![3]] {
        let control = Arc::default();
        let (_, engine) = start(&replicas, &control, &short());
        let results: Vec<FrameResult> = engine.run(frames(30, &[(4, HANGS), (20, HANGS)])).collect();
        check(&results, replicas.len(), &[4, 20]);
        let error = results[4].outcome.as_ref().unwrap_err();
        assert!(matches!(error, FrameError::TimedOut { stage: StageId::FIRST, .. }), "{error}");
        assert!(error.to_string().contains("1s"), "{error}");
        assert!(engine.metrics().iter().flat_map(|stage| &stage.replicas).all(|replica| replica.restarts == 0));
    }
}

#[test]
fn a_replica_that_is_stuck_is_replaced_and_what_it_ends_with_is_ignored() {
    for replicas in [vec![1], vec![1, 2], vec![2]] {
        let control = Arc::default();
        let (_, engine) = start(&replicas, &control, &short());
        let results: Vec<FrameResult> = engine.run(frames(30, &[(4, STICKS)])).collect();
        check(&results, replicas.len(), &[4]);
        assert!(matches!(results[4].outcome, Err(FrameError::TimedOut { stage: StageId::FIRST, .. })));
        let sum = |count: fn(&ReplicaMetrics) -> u64| -> u64 { engine.metrics()[0].replicas.iter().map(count).sum() };
        wait_for(|| sum(|replica| replica.restarts) == 1);
        assert_eq!((sum(|replica| replica.frames), sum(|replica| replica.failures)), (30, 1));

        control.lets_go.store(true, Ordering::SeqCst);
        check(
            &engine
                .run(frames(30, &[]))
                .map(|result| FrameResult { sequence: result.sequence - 30, ..result })
                .collect::<Vec<_>>(),
            replicas.len(),
            &[],
        );
        assert!(engine.recv().is_none());
    }
}

/// The one that is stuck comes back while another frame is at work in its place.
#[test]
fn a_replica_that_was_given_up_does_not_take_the_frame_of_those_who_came_after_it() {
    let options = short().with_frame_timeout(Duration::from_secs(2));
    let control = Arc::default();
    let (_, engine) = start(&[1], &control, &options);
    engine.submit(frame(STICKS)).unwrap();
    assert!(matches!(engine.recv().unwrap().outcome, Err(FrameError::TimedOut { .. })));
    engine.submit(frame(WAITS)).unwrap();
    wait_for(|| control.waiting.load(Ordering::SeqCst) == 1);
    control.lets_go.store(true, Ordering::SeqCst);
    // Its thread has a moment to do what it should not.
    wait_for(|| control.stuck.load(Ordering::SeqCst) == 0);
    std::thread::sleep(Duration::from_millis(20));
    control.may_end.store(true, Ordering::SeqCst);
    let result = engine.recv().unwrap();
    assert_eq!((result.sequence, value(&result)), (1, Some(WAITS + 1.0)));
    assert!(engine.recv().is_none());
}

#[test]
fn a_replica_that_panics_again_when_it_is_dropped_costs_one_frame() {
    for replicas in [vec![1], vec![2, 1]] {
        let control = Arc::default();
        let (_, engine) = start(&replicas, &control, &EngineOptions::default());
        check(&engine.run(frames(100, &[(30, PANICS_TWICE)])).collect::<Vec<_>>(), replicas.len(), &[30]);
    }
}

/// The followers of a team, and a leader that waits for one.
#[test]
fn a_team_with_a_stuck_member_is_replaced() {
    let graph = chain(4);
    let order = graph.order();
    let own = |core, operators: &[OperatorId]| Assignment {
        processor: Processor::new("B", [core]),
        operators: operators.to_vec(),
    };
    for fault in [HANGS, STICKS, PANICS] {
        let replica = Replica::new(vec![own(0, &order[..2]), own(1, &order[2..])]);
        let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
        let control: Arc<Control> = Arc::default();
        let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
        let engine = Engine::new(&graph, &schedule, &[backend], &short()).unwrap();
        // What the second processor makes of the first one's two operators.
        let results: Vec<FrameResult> = engine.run(frames(10, &[(3, fault - 2.0)])).collect();
        check(&results, 4, &[3]);
        control.lets_go.store(true, Ordering::SeqCst);
    }
}

#[test]
fn the_schedule_that_is_set_after_a_loss_is_the_one_that_runs() {
    let graph = chain(2);
    let control: Arc<Control> = Arc::default();
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
    let [first, fallback, own] = [[1, 1], [1, 2], [2, 1]].map(|replicas| pipeline(&graph, &replicas));
    let engine = Engine::with_fallback(&graph, &first, &fallback, &[backend], &EngineOptions::default()).unwrap();
    check(&engine.run(frames(5, &[(2, LOSES_DEVICE)])).collect::<Vec<_>>(), 2, &[2]);
    assert_eq!(engine.schedule().unwrap(), fallback);
    engine.reschedule(&own).unwrap();
    assert_eq!(engine.schedule().unwrap(), own);
    assert_eq!(engine.run(frames(50, &[])).filter(|result| result.outcome.is_ok()).count(), 50);
    assert_eq!(engine.schedule().unwrap(), own);
    // Also if the loss comes after it: the fallback is for any schedule, once.
    assert_eq!(engine.run(frames(5, &[(2, LOSES_DEVICE)])).filter(|result| result.outcome.is_ok()).count(), 4);
    assert_eq!(engine.schedule().unwrap(), own, "the fallback was taken");
}

/// Frames that were submitted to a schedule whose device is lost afterwards go to the schedule that was set meanwhile,
/// not to the fallback.
#[test]
fn frames_of_a_lost_schedule_go_to_the_current_one() {
    let graph = chain(1);
    let control: Arc<Control> = Arc::default();
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
    let [first, fallback, own] = [1, 2, 3].map(|replicas| pipeline(&graph, &[replicas]));
    let options = short().with_frames_in_flight(8);
    let engine = Engine::with_fallback(&graph, &first, &fallback, &[backend], &options).unwrap();
    for input in [STICKS, 1.0, 2.0, 3.0] {
        engine.submit(frame(input)).unwrap();
    }
    wait_for(|| control.stuck.load(Ordering::SeqCst) == 1);
    engine.reschedule(&own).unwrap();
    let results: Vec<FrameResult> = (0..4).filter_map(|_| engine.recv()).collect();
    assert!(matches!(results[0].outcome, Err(FrameError::TimedOut { .. })));
    assert_eq!(results[1..].iter().map(value).collect::<Vec<_>>(), [Some(2.0), Some(3.0), Some(4.0)]);
    assert_eq!(engine.schedule().unwrap(), own);
    let worked: u64 = engine.metrics()[0].replicas.iter().map(|replica| replica.frames).sum();
    assert_eq!(worked, 3, "the schedule that was set worked on them");
    control.lets_go.store(true, Ordering::SeqCst);
}

/// Without a fallback they can't go to another schedule, so theirs is prepared again.
#[test]
fn frames_of_an_old_schedule_are_not_lost_while_it_can_be_started_again() {
    let graph = chain(1);
    let control: Arc<Control> = Arc::default();
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
    let options = EngineOptions::default().with_frames_in_flight(8);
    let engine = Engine::new(&graph, &pipeline(&graph, &[1]), &[backend], &options).unwrap();
    for input in [WAITS, PANICS, 1.0, 2.0] {
        engine.submit(frame(input)).unwrap();
    }
    wait_for(|| control.waiting.load(Ordering::SeqCst) == 1);
    engine.reschedule(&pipeline(&graph, &[2])).unwrap();
    control.may_end.store(true, Ordering::SeqCst);
    let results: Vec<FrameResult> = (0..4).filter_map(|_| engine.recv()).collect();
    assert_eq!(results.iter().map(value).collect::<Vec<_>>(), [Some(WAITS + 1.0), None, Some(2.0), Some(3.0)]);
}

/// Frames that wait to be let in are let go of as well, and no thread is left behind.
#[test]
fn an_engine_can_be_dropped_while_its_first_stage_waits_for_room() {
    let options = EngineOptions::default().with_frames_in_flight(1);
    let control = Arc::default();
    let (_, engine) = start(&[3, 1], &control, &options);
    engine.submit(frame(HANGS - 1.0)).unwrap();
    for _ in 0..3 {
        while engine.try_submit(frame(1.0)).unwrap().is_err() {
            std::thread::yield_now();
        }
    }
    drop(engine);
    assert_eq!(Arc::strong_count(&control), 1, "a segment is still there, and so is its thread");
}

/// Nobody lets go of what is stuck before the engine is gone.
#[test]
fn an_engine_can_be_dropped_whatever_its_backend_does() {
    for input in [STICKS, HANGS] {
        for options in [EngineOptions::default(), short()] {
            let control = Arc::default();
            let (_, engine) = start(&[1, 1], &control, &options);
            for index in 0..4 {
                engine.submit(frame(if index == 0 { input } else { index as f32 })).unwrap();
            }
            let (sender, dropped) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                drop(engine);
                let _ = sender.send(());
            });
            let is_dropped = dropped.recv_timeout(Duration::from_secs(20)).is_ok();
            control.lets_go.store(true, Ordering::SeqCst);
            assert!(is_dropped, "whoever drops an engine waits for what is stuck");
        }
    }
}

#[test]
fn a_time_limit_may_be_as_long_as_one_likes() {
    let options = EngineOptions::default().with_frame_timeout(Duration::MAX);
    let (_, engine) = start(&[1, 2], &Arc::default(), &options);
    check(&engine.run(frames(20, &[])).collect::<Vec<_>>(), 2, &[]);
}

/// The first failure is the frame's answer, but a panic beside it still is one.
#[test]
fn a_panic_after_another_failure_of_the_frame_costs_the_team() {
    let graph = chain(2);
    let order = graph.order();
    let control: Arc<Control> = Arc::default();
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Arc::clone(&control)));
    let replica = Replica::single(Processor::new("B", [0]), order.to_vec());
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let engine = Engine::new(&graph, &schedule, &[backend], &short()).unwrap();
    // It is cancelled first, and panics when it is let go.
    engine.submit(frame(PANICS_LATE)).unwrap();
    engine.submit(frame(1.0)).unwrap();
    let failed = engine.recv().unwrap();
    assert!(matches!(failed.outcome, Err(FrameError::TimedOut { .. })), "{:?}", failed.outcome);
    assert_eq!(value(&engine.recv().unwrap()), Some(3.0));
    assert_eq!(control.prepared.load(Ordering::SeqCst), 2, "the segment that panicked is not used again");
}

/// A replica that waits to be prepared again must not hold up the end.
#[test]
fn an_engine_can_be_dropped_while_a_replica_is_prepared_again() {
    let control = Arc::new(Control { fails_after: Some((1, 100)), ..Control::default() });
    let options = EngineOptions::default().with_restarts(100);
    let (_, engine) = start(&[1], &control, &options);
    engine.submit(frame(PANICS)).unwrap();
    engine.submit(frame(1.0)).unwrap();
    assert!(engine.recv().unwrap().outcome.is_err());
    wait_for(|| control.prepared.load(Ordering::SeqCst) > 3);
    drop(engine);
    let at_the_end = control.prepared.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(control.prepared.load(Ordering::SeqCst), at_the_end);
}
