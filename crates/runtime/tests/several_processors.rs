//! Stages with several processors, schedules replaced while frames flow, and devices that get lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod teams;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{Along, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, ValueId};
use millstream_runtime::{Engine, EngineOptions, FrameError};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage, StageId};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every operator adds up its inputs and one more, after a random moment. Frames from `FAILS` on fail in the operator
/// of that index, and those at `LOSES` lose the device.
struct Summing {
    graph: Arc<Graph>,
    seed: AtomicUsize,
    most_microseconds: u64,
}

const FAILS: f32 = 1e6;
const LOSES: f32 = 2e6;
const PANICS: f32 = 4e6;

struct Sum {
    graph: Arc<Graph>,
    segment: Segment,
    random: ChaCha8Rng,
    most_microseconds: u64,
    is_accelerator: bool,
    is_lost: bool,
}

impl Backend for Summing {
    fn name(&self) -> &str {
        "summing"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(Sum {
            graph: Arc::clone(&self.graph),
            segment: segment.clone(),
            random: ChaCha8Rng::seed_from_u64(self.seed.fetch_add(1, Ordering::SeqCst) as u64),
            most_microseconds: self.most_microseconds,
            is_accelerator: processor.is_accelerator(),
            is_lost: false,
        }))
    }
}

impl PreparedSegment for Sum {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let lost = || BackendError::DeviceLost { backend: "summing".into(), detail: "unplugged".into() };
        if self.is_lost {
            return Err(lost());
        }
        let scalar = |tensor: &Tensor| f64::from(tensor.as_f32().unwrap()[0]);
        let mut values: HashMap<ValueId, f64> =
            self.segment.boundary.inputs.iter().copied().zip(inputs.iter().map(scalar)).collect();
        let largest = values.values().copied().fold(0.0, f64::max) as f32;
        let is_first = self.segment.boundary.inputs.iter().any(|input| self.graph.inputs().contains(input));
        if is_first && (PANICS..2.0 * PANICS).contains(&largest) {
            panic!("the operator blew up");
        }

        if is_first && self.is_accelerator && (LOSES..PANICS).contains(&largest) {
            self.is_lost = true;
            return Err(lost());
        }
        if is_first && (FAILS..LOSES).contains(&largest) {
            return Err(BackendError::failed("bad frame"));
        }
        if self.most_microseconds > 0 {
            std::thread::sleep(Duration::from_micros(self.random.random_range(0..self.most_microseconds)));
        }
        for &id in &self.segment.operators {
            let operator = self.graph.operator(id);
            let sum: f64 = operator.inputs.iter().map(|input| values[input]).sum();
            values.extend(operator.outputs.iter().map(|&output| (output, (sum + 1.0) % 1e6)));
        }
        let tensor = |value: &ValueId| Tensor::from_f32([1], vec![values[value] as f32]);
        Ok(self.segment.boundary.outputs.iter().map(tensor).collect())
    }
}

/// A random network of so many operators; everything that nobody reads is an output.
fn network(operators: usize, random: &mut ChaCha8Rng) -> Arc<Graph> {
    let mut builder = GraphBuilder::new("random");
    let input = builder.value("x", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    builder.input(input);
    let mut values = vec![input];
    let mut unread: Vec<ValueId> = Vec::new();
    for index in 0..operators {
        let mut reads: Vec<ValueId> =
            (0..random.random_range(1..=3)).map(|_| values[random.random_range(0..values.len())]).collect();
        reads.sort_unstable();
        reads.dedup();
        let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1]))).unwrap();
        unread.retain(|value| !reads.contains(value));
        unread.push(made);
        let operator = NewOperator::new(format!("o{index}"), "Sum", OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes([made])).unwrap();
        values.push(made);
    }
    unread.into_iter().for_each(|value| builder.output(value));
    Arc::new(builder.build().unwrap())
}

fn expected(graph: &Arc<Graph>, frame: f32) -> Vec<f32> {
    let backend = Summing { graph: Arc::clone(graph), seed: AtomicUsize::new(0), most_microseconds: 0 };
    let whole = Segment::whole(graph);
    let made = backend.prepare(&whole, &Processor::new("B", [0])).unwrap().run(&[scalar(frame)]).unwrap();
    let position = |output| whole.boundary.outputs.iter().position(|value| value == output).unwrap();
    graph.outputs().iter().map(|output| made[position(output)].as_f32().unwrap()[0]).collect()
}

fn scalar(value: f32) -> Tensor {
    Tensor::from_f32([1], vec![value])
}

