//! The runs of several networks at once, as people read them.

use millstream::{NetworkOutcome, Scheduled, rounds_hertz};
use millstream_report::{Align, Table, milliseconds, percent};

use crate::output;

use super::table::{all_frames, operator_table};

pub(super) fn print(set: &[Scheduled], outcomes: &[NetworkOutcome]) {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("frames", Align::Right),
        ("frames/s", Align::Right),
        ("predicted", Align::Right),
        ("error", Align::Right),
        ("latency ms", Align::Right),
        ("alone, predicted", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    let reports = || outcomes.iter().map(|outcome| &outcome.report);
    for report in reports() {
        let period = report.measured_period_seconds.unwrap_or(f64::NAN);
        table.row([
            report.network.clone(),
            report.configuration.clone(),
            report.frames.to_string(),
            format!("{:.1}", 1.0 / period),
            format!("{:.1}", 1.0 / report.predicted_period_seconds),
            percent(report.predicted_period_seconds / period - 1.0),
            milliseconds(report.measured_latency_seconds),
            milliseconds(report.predicted_latency_seconds),
            report.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    output::line(table);
    let periods = reports().zip(set).filter_map(|(report, own)| Some((report.measured_period_seconds?, own.weight)));
    output::line(format!("\nRounds:  {:.2} a second measured", rounds_hertz(periods)));
    let largest = reports().map(|report| report.largest_difference).fold(0.0, f64::max);
    let frames: usize = reports().map(|report| report.frames).sum();
    output::line(format!(
        "Results: {frames} frames checked against sequential inference, largest difference {largest:.1e} of the largest element"
    ));
    for report in reports() {
        for warning in &report.warnings {
            output::line(format!("Warning: {}: {warning}", report.network));
        }
        if report.failed_frames > 0 {
            let (failed, all) = (report.failed_frames, all_frames(report));
            output::line(format!("Failed:  {failed} of {all} frames of {} have no results", report.network));
        }
        if let Some(missed @ 1..) = report.missed_deadlines {
            let (all, network) = (all_frames(report), &report.network);
            output::line(format!(
                "Missed:  {missed} of {all} frames of {network} came after the deadline, or not at all"
            ));
        }
        if !report.operators.is_empty() {
            output::line(format!("\nOperators of {}, longest first, each stage by itself:\n", report.network));
            output::line(operator_table(&report.operators));
        }
    }
}
