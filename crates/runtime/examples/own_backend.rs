//! A backend of one's own behind the engine: frames flow through two stages, and a frame that can't be computed
//! disturbs no other.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Replica, Schedule, Stage};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Takes the square root as many times as its segment has operators.
struct SquareRoots;

struct Prepared {
    operators: usize,
}

impl Backend for SquareRoots {
    fn name(&self) -> &str {
        "square roots"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(Prepared { operators: segment.operators.len() }))
    }
}

impl PreparedSegment for Prepared {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let number = inputs.first().and_then(|input| input.as_f32()?.first().copied());
        let Some(number) = number.filter(|number| *number >= 0.0) else {
            return Err(BackendError::failed("a number below 0 has no square root"));
        };
        let root = (0..self.operators).fold(number, |root, _| root.sqrt());
        Ok(vec![Tensor::from_f32([1], vec![root])])
    }
}

/// Writes what comes out for each frame.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let graph = Arc::new(three_roots()?);
    let stage = |core, operators: &[OperatorId]| Stage {
        replicas: vec![Replica::single(Processor::new("B", [core]), operators.to_vec())],
    };
    let (front, back) = graph.order().split_at(1);
    // Where there is no second core, the system does not pin the thread, and the stage runs anywhere.
    let schedule = Schedule { stages: vec![stage(0, front), stage(1, back)] };
    let engine = Engine::new(&graph, &schedule, &[Arc::new(SquareRoots)], &EngineOptions::default())?;

    let numbers = [256.0, 6561.0, -1.0, 65536.0];
    let frames = numbers.map(|number| vec![Tensor::from_f32([1], vec![number])]);
    for (number, result) in numbers.iter().zip(engine.run(frames)) {
        match result.outcome {
            Ok(outputs) => {
                let root = outputs.first().and_then(|output| output.as_f32()?.first().copied());
                writeln!(output, "{number}: {}", root.unwrap_or(f32::NAN))?;
            }
            Err(error) => writeln!(output, "{number}: {error}")?,
        }
    }
    Ok(())
}

fn three_roots() -> Result<Graph, Box<dyn Error>> {
    let mut builder = GraphBuilder::new("three roots");
    let mut value = builder.value("x", Some(DataType::F32), Some(Shape::from([1])))?;
    builder.input(value);
    for index in 0..3 {
        let made = builder.value(format!("root {index}"), Some(DataType::F32), Some(Shape::from([1])))?;
        let operator = NewOperator::new(format!("Sqrt_{index}"), "Sqrt", OperatorKind::Opaque);
        builder.operator(operator.reads([value]).makes([made]))?;
        value = made;
    }
    builder.output(value);
    Ok(builder.build()?)
}
