//! A run's report as people read it.

use millstream::{NetworkOutcome, OperatorReport, Scheduled};
use millstream_report::{Align, MeasuredStage, StageRow, Table, measured_table, milliseconds, stage_rows, stage_table};

use super::facts::facts;
use crate::output;

/// Operators that are shown.
const MOST_OPERATORS: usize = 20;

pub(super) fn print(scheduled: &Scheduled, outcome: &NetworkOutcome) {
    let run = &outcome.report;
    output::line(format!("{}\n", headline(scheduled, outcome)));
    let rows = rows(scheduled, outcome);
    output::table(&stage_table(&rows));
    // Without any frame, there is nothing to set beside what was predicted.
    if rows.iter().any(|row| row.measured.is_some()) {
        output::line("");
        output::table(&measured_table(&rows));
    }
    output::line("");
    output::facts(&facts(run));
    if !run.operators.is_empty() {
        output::line("\nOperators, longest first, each stage by itself:\n");
        output::table(&operator_table(&run.operators));
    }
}

/// How many frames went through what.
pub(super) fn headline(scheduled: &Scheduled, outcome: &NetworkOutcome) -> String {
    let (sizes, run) = (scheduled.network.sizes(), &outcome.report);
    let sizes = if sizes.is_empty() { sizes } else { format!(" ({sizes})") };
    format!("{}{sizes}: {} frames through {}", run.network, run.frames, run.configuration)
}

/// One row per replica of the schedule that was at work at the end.
pub(super) fn rows(scheduled: &Scheduled, outcome: &NetworkOutcome) -> Vec<StageRow> {
    let mut rows = stage_rows(&outcome.schedule, &outcome.document, scheduled.network.graph());
    // A replica that no frame came to has nothing to show.
    for (row, stage) in rows.iter_mut().zip(&outcome.report.stages).filter(|(_, stage)| stage.frames > 0) {
        row.measured = Some(MeasuredStage {
            seconds: stage.measured_seconds,
            frames: stage.frames,
            queue_wait_seconds: stage.queue_wait_seconds,
            utilisation: stage.utilisation,
        });
    }
    rows
}

pub(super) fn operator_table(operators: &[OperatorReport]) -> Table {
    let mut longest: Vec<&OperatorReport> = operators.iter().collect();
    longest.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let mut table = Table::new([
        ("stage", Align::Right),
        ("processor", Align::Left),
        ("operators that run as one", Align::Left),
        ("type", Align::Left),
        ("ms", Align::Right),
        ("of stage", Align::Right),
    ]);
    for operator in longest.into_iter().take(MOST_OPERATORS) {
        let more = operator.operators.len().saturating_sub(1);
        let first = operator.operators.first().map_or("", String::as_str);
        table.row([
            operator.stage.to_string(),
            operator.processor.clone(),
            if more > 0 { format!("{first} and {more} more") } else { first.to_owned() },
            operator.op_type.clone(),
            milliseconds(operator.seconds),
            format!("{:.1} %", 100.0 * operator.share),
        ]);
    }
    table
}