fn found(tensors: &[Tensor]) -> Vec<f32> {
    tensors.iter().map(|tensor| tensor.as_f32().unwrap()[0]).collect()
}

/// A random pipeline of up to three stages, each of up to three processors.
fn schedule(graph: &Graph, random: &mut ChaCha8Rng) -> Schedule {
    let stages = random.random_range(1..=3_usize.min(graph.operators().len()));
    let mut rest = graph.order();
    let mut made = Vec::new();
    for stage in 0..stages {
        let left = stages - stage - 1;
        let size = if left == 0 { rest.len() } else { random.random_range(1..=rest.len() - left) };
        let (own, others) = rest.split_at(size);
        rest = others;
        let count = random.random_range(1..=3);
        let mut replica = teams::random(graph, &teams::processors(count), 0.0, random);
        for assignment in &mut replica.assignments {
            assignment.operators.retain(|operator| own.contains(operator));
        }
        replica.assignments.retain(|assignment| !assignment.operators.is_empty());
        made.push(Stage { replicas: vec![replica] });
    }
    Schedule { stages: made }
}

fn backends(graph: &Arc<Graph>, most_microseconds: u64) -> Vec<Arc<dyn Backend>> {
    vec![Arc::new(Summing { graph: Arc::clone(graph), seed: AtomicUsize::new(0), most_microseconds })]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the mapping, results are those of one operator after the other; a frame that fails fails alone.
    #[test]
    fn random_mappings_compute_the_same(seed in any::<u64>(), operators in 1..20_usize, delay in 0..60_u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let graph = network(operators, &mut random);
        let schedule = schedule(&graph, &mut random);
        let engine = Engine::new(&graph, &schedule, &backends(&graph, delay), &EngineOptions::default()).unwrap();
        let frames: Vec<f32> = (0..12).map(|index| if index == 5 { FAILS } else { index as f32 }).collect();
        let results: Vec<_> = engine.run(frames.iter().map(|&value| vec![scalar(value)])).collect();
        prop_assert_eq!(results.len(), frames.len());
        for (index, (result, &frame)) in results.iter().zip(&frames).enumerate() {
            prop_assert_eq!(result.sequence, index as u64);
            match &result.outcome {
                Ok(tensors) if frame < FAILS => prop_assert_eq!(found(tensors), expected(&graph, frame)),
                Err(FrameError::Stage { .. }) if frame >= FAILS => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

#[test]
fn ten_thousand_frames_survive_a_hundred_schedules() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let graph = network(12, &mut random);
    let first = schedule(&graph, &mut random);
    let engine = Engine::new(&graph, &first, &backends(&graph, 0), &EngineOptions::default()).unwrap();
    let others: Vec<Schedule> = (0..100).map(|_| schedule(&graph, &mut random)).collect();
    let frames = 10_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for schedule in &others {
                engine.reschedule(schedule).unwrap();
            }
        });
        let known: Vec<Vec<f32>> = (0..17).map(|value| expected(&graph, value as f32)).collect();
        let results = engine.run((0..frames).map(|index| vec![scalar((index % 17) as f32)]));
        let mut count = 0;
        for (index, result) in results.enumerate() {
            assert_eq!(result.sequence, index as u64);
            assert_eq!(found(&result.outcome.unwrap()), known[index % 17], "frame {index}");
            count += 1;
        }
        assert_eq!(count, frames);
    });
    assert!(engine.recv().is_none(), "nothing came twice");
}

#[test]
fn a_schedule_that_can_not_start_leaves_the_old_one_at_work() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let graph = network(6, &mut random);
    let engine =
        Engine::new(&graph, &schedule(&graph, &mut random), &backends(&graph, 0), &EngineOptions::default()).unwrap();
    assert!(engine.reschedule(&Schedule { stages: Vec::new() }).is_err());
    let results: Vec<_> = engine.run((0..5).map(|value| vec![scalar(value as f32)])).collect();
    assert!(results.iter().all(|result| result.outcome.is_ok()));
}

/// The first operator on an accelerator, the rest on a core.
fn with_accelerator(graph: &Graph) -> Schedule {
    let (first, rest) = graph.order().split_at(1);
    let stage = |processor: Processor, operators: &[OperatorId]| Stage {
        replicas: vec![Replica::single(processor, operators.to_vec())],
    };
    Schedule { stages: vec![stage(Processor::accelerator("G"), first), stage(Processor::new("B", [1]), rest)] }
}

