use millstream_graph::Graph;
use millstream_schedule::{Schedule, ScheduleDocument};

use crate::{Align, Table, milliseconds, percent};

/// One replica of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRow {
    /// Stage, counted from 1.
    pub stage: usize,
    /// What it runs on, such as `B2 (cores 4 5)`.
    pub processor: String,
    /// First and last operator.
    pub operators: String,
    /// Number of operators.
    pub operator_count: usize,
    /// Predicted time per frame.
    pub predicted_seconds: f64,
    /// What was measured; `None` before a run.
    pub measured: Option<MeasuredStage>,
}

/// What a run showed of a replica.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredStage {
    /// Time per frame.
    pub seconds: f64,
    /// Frames that it worked on.
    pub frames: u64,
    /// Mean wait of a frame in the queue before it.
    pub queue_wait_seconds: f64,
    /// Fraction of the time that it worked.
    pub utilisation: f64,
}

/// One row per replica, with measurements beside predictions where there are any.
pub fn stage_table(rows: &[StageRow]) -> Table {
    if rows.iter().all(|row| row.measured.is_none()) {
        let mut table = Table::new([
            ("stage", Align::Right),
            ("processor", Align::Left),
            ("operators", Align::Left),
            ("predicted ms", Align::Right),
        ]);
        for row in rows {
            let predicted = milliseconds(row.predicted_seconds);
            table.row([row.stage.to_string(), row.processor.clone(), operators(row), predicted]);
        }
        return table;
    }
    let mut table = Table::new([
        ("stage", Align::Right),
        ("processor", Align::Left),
        ("operators", Align::Left),
        ("predicted ms", Align::Right),
        ("measured ms", Align::Right),
        ("error", Align::Right),
        ("frames", Align::Right),
        ("queue wait ms", Align::Right),
        ("busy", Align::Right),
    ]);
    for row in rows {
        let measured = |text: &dyn Fn(&MeasuredStage) -> String| row.measured.as_ref().map_or("-".to_owned(), text);
        table.row([
            row.stage.to_string(),
            row.processor.clone(),
            operators(row),
            milliseconds(row.predicted_seconds),
            measured(&|stage| milliseconds(stage.seconds)),
            measured(&|stage| percent(row.predicted_seconds / stage.seconds - 1.0)),
            measured(&|stage| stage.frames.to_string()),
            measured(&|stage| milliseconds(stage.queue_wait_seconds)),
            measured(&|stage| format!("{:.0} %", stage.utilisation * 100.0)),
        ]);
    }
    table
}

fn operators(row: &StageRow) -> String {
    format!("{} ({})", row.operators, row.operator_count)
}

/// One row per replica, without measurements.
pub fn stage_rows(schedule: &Schedule, document: &ScheduleDocument, graph: &Graph) -> Vec<StageRow> {
    let name = |id: millstream_graph::OperatorId| graph.operator(id).name.as_str();
    let mut rows = Vec::new();
    for (index, stage) in schedule.stages.iter().enumerate() {
        for (position, replica) in stage.replicas.iter().enumerate() {
            let operators: Vec<_> = replica.operators().collect();
            let ends = operators.first().zip(operators.last());
            let predicted = document.predicted.replica(index, position);
            rows.push(StageRow {
                stage: index + 1,
                processor: replica.with_cores(),
                operators: ends.map_or(String::new(), |(&first, &last)| format!("{} .. {}", name(first), name(last))),
                operator_count: operators.len(),
                predicted_seconds: predicted.unwrap_or(f64::NAN),
                measured: None,
            });
        }
    }
    rows
}
