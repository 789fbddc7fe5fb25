//! The runs of several networks at once, as people read them.

use std::collections::BTreeSet;

use millstream::{NetworkOutcome, NetworkRun, Scheduled, rounds_hertz};
use millstream_report::{Align, Fact, Table, milliseconds, rate_beside};

use crate::output;

use super::facts::{all_frames, by_engine};
use super::table::operator_table;

pub(super) fn print(set: &[Scheduled], outcomes: &[NetworkOutcome]) {
    let reports = || outcomes.iter().map(|outcome| &outcome.report);
    output::table(&rates_table(reports()));
    output::line("");
    output::table(&latency_table(reports()));
    output::line("");

    let periods =
        reports().zip(set).filter_map(|(report, scheduled)| Some((report.measured_period_seconds?, scheduled.weight)));
    output::fact(&Fact::new("Rounds", format!("{:.2} a second measured", rounds_hertz(periods))));
    let largest = reports().map(|report| report.largest_difference).fold(0.0, f64::max);
    let frames: usize = reports().map(|report| report.frames).sum();
    let engines: BTreeSet<String> = reports().map(by_engine).collect();
    let engine = engines.into_iter().collect::<Vec<_>>().join(" or");
    let checked = format!(
        "{frames} frames checked against sequential inference{engine}, largest difference {largest:.1e} of the largest element"
    );
    output::fact(&Fact::new("Results", checked));

    for report in reports() {
        for warning in &report.warnings {
            output::fact(&Fact::warning("Warning", format!("{}: {warning}", report.network)));
        }
        if report.failed_frames > 0 {
            let (failed, all) = (report.failed_frames, all_frames(report));
            output::fact(&Fact::bad(
                "Failed",
                format!("{failed} of {all} frames of {} have no results", report.network),
            ));
        }
        if let Some(missed @ 1..) = report.missed_deadlines {
            let (all, network) = (all_frames(report), &report.network);
            let text = format!("{missed} of {all} frames of {network} came after the deadline, or not at all");
            output::fact(&Fact::bad("Missed", text));
        }
        if !report.operators.is_empty() {
            output::line(format!("\nOperators of {}, longest first, each stage by itself:\n", report.network));
            output::table(&operator_table(&report.operators));
        }
    }
}

fn rates_table<'a>(reports: impl Iterator<Item = &'a NetworkRun>) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("frames", Align::Right),
        ("frames/s", Align::Right),
        ("expected", Align::Right),
        ("difference", Align::Right),
    ]);
    for report in reports {
        let period = report.measured_period_seconds.unwrap_or(f64::NAN);
        table.row([
            report.network.clone(),
            report.configuration.clone(),
            report.frames.to_string(),
            format!("{:.1}", 1.0 / period),
            format!("{:.1}", 1.0 / report.predicted_period_seconds),
            rate_beside(1.0 / period, 1.0 / report.predicted_period_seconds),
        ]);
    }
    table
}

fn latency_table<'a>(reports: impl Iterator<Item = &'a NetworkRun>) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("latency ms", Align::Right),
        ("expected alone", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for report in reports {
        table.row([
            report.network.clone(),
            milliseconds(report.measured_latency_seconds),
            milliseconds(report.predicted_latency_seconds),
            report.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    table
}