#[test]
fn a_lost_device_costs_one_frame_if_there_is_a_fallback() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let graph = network(8, &mut random);
    let on_cores = Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::new("B", [0]), graph.order().to_vec())] }],
    };
    let frames = |index: usize| if index == 10 { LOSES } else { index as f32 };
    let run = |engine: &Engine| -> Vec<_> { engine.run((0..40).map(|index| vec![scalar(frames(index))])).collect() };

    let (options, backends) = (EngineOptions::default(), backends(&graph, 50));
    let engine = Engine::with_fallback(&graph, &with_accelerator(&graph), &on_cores, &backends, &options).unwrap();
    let results = run(&engine);
    assert_eq!(results.len(), 40);
    for (index, result) in results.iter().enumerate() {
        match &result.outcome {
            Ok(tensors) => assert_eq!(found(tensors), expected(&graph, frames(index)), "frame {index}"),
            Err(error) => {
                let is_loss = matches!(
                    error,
                    FrameError::Stage { stage: StageId::FIRST, source: BackendError::DeviceLost { .. } }
                );
                assert!(index == 10 && is_loss, "frame {index}: {error}");
            }
        }
    }
    assert!(results[10].outcome.is_err());
    assert_eq!(engine.metrics().len(), 1, "the fallback is at work");
    engine.reschedule(&on_cores).unwrap();

    // Without a fallback, the device is prepared again.
    let engine = Engine::new(&graph, &with_accelerator(&graph), &backends, &options).unwrap();
    for (index, result) in run(&engine).iter().enumerate() {
        assert_eq!(result.outcome.is_ok(), index != 10, "frame {index}");
    }
    // Unless that is not allowed.
    let options = options.with_restarts(0);
    let engine = Engine::new(&graph, &with_accelerator(&graph), &backends, &options).unwrap();
    for (index, result) in run(&engine).iter().enumerate() {
        match &result.outcome {
            Ok(_) => assert!(index < 10),
            Err(error) => {
                assert!(index == 10 || matches!(error, FrameError::Lost { stage: StageId::FIRST }), "{error}");
            }
        }
    }
}

/// Makes one value more than it should.
struct TooMany;

impl Backend for TooMany {
    fn name(&self) -> &str {
        "too many"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        struct Prepared(usize);
        impl PreparedSegment for Prepared {
            fn run(&mut self, _: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
                Ok(vec![Tensor::from_f32([2, self.0], vec![0.0; 2 * self.0]); 2])
            }
        }
        Ok(Box::new(Prepared(segment.channels().map_or(4, ExactSizeIterator::len))))
    }
}

#[test]
fn a_part_of_an_operator_is_one_value() {
    let mut builder = GraphBuilder::new("one");
    let [x, y] = ["x", "y"].map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([2, 4]))).unwrap());
    builder.input(x);
    builder.operator(NewOperator::new("o", "MatMul", OperatorKind::FullyConnected).reads([x]).makes([y])).unwrap();
    builder.output(y);
    let graph = Arc::new(builder.build().unwrap());
    let operators = graph.order().to_vec();
    let assignment = |core| Assignment { processor: Processor::new("B", [core]), operators: operators.clone() };
    let splits = vec![OperatorSplit { operators: operators.clone(), along: Along::Channels, shares: vec![2, 2] }];
    let replica = Replica { assignments: vec![assignment(0), assignment(1)], splits };
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let engine = Engine::new(&graph, &schedule, &[Arc::new(TooMany)], &EngineOptions::default()).unwrap();
    let frame = vec![Tensor::from_f32([2, 4], vec![0.0; 8])];
    let error = engine.run([frame]).next().unwrap().outcome.unwrap_err();
    assert!(error.to_string().contains("2 values of a part"), "{error}");
}

#[test]
fn a_follower_that_panics_is_an_error_of_its_frame() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let graph = network(15, &mut random);
    let replica = teams::random(&graph, &teams::processors(3), 0.0, &mut random);
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let engine = Engine::new(&graph, &schedule, &backends(&graph, 0), &EngineOptions::default()).unwrap();
    let results: Vec<_> = engine.run([1.0, PANICS, 2.0].map(|value| vec![scalar(value)])).collect();
    assert!(results[0].outcome.is_ok());
    let error = results[1].outcome.as_ref().unwrap_err();
    assert!(error.to_string().contains("blew up"), "{error}");
    assert_eq!(found(results[2].outcome.as_ref().unwrap()), expected(&graph, 2.0), "the team is there again");
    assert_eq!(engine.metrics()[0].replicas[0].restarts, 1);
}
