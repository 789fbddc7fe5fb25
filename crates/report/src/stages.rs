//! The table of a schedule's stages, and of what a run showed of them.

use millstream_graph::Graph;
use millstream_schedule::{Schedule, ScheduleDocument, StageId};

use crate::align::Align;
use crate::difference::beside;
use crate::duration::milliseconds;
use crate::table::Table;

/// One replica of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRow {
    /// The stage.
    pub stage: StageId,
    /// What it runs on, such as `B2 (cores 4 5)`.
    pub processor: String,
    /// First and last operator.
    pub operators: String,
    /// Number of operators.
    pub operator_count: usize,
    /// Time per frame that the schedule's file says: predicted from costs, or measured in a trial.
    pub expected_seconds: f64,
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

/// One row per replica: what it has to do, and what that should take, or how many frames it had and how long they
/// waited for it.
pub fn stage_table(rows: &[StageRow]) -> Table {
    let is_measured = rows.iter().any(|row| row.measured.is_some());
    let mut columns = vec![("stage", Align::Right), ("processor", Align::Left), ("operators", Align::Left)];
    if is_measured {
        columns.extend([("frames", Align::Right), ("waited ms", Align::Right)]);
    } else {
        columns.push(("expected ms", Align::Right));
    }
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = vec![row.stage.to_string(), row.processor.clone(), operators(row)];
        if is_measured {
            cells.extend([
                measured(row, |stage| stage.frames.to_string()),
                measured(row, |stage| milliseconds(stage.queue_wait_seconds)),
            ]);
        } else {
            cells.push(milliseconds(row.expected_seconds));
        }
        table.row(cells);
    }
    table
}

/// One row per replica: its time for a frame beside the expected one.
pub fn measured_table(rows: &[StageRow]) -> Table {
    let mut table = Table::new([
        ("stage", Align::Right),
        ("processor", Align::Left),
        ("measured ms", Align::Right),
        ("expected ms", Align::Right),
        ("difference", Align::Right),
        ("busy", Align::Right),
    ]);
    for row in rows {
        table.row([
            row.stage.to_string(),
            row.processor.clone(),
            measured(row, |stage| milliseconds(stage.seconds)),
            milliseconds(row.expected_seconds),
            measured(row, |stage| beside(stage.seconds, row.expected_seconds)),
            measured(row, |stage| format!("{:.0} %", stage.utilisation * 100.0)),
        ]);
    }
    table
}

fn measured(row: &StageRow, text: impl Fn(&MeasuredStage) -> String) -> String {
    row.measured.as_ref().map_or("-".to_owned(), text)
}

fn operators(row: &StageRow) -> String {
    format!("{} ({})", row.operators, row.operator_count)
}

/// One row per replica, without measurements.
pub fn stage_rows(schedule: &Schedule, document: &ScheduleDocument, graph: &Graph) -> Vec<StageRow> {
    let name = |id: millstream_graph::OperatorId| graph.operator(id).name.as_str();
    let mut rows = Vec::new();
    for (id, stage) in schedule.numbered_stages() {
        for (position, replica) in stage.replicas.iter().enumerate() {
            let operators: Vec<_> = replica.operators().collect();
            let ends = operators.first().zip(operators.last());
            let predicted = document.predicted.replica(id, position);
            rows.push(StageRow {
                stage: id,
                processor: replica.with_cores(),
                operators: ends.map_or(String::new(), |(&first, &last)| format!("{} .. {}", name(first), name(last))),
                operator_count: operators.len(),
                expected_seconds: predicted.unwrap_or(f64::NAN),
                measured: None,
            });
        }
    }
    rows
}
