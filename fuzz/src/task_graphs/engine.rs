//! The engine with a backend that adds, beside adding one operator after the other.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::Schedule;

use super::case::Case;

const FRAMES: u16 = 3;
/// Sums are taken modulo a prime, so that floats hold them.
const MODULUS: f32 = 8191.0;

struct Adding(Arc<Graph>);

struct Adder {
    graph: Arc<Graph>,
    segment: Segment,
}

impl Backend for Adding {
    fn name(&self) -> &str {
        "adding"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(Adder { graph: Arc::clone(&self.0), segment: segment.clone() }))
    }
}

impl PreparedSegment for Adder {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let scalar = |tensor: &Tensor| tensor.as_f32().and_then(|elements| elements.first().copied()).unwrap_or(-1.0);
        let mut values: HashMap<ValueId, f32> =
            self.segment.boundary.inputs.iter().copied().zip(inputs.iter().map(scalar)).collect();
        add(&self.graph, &self.segment.operators, &mut values);
        let made = |value: &ValueId| values.get(value).map(|&made| Tensor::from_f32([1], vec![made]));
        let outputs: Option<Vec<Tensor>> = self.segment.boundary.outputs.iter().map(made).collect();
        outputs.ok_or_else(|| BackendError::failed("an output was not made"))
    }
}

/// Every operator makes the sum of what it reads, weighed by the place, and its own number.
fn add(graph: &Graph, operators: &[OperatorId], values: &mut HashMap<ValueId, f32>) {
    for &id in operators {
        let operator = graph.operator(id);
        let read = operator.inputs.iter().enumerate();
        let sum: f32 = read.map(|(place, input)| (place + 1) as f32 * values.get(input).copied().unwrap_or(-1.0)).sum();
        let made = (2.0 * sum + id.index() as f32 + 1.0) % MODULUS;
        values.extend(operator.outputs.iter().map(|&output| (output, made)));
    }
}

/// All frames come back, in order, with the sums that there are.
pub(super) fn check(case: &Case, schedule: &Schedule) {
    let graph = &case.graph;
    let backends: [Arc<dyn Backend>; 1] = [Arc::new(Adding(Arc::clone(graph)))];
    let options = EngineOptions::default().with_taking_over(case.takes_over);
    let engine = match Engine::new(graph, schedule, &backends, &options) {
        Ok(engine) => engine,
        Err(error) => unreachable!("{schedule}: {error}"),
    };
    for frame in 0..FRAMES {
        let submitted = engine.submit(vec![Tensor::from_f32([1], vec![f32::from(frame)])]);
        assert!(submitted.is_ok(), "{submitted:?}");
    }
    for frame in 0..FRAMES {
        let result = engine.recv();
        let made = result.as_ref().and_then(|result| result.outcome.as_ref().ok());
        let made: Option<Vec<f32>> =
            made.map(|tensors| tensors.iter().filter_map(|own| own.as_f32()?.first().copied()).collect());
        let mut values = HashMap::from([(graph.inputs()[0], f32::from(frame))]);
        add(graph, graph.order(), &mut values);
        let expected: Vec<f32> = graph.outputs().iter().filter_map(|output| values.get(output).copied()).collect();
        assert_eq!(made, Some(expected), "frame {frame} of {schedule}");
    }
}
