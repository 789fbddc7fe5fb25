//! The pipeline with the shortest period for a network and costs of one's own: no file, no engine, no solver.

use std::error::Error;
use std::io::Write;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{Problem, best_period};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Writes the pipeline and its period.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let board = Board::from_json(
        r#"{"format": "millstream-board", "version": 1, "name": "pair", "clusters": [
            {"label": "B", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "s", "capacity": 341, "cores": [{"id": 1}]}]}"#,
    )?;
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
    let graph = builder.build()?;

    // A millisecond on the big core, three on the small one.
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    for (processor, milliseconds) in table.class_ids().zip([1, 3]) {
        for operator in table.operator_ids() {
            table.set_time(processor, operator, Nanoseconds(1_000_000 * milliseconds));
        }
    }
    let plan = best_period(&Problem::new(&graph, &Chain::of(&graph), &board, &table)?)?;
    writeln!(output, "{}: a frame every {}", plan.configuration(), plan.period)?;
    Ok(())
}
