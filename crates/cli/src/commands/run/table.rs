//! A run's report as people read it.

use millstream::{NetworkOutcome, NetworkRun, OperatorReport, Scheduled, Throttling};
use millstream_report::{Align, MeasuredStage, StageRow, Table, milliseconds, percent, stage_rows, stage_table};

use crate::output;

/// Operators that are shown.
const MOST_OPERATORS: usize = 20;

pub(super) fn print(scheduled: &Scheduled, outcome: &NetworkOutcome) {
    let (network, run) = (&scheduled.network, &outcome.report);
    let sizes = network.sizes();
    let sizes = if sizes.is_empty() { sizes } else { format!(" ({sizes})") };
    output::line(format!("{}{sizes}: {} frames through {}\n", run.network, run.frames, run.configuration));
    let mut rows: Vec<StageRow> = stage_rows(&outcome.schedule, &outcome.document, network.graph());
    // A replica that no frame came to has nothing to show.
    for (row, stage) in rows.iter_mut().zip(&run.stages).filter(|(_, stage)| stage.frames > 0) {
        row.measured = Some(MeasuredStage {
            seconds: stage.measured_seconds,
            frames: stage.frames,
            queue_wait_seconds: stage.queue_wait_seconds,
            utilisation: stage.utilisation,
        });
    }
    output::line(stage_table(&rows));
    print_rates(run);
    print_results(run);
    for adaptation in &run.adaptations {
        output::line(format!("Adapted:    after {}", adaptation.text));
    }
    for warning in &run.warnings {
        output::line(format!("Warning:    {warning}"));
    }
    if !run.operators.is_empty() {
        output::line("\nOperators, longest first, each stage by itself:\n");
        output::line(operator_table(&run.operators));
    }
}

fn print_rates(run: &NetworkRun) {
    let rate = |period: f64| 1.0 / period;
    match (run.measured_period_seconds, run.frames_per_second_offered) {
        (Some(period), None) => output::line(format!(
            "\nThroughput: {:.1} frames/s measured, {:.1} predicted ({} period)",
            rate(period),
            rate(run.predicted_period_seconds),
            percent(run.predicted_period_seconds / period - 1.0)
        )),
        (Some(period), Some(offered)) => output::line(format!(
            "\nThroughput: {:.1} frames/s measured of {offered:.1} that arrived; {:.1} predicted where always another one is there",
            rate(period),
            rate(run.predicted_period_seconds)
        )),
        (None, _) => output::line(""),
    }
    if run.frames > 0 {
        print_latency(run);
    }
    if let Some(seconds) = run.start_up_seconds {
        output::line(format!("Start-up:   {seconds:.2} s until the first frame was through"));
    }
    if let Some(cores) = run.disturbance() {
        output::line(format!("Disturbed:  other programs used {cores:.1} cores while frames flowed"));
    }
    if let Some(Throttling { quota_cores, waited_fraction }) = run.throttling {
        output::line(format!(
            "Throttled:  threads waited {waited_fraction:.2} s in each second; this container may use {quota_cores} cores"
        ));
    }
    let all = all_frames(run);
    if run.dropped_frames > 0 {
        output::line(format!("Dropped:    {} of {all} frames came when there was no room", run.dropped_frames));
    }
    if run.failed_frames > 0 {
        output::line(format!("Failed:     {} of {all} frames have no results", run.failed_frames));
    }
    let restarts: u64 = run.stages.iter().map(|stage| stage.restarts).sum();
    if restarts > 0 {
        output::line(format!("Restarted:  lost replicas, {restarts} times"));
    }
    if let (Some(deadline), Some(missed)) = (run.deadline_seconds, run.missed_deadlines) {
        output::line(format!("Deadline:   {missed} of {all} frames missed {} ms", milliseconds(deadline)));
    }
    for missed in &run.missed_constraints {
        output::line(format!("Missed:     {missed}"));
    }
    let energy = |joules: f64| format!("{joules:.3} J per frame ({:.2} frames/J)", 1.0 / joules);
    match (run.measured_joules_per_frame, run.predicted_joules_per_frame) {
        (Some(measured), Some(predicted)) => {
            output::line(format!("Energy:     {} measured, {predicted:.3} J predicted", energy(measured)));
        }
        (Some(measured), None) => output::line(format!("Energy:     {} measured", energy(measured))),
        (None, Some(predicted)) => {
            output::line(format!("Energy:     {} predicted; this machine has no power sensors", energy(predicted)));
        }
        (None, None) => {}
    }
}

/// With those that have no results.
pub(super) fn all_frames(run: &NetworkRun) -> u64 {
    run.frames as u64 + run.failed_frames + run.dropped_frames
}

fn print_latency(run: &NetworkRun) {
    output::line(format!(
        "Latency:    {} ms measured, {} predicted ({})",
        milliseconds(run.measured_latency_seconds),
        milliseconds(run.predicted_latency_seconds),
        percent(run.predicted_latency_seconds / run.measured_latency_seconds - 1.0),
    ));
    let latency = run.latency;
    output::line(format!(
        "            with queues and order: p50 {}, p90 {}, p99 {}, max {} ms",
        milliseconds(latency.p50_seconds),
        milliseconds(latency.p90_seconds),
        milliseconds(latency.p99_seconds),
        milliseconds(latency.max_seconds)
    ));
}

fn print_results(run: &NetworkRun) {
    let origin = if run.has_own_frames { "given" } else { "made up" };
    let different = match run.different_frames {
        1 => format!("one frame, {origin}"),
        count => format!("{count} different ones, {origin}"),
    };
    output::line(format!(
        "Results:    {} frames checked against sequential inference ({different}), largest difference {:.1e} of the largest element",
        run.checked_frames, run.largest_difference
    ));
    if let Some(expected) = &run.expected {
        output::line(format!(
            "Expected:   {} of {} frames are as in {}, largest difference {:.1e} of the largest element",
            expected.checked_frames - expected.wrong_frames,
            expected.checked_frames,
            expected.path,
            expected.largest_difference
        ));
    }
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
    for own in longest.into_iter().take(MOST_OPERATORS) {
        let more = own.operators.len().saturating_sub(1);
        let first = own.operators.first().map_or("", String::as_str);
        table.row([
            own.stage.to_string(),
            own.processor.clone(),
            if more > 0 { format!("{first} and {more} more") } else { first.to_owned() },
            own.op_type.clone(),
            milliseconds(own.seconds),
            format!("{:.1} %", 100.0 * own.share),
        ]);
    }
    table
}
