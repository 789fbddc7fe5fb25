//! Period and latency of three ways to run six operators on a big and a small core: alone, one after the other, and
//! side by side.

use std::error::Error;
use std::io::Write;

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
use millstream_schedule::{Replica, Schedule, Stage};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Writes a line for each of the schedules.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let graph = six_steps()?;
    let (big, small) = (Processor::new("B", [0]), Processor::new("s", [1]));
    let alone =
        |processor: &Processor, operators: &[OperatorId]| Replica::single(processor.clone(), operators.to_vec());

    // A millisecond for each operator on the big core, three on the small one.
    let mut table = CostTable::new(graph.operators().len(), [big.class(), small.class()]);
    for (processor, milliseconds) in table.class_ids().zip([1, 3]) {
        for operator in table.operator_ids() {
            table.set_time(processor, operator, Nanoseconds(1_000_000 * milliseconds));
        }
    }

    let all = graph.order();
    let (front, back) = all.split_at(4);
    let stage = |replicas: Vec<Replica>| Stage { replicas };
    for stages in [
        vec![stage(vec![alone(&big, all)])],
        vec![stage(vec![alone(&big, front)]), stage(vec![alone(&small, back)])],
        vec![stage(vec![alone(&big, all), alone(&small, all)])],
    ] {
        let schedule = Schedule { stages };
        let evaluation = schedule.evaluate(&graph, &table)?;
        writeln!(
            output,
            "{:<7} a frame every {}, each within {}",
            schedule.to_string(),
            evaluation.period,
            evaluation.latency
        )?;
    }
    Ok(())
}

fn six_steps() -> Result<Graph, Box<dyn Error>> {
    let mut builder = GraphBuilder::new("six steps");
    let shape = || Some(Shape::from([1, 3, 8, 8]));
    let mut value = builder.value("image", Some(DataType::F32), shape())?;
    builder.input(value);
    for step in 0..6 {
        let made = builder.value(format!("made {step}"), Some(DataType::F32), shape())?;
        let operator = NewOperator::new(format!("step {step}"), "Relu", OperatorKind::Activation);
        builder.operator(operator.reads([value]).makes([made]))?;
        value = made;
    }
    builder.output(value);
    Ok(builder.build()?)
}
