//! A small network and a backend whose behaviour tests can choose.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::{Replica, Schedule, Stage};

/// Operators `o0`, `o1`, ... in a row; each adds one to the value before.
pub(crate) fn chain(operators: usize) -> Arc<Graph> {
    Arc::new(millstream_test_support::chain(operators))
}

/// One operator per stage, with so many replicas each.
pub(crate) fn pipeline(graph: &Graph, replicas: &[usize]) -> Schedule {
    let mut core = 0;
    let mut replica = |operator: OperatorId| {
        core += 1;
        let processor = Processor::new("B", [core - 1]);
        Replica::single(processor, vec![operator])
    };
    let stages = graph.order().iter().zip(replicas);
    let stages = stages.map(|(&operator, &count)| Stage { replicas: (0..count).map(|_| replica(operator)).collect() });
    Schedule { stages: stages.collect() }
}

/// Adds one per operator. Certain inputs make it fail, panic, or take its time.
#[derive(Default)]
pub(crate) struct Adding {
    /// Sleep per frame, in microseconds, for the first replica prepared, the second, and so on.
    pub(crate) delays: Vec<u64>,
    pub(crate) prepared: AtomicUsize,
    /// Operator that can't be prepared.
    pub(crate) unprepared: Option<String>,
    /// Operator that is not supported.
    pub(crate) unsupported: Option<OperatorId>,
    /// Frames that the replica prepared first lets others finish before it goes on with its own first one.
    pub(crate) lets_pass: usize,
    /// Frames that all replicas have finished.
    pub(crate) finished: Arc<AtomicUsize>,
}

pub(crate) const FAILS: f32 = 1000.0;
pub(crate) const PANICS: f32 = 2000.0;

struct Adder {
    operators: f32,
    delay: Duration,
    lets_pass: usize,
    finished: Arc<AtomicUsize>,
}

impl Backend for Adding {
    fn name(&self) -> &str {
        "adding"
    }

    fn supports(&self, operator: OperatorId, _: &Processor) -> bool {
        self.unsupported != Some(operator)
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let position = self.prepared.fetch_add(1, Ordering::SeqCst);
        if let Some(name) = &self.unprepared {
            return Err(BackendError::Prepare { first: name.clone(), last: name.clone(), detail: "no kernel".into() });
        }
        let delay = Duration::from_micros(self.delays.get(position).copied().unwrap_or(0));
        let lets_pass = if position == 0 { self.lets_pass } else { 0 };
        let finished = Arc::clone(&self.finished);
        Ok(Box::new(Adder { operators: segment.operators.len() as f32, delay, lets_pass, finished }))
    }
}

impl PreparedSegment for Adder {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let input = inputs.first().and_then(Tensor::as_f32).and_then(|elements| elements.first().copied());
        let input = input.ok_or_else(|| BackendError::failed("no input"))?;
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        let begin = std::time::Instant::now();
        while self.finished.load(Ordering::SeqCst) < self.lets_pass {
            assert!(begin.elapsed() < Duration::from_secs(60), "no other replica goes on");
            std::thread::yield_now();
        }
        assert!(input < PANICS, "the operator blew up on {input}");
        if input >= FAILS {
            return Err(BackendError::failed(format!("bad input {input}")));
        }
        self.finished.fetch_add(1, Ordering::SeqCst);
        Ok(vec![Tensor::from_f32([1], vec![input + self.operators])])
    }
}
