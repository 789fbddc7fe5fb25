//! What a run showed, fact by fact.

use millstream::{NetworkRun, Throttling};
use millstream_report::{Fact, Tone, beside, counted, joules, milliseconds, rate_beside, than_expected};

/// All facts, in the order in which they are printed.
pub(super) fn facts(run: &NetworkRun) -> Vec<Fact> {
    let mut facts = rates(run, false);
    facts.extend(troubles(run));
    facts.extend(energy(run));
    facts.extend(results(run));
    let adapted = run.adaptations.iter().map(|adaptation| Fact::new("Adapted", format!("after {}", adaptation.text)));
    facts.extend(adapted);
    facts.extend(run.warnings.iter().map(|warning| Fact::warning("Warning", warning)));
    facts
}

/// How many frames passed, and how long they took, maybe on processors that other networks used in turn.
pub(super) fn rates(run: &NetworkRun, takes_turns: bool) -> Vec<Fact> {
    let rate = |period: f64| 1.0 / period;
    let mut facts = Vec::new();
    match (run.measured_period_seconds, run.frames_per_second_offered) {
        (Some(period), None) => facts.push(Fact::new(
            "Throughput",
            format!(
                "{:.1} frames/s measured, {:.1} expected: {}",
                rate(period),
                rate(run.predicted_period_seconds),
                than_expected(&throughput_in_words(run, period))
            ),
        )),
        (Some(period), Some(offered)) => facts.push(Fact::new(
            "Throughput",
            format!(
                "{:.1} frames/s measured of {offered:.1} that arrived; {:.1} expected if a frame is always waiting",
                rate(period),
                rate(run.predicted_period_seconds)
            ),
        )),
        (None, _) => {}
    }
    if run.frames > 0 {
        facts.extend(latency(run, takes_turns));
    }
    let start_up = |seconds| Fact::new("Start-up", format!("{seconds:.2} s until the first frame was through"));
    facts.extend(run.start_up_seconds.map(start_up));
    facts
}

/// The measured rate beside the expected one.
pub(super) fn throughput_in_words(run: &NetworkRun, measured_period: f64) -> String {
    rate_beside(1.0 / measured_period, 1.0 / run.predicted_period_seconds)
}

/// The measured latency beside the expected one.
pub(super) fn latency_in_words(run: &NetworkRun) -> String {
    beside(run.measured_latency_seconds, run.predicted_latency_seconds)
}

fn latency(run: &NetworkRun, takes_turns: bool) -> [Fact; 2] {
    let stages = format!(
        "{} ms measured, {} expected{}",
        milliseconds(run.measured_latency_seconds),
        milliseconds(run.predicted_latency_seconds),
        if takes_turns {
            " where no other network uses the processors in between".to_owned()
        } else {
            format!(": {}", than_expected(&latency_in_words(run)))
        }
    );
    let latency = run.latency;
    let frames = format!(
        "with queues and order: p50 {}, p90 {}, p99 {}, max {} ms",
        milliseconds(latency.p50_seconds),
        milliseconds(latency.p90_seconds),
        milliseconds(latency.p99_seconds),
        milliseconds(latency.max_seconds)
    );
    [Fact::new("Latency", stages), Fact::new("", frames)]
}

/// What disturbed the run, and what did not go as it should.
pub(super) fn troubles(run: &NetworkRun) -> Vec<Fact> {
    let all = all_frames(run);
    let mut facts = Vec::new();
    if let Some(by) = run.disturbance() {
        facts.push(Fact::warning("Disturbed", format!("{by} while frames flowed")));
    }
    if let Some(Throttling { quota_cores, waited_fraction }) = run.throttling {
        let text =
            format!("threads waited {waited_fraction:.2} s in each second; this container may use {quota_cores} cores");
        facts.push(Fact::warning("Throttled", text));
    }

    if run.dropped_frames > 0 {
        let text = format!("{} of {all} frames came when there was no room", run.dropped_frames);
        facts.push(Fact::warning("Dropped", text));
    }
    if run.failed_frames > 0 {
        facts.push(Fact::bad("Failed", format!("{} of {all} frames have no results", run.failed_frames)));
    }
    let restarts: u64 = run.stages.iter().map(|stage| stage.restarts).sum();
    if restarts > 0 {
        facts.push(Fact::warning("Restarted", format!("lost replicas, {restarts} times")));
    }
    if let (Some(deadline), Some(missed)) = (run.deadline_seconds, run.missed_deadlines) {
        let text = format!("{missed} of {all} frames missed {} ms", milliseconds(deadline));
        let tone = if missed > 0 { Tone::Bad } else { Tone::Good };
        facts.push(Fact { tone, ..Fact::new("Deadline", text) });
    }

    facts.extend(run.missed_constraints.iter().map(|missed| Fact::bad("Missed", missed.to_string())));
    facts.extend(run.beyond_with_queues.map(|beyond| Fact::warning("Queues", beyond.to_string())));
    facts
}

pub(super) fn energy(run: &NetworkRun) -> Option<Fact> {
    let energy = |per_frame: f64| format!("{} J per frame ({:.2} frames/J)", joules(per_frame), 1.0 / per_frame);
    let text = match (run.measured_joules_per_frame, run.predicted_joules_per_frame) {
        (Some(measured), Some(predicted)) => {
            format!("{} measured, {} J predicted", energy(measured), joules(predicted))
        }
        (Some(measured), None) => format!("{} measured", energy(measured)),
        (None, Some(predicted)) => format!("{} predicted; this machine has no power sensors", energy(predicted)),
        (None, None) => return None,
    };
    Some(Fact::new("Energy", text))
}

/// What computed the sequential inference, if it was not ONNX Runtime.
pub(crate) fn by_engine(run: &NetworkRun) -> String {
    let engine = run.reference_engine;
    if engine.is_default() { String::new() } else { format!(" by {}", engine.title()) }
}

/// With those that have no results.
pub(super) fn all_frames(run: &NetworkRun) -> u64 {
    run.frames as u64 + run.failed_frames + run.dropped_frames
}

pub(super) fn results(run: &NetworkRun) -> Vec<Fact> {
    let origin = if run.has_own_frames { "given" } else { "made up" };
    let different = match run.different_frames {
        1 => format!("one frame, {origin}"),
        count => format!("{count} different ones, {origin}"),
    };
    let checked = format!(
        "{} checked against sequential inference{} ({different}), largest difference {:.1e} of the largest element",
        counted(run.checked_frames as u64, "frame", "frames"),
        by_engine(run),
        run.largest_difference
    );
    let mut facts = vec![Fact::new("Results", checked)];
    if let Some(expected) = &run.expected {
        let right = expected.checked_frames - expected.wrong_frames;
        let difference = match right {
            0 => String::new(),
            // Of those that are as expected; the others are told one by one.
            _ => format!(
                ", these with a largest difference of {:.1e} of the largest element",
                expected.largest_difference
            ),
        };
        let text = format!("{right} of {} frames are as in {}{difference}", expected.checked_frames, expected.path);
        let tone = if expected.wrong_frames > 0 { Tone::Bad } else { Tone::Plain };
        facts.push(Fact { tone, ..Fact::new("Expected", text) });
    }
    facts
}
