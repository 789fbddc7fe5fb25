//! An engine that is tuned while frames flow: it notices changes, keeps the best of what it tries, and loses no frame.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::{CoreId, Processor};
use millstream_graph::{Graph, OperatorId};
use millstream_runtime::{
    Engine, EngineOptions, Goal, Observation, Planner, RuntimeError, TuningEvent, TuningEventKind, TuningPolicy,
};
use millstream_schedule::{Replica, Schedule, Stage};
use support::chain;

/// Microseconds per operator on each of two cores; tests change them while frames flow.
struct Cores {
    microseconds: Arc<[AtomicU64; 2]>,
}

struct Sleeper {
    operators: u64,
    core: usize,
    microseconds: Arc<[AtomicU64; 2]>,
}

impl Backend for Cores {
    fn name(&self) -> &str {
        "sleeping"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let core = match processor.cores.as_slice() {
            [CoreId(core @ 0..2)] => *core as usize,
            _ => return Err(BackendError::failed("there are only two cores")),
        };
        let operators = segment.operators.len() as u64;
        Ok(Box::new(Sleeper { operators, core, microseconds: Arc::clone(&self.microseconds) }))
    }
}

impl PreparedSegment for Sleeper {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let input = inputs[0].as_f32().unwrap()[0];
        let time = self.operators * self.microseconds[self.core].load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(time));
        Ok(vec![Tensor::from_f32([1], vec![input + self.operators as f32])])
    }
}

/// So many operators on core 0, the rest on core 1.
fn split(graph: &Graph, on_first: usize) -> Schedule {
    let stage = |core: u32, operators: &[OperatorId]| Stage {
        replicas: vec![Replica::single(Processor::new("B", [core]), operators.to_vec())],
    };
    let (front, back) = graph.order().split_at(on_first);
    Schedule { stages: vec![stage(0, front), stage(1, back)] }
}

/// Proposes what it was given, one after the other.
#[derive(Default)]
struct Scripted {
    proposals: Vec<Schedule>,
    seen: Vec<Observation>,
    forgotten: usize,
}

impl Planner for Scripted {
    fn propose(&mut self, seen: &Observation) -> Result<Option<Schedule>, Box<dyn std::error::Error + Send + Sync>> {
        self.seen.push(seen.clone());
        Ok(self.proposals.pop())
    }

    fn forget(&mut self) {
        self.forgotten += 1;
    }
}

const POLICY: TuningPolicy = TuningPolicy {
    goal: Goal::Throughput,
    window: Duration::from_millis(40),
    frames: 5,
    drift: 0.5,
    trials: 3,
    gain: 0.05,
    at_once: false,
};

/// Streams frames until tuning has settled, checking every result. Runs `meanwhile` once, after some frames.
fn stream(
    graph: &Arc<Graph>,
    start: &Schedule,
    planner: &mut dyn Planner,
    policy: &TuningPolicy,
    mut meanwhile: impl FnMut(&AtomicU64),
) -> (Result<Vec<TuningEvent>, RuntimeError>, Schedule) {
    let microseconds = Arc::new([AtomicU64::new(500), AtomicU64::new(500)]);
    let backend: Arc<dyn Backend> = Arc::new(Cores { microseconds: Arc::clone(&microseconds) });
    let engine = Engine::new(graph, start, &[backend], &EngineOptions::default()).unwrap();
    let has_settled = AtomicBool::new(false);
    let operators = graph.operators().len() as f32;
    let events = std::thread::scope(|scope| {
        let tuning = scope.spawn(|| {
            let mut settle = |event: &TuningEvent| {
                has_settled.fetch_or(matches!(event.kind, TuningEventKind::Settled { .. }), Ordering::Relaxed);
            };
            let events = engine.tune(planner, policy, &|| has_settled.load(Ordering::Relaxed), &mut settle);
            has_settled.store(true, Ordering::Relaxed);
            events
        });
        let mut count = 0_u32;
        let frames = std::iter::from_fn(|| {
            count += 1;
            if count == 100 {
                meanwhile(&microseconds[1]);
            }
            // A change that is never noticed must fail, not hang.
            let is_over = has_settled.load(Ordering::Relaxed) || count > 20_000;
            (!is_over).then(|| vec![Tensor::from_f32([1], vec![count as f32])])
        });
        for (index, result) in engine.run(frames).enumerate() {
            assert_eq!(result.sequence, index as u64);
            assert_eq!(result.outcome.unwrap()[0].as_f32(), Some(&[index as f32 + 1.0 + operators][..]));
        }
        has_settled.store(true, Ordering::Relaxed);
        tuning.join().unwrap()
    });

    let schedule = engine.schedule().unwrap();
    (events, schedule)
}

#[test]
fn a_slower_core_is_noticed_and_the_best_trial_stays() {
    let graph = chain(6);
    let start = split(&graph, 3);
    // Tried from the last to the first.
    let mut planner = Scripted { proposals: vec![split(&graph, 1), split(&graph, 5)], ..Scripted::default() };
    let slow_down = |core: &AtomicU64| core.store(2500, Ordering::Relaxed);
    let (events, schedule) = stream(&graph, &start, &mut planner, &POLICY, slow_down);
    let kinds: Vec<TuningEventKind> = events.unwrap().into_iter().map(|event| event.kind).collect();
    let [drift, good, bad, settled] = kinds.as_slice() else { panic!("{kinds:?}") };
    assert!(matches!(drift, TuningEventKind::Drift { .. }), "{drift:?}");
    assert!(
        matches!((good, bad), (TuningEventKind::Trial { period: good, .. }, TuningEventKind::Trial { period: bad, .. }) if good < bad)
    );
    assert!(matches!(settled, TuningEventKind::Settled { .. }));
    assert_eq!(schedule, split(&graph, 5));
    assert_eq!(planner.forgotten, 1);
    // The planner saw the start under the new conditions, then each trial.
    let seen: Vec<&Schedule> = planner.seen.iter().map(|seen| &seen.schedule).collect();
    assert_eq!(seen, [&start, &split(&graph, 5), &split(&graph, 1)]);
    assert!(planner.seen[0].period >= Duration::from_micros(3 * 2500));
    assert!(planner.seen[1].replica_times.iter().flatten().all(Option::is_some));
}

#[test]
fn nothing_better_leaves_what_was_there() {
    let graph = chain(6);
    let start = split(&graph, 3);
    let proposals = vec![split(&graph, 1), split(&graph, 5), split(&graph, 2)];
    let mut planner = Scripted { proposals, ..Scripted::default() };
    let policy = TuningPolicy { at_once: true, ..POLICY };
    let (events, schedule) = stream(&graph, &start, &mut planner, &policy, |_| {});
    assert_eq!(schedule, start);
    let trials = events.unwrap().iter().filter(|event| matches!(event.kind, TuningEventKind::Trial { .. })).count();
    assert_eq!(trials, POLICY.trials);
}

#[test]
fn a_goal_of_latency_keeps_what_is_quick_for_a_frame() {
    let graph = chain(6);
    // On two equal cores, all cuts take a frame as long; the whole on a slow core takes longer, the whole on a fast one
    // less.
    let whole = |core: u32| Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::new("B", [core]), graph.order().to_vec())] }],
    };
    let start = split(&graph, 3);
    let mut planner = Scripted { proposals: vec![whole(1), whole(0)], ..Scripted::default() };
    let policy = TuningPolicy { goal: Goal::Latency, ..POLICY };
    let slow_down = |core: &AtomicU64| core.store(2500, Ordering::Relaxed);
    let (events, schedule) = stream(&graph, &start, &mut planner, &policy, slow_down);
    assert!(events.unwrap().len() >= 4);
    assert_eq!(schedule, whole(0));
    let [frame, other] = [Duration::from_millis(4), Duration::from_millis(9)];
    assert_eq!(Goal::Throughput.measure(frame, other), frame);
    assert_eq!(Goal::Balanced.measure(frame, other), Duration::from_millis(6));
}

#[test]
fn what_can_not_start_is_told_and_changes_nothing() {
    let graph = chain(2);
    let start = split(&graph, 1);
    let nowhere = Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::new("B", [7]), graph.order().to_vec())] }],
    };
    let mut planner = Scripted { proposals: vec![nowhere], ..Scripted::default() };
    let policy = TuningPolicy { at_once: true, ..POLICY };
    let (events, schedule) = stream(&graph, &start, &mut planner, &policy, |_| {});
    let told = events.unwrap()[0].to_string();
    assert!(told.contains("could not try") && told.contains("there are only two cores"), "{told}");
    assert_eq!(schedule, start);
}

#[test]
fn a_planner_that_fails_ends_the_tuning_and_nothing_else() {
    struct Broken;
    impl Planner for Broken {
        fn propose(&mut self, _: &Observation) -> Result<Option<Schedule>, Box<dyn std::error::Error + Send + Sync>> {
            Err("no profile".into())
        }
        fn forget(&mut self) {}
    }
    let graph = chain(2);
    let policy = TuningPolicy { at_once: true, ..POLICY };
    let (events, schedule) = stream(&graph, &split(&graph, 1), &mut Broken, &policy, |_| {});
    assert_eq!(events.unwrap_err().to_string(), "looking for a better schedule: no profile");
    assert_eq!(schedule, split(&graph, 1));
}

#[test]
fn without_frames_nothing_is_observed() {
    let graph = chain(2);
    let microseconds = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let backend: Arc<dyn Backend> = Arc::new(Cores { microseconds });
    let engine = Engine::new(&graph, &split(&graph, 1), &[backend], &EngineOptions::default()).unwrap();
    let policy = TuningPolicy { window: Duration::from_millis(1), ..POLICY };
    assert_eq!(engine.try_schedule(&split(&graph, 1), &policy, &|| false).unwrap(), None);
}
