//! A run's report as a page.

use millstream::{NetworkOutcome, NetworkRun, Scheduled};
use millstream_report::{
    Fact, Number, Part, ReportChapter, ReportSection, Tone, bound_text, decision_facts, joules, measured_table,
    milliseconds, network_drawing, stage_table, than_expected,
};

use super::facts::{energy, latency_in_words, rates, results, throughput_in_words, troubles};
use super::table::{headline, operator_table, rows};
use super::watched::Watched;

/// A measurement that is further than this from its prediction is worth a look.
const NOTABLE: f64 = 0.1;

/// What there is to tell of one network.
pub(super) fn chapter(scheduled: &Scheduled, outcome: &NetworkOutcome, watched: &Watched) -> ReportChapter {
    let (run, takes_turns) = (&outcome.report, scheduled.takes_turns);
    let stage_rows = rows(scheduled, outcome);
    let mut stages = vec![Part::Table(stage_table(&stage_rows))];
    if stage_rows.iter().any(|row| row.measured.is_some()) {
        stages.push(Part::Table(measured_table(&stage_rows)));
    }

    let bound = bound_text(&outcome.document, None, None, false);
    let drawing = network_drawing(scheduled.network.graph(), &outcome.schedule);
    let mut energy_parts: Vec<Part> = energy(run).into_iter().map(|fact| Part::Facts(vec![fact])).collect();
    if energy_parts.is_empty() {
        let text = "This machine has no power sensors that can be read, and its board file states no power.";
        energy_parts.push(Part::Text(text.to_owned()));
    }
    let operators = match run.operators.as_slice() {
        [] => Vec::new(),
        operators => {
            vec![Part::Text("Longest first, each stage by itself.".to_owned()), Part::Table(operator_table(operators))]
        }
    };

    let sections = vec![
        ReportSection::new(
            "What was measured",
            vec![Part::Numbers(numbers(run, takes_turns)), Part::Facts(measured_facts(run, takes_turns))],
        ),
        ReportSection::new(
            "What was decided, and why",
            vec![Part::Facts(decision_facts(&outcome.document, &bound, &[]))],
        ),
        ReportSection::new("What was disturbed", vec![Part::Facts(disturbances(run))]),
        ReportSection::new("Stages", stages),
        ReportSection::new("Frames on their processors", drawn(watched.gantt(&scheduled.schedule))),
        ReportSection::new("Times of the frames", drawn(watched.course(&levels(run)))),
        ReportSection::new("Energy", energy_parts),
        ReportSection::new("Operators", operators),
        ReportSection::new("The network and its stages", vec![Part::Drawing(drawing)]),
    ];
    ReportChapter { title: headline(scheduled, outcome), sections }
}

fn drawn(drawing: Option<millstream_report::Drawing>) -> Vec<Part> {
    match drawing {
        Some(drawing) => vec![Part::Drawing(drawing)],
        None => vec![Part::Text("There were too few frames to draw.".to_owned())],
    }
}

fn measured_facts(run: &NetworkRun, takes_turns: bool) -> Vec<Fact> {
    rates(run, takes_turns).into_iter().chain(results(run)).collect()
}

fn levels(run: &NetworkRun) -> Vec<(&'static str, f64)> {
    let deadline = run.deadline_seconds.map(|seconds| ("deadline", seconds));
    [("p50", run.latency.p50_seconds), ("p99", run.latency.p99_seconds)].into_iter().chain(deadline).collect()
}

fn numbers(run: &NetworkRun, takes_turns: bool) -> Vec<Number> {
    let number = |label: &str, value: String, remark: String, tone: Tone| Number {
        label: label.to_owned(),
        value,
        remark,
        tone,
    };
    let tone = |measured: f64, predicted: f64| match measured / predicted - 1.0 {
        far if far.abs() > NOTABLE => Tone::Warning,
        _ => Tone::Plain,
    };

    let mut numbers = Vec::new();
    if let Some(period) = run.measured_period_seconds {
        let words = match run.frames_per_second_offered {
            Some(offered) => (format!("of {offered:.1} that arrived"), Tone::Plain),
            None => (than_expected(&throughput_in_words(run, period)), tone(period, run.predicted_period_seconds)),
        };
        numbers.push(number("frames per second", format!("{:.1}", 1.0 / period), words.0, words.1));
    }
    if run.frames > 0 {
        let (measured, predicted) = (run.measured_latency_seconds, run.predicted_latency_seconds);
        let (words, tone) = if takes_turns {
            (format!("{} expected alone", milliseconds(predicted)), Tone::Plain)
        } else {
            (than_expected(&latency_in_words(run)), tone(measured, predicted))
        };
        numbers.push(number("through the stages", format!("{} ms", milliseconds(measured)), words, tone));

        let latency = run.latency;
        for (label, seconds, remark) in [
            ("p50", latency.p50_seconds, "half of the frames took no longer"),
            ("p90", latency.p90_seconds, "nine in ten"),
            ("p99", latency.p99_seconds, "99 in 100"),
            ("longest", latency.max_seconds, "with queues and order"),
        ] {
            numbers.push(number(label, format!("{} ms", milliseconds(seconds)), remark.to_owned(), Tone::Plain));
        }
    }

    if let Some(measured) = run.measured_joules_per_frame {
        numbers.push(number(
            "energy of a frame",
            format!("{} J", joules(measured)),
            "measured".to_owned(),
            Tone::Plain,
        ));
    }
    numbers
}

/// Whatever stood in the way, or that nothing did.
fn disturbances(run: &NetworkRun) -> Vec<Fact> {
    let mut facts = troubles(run);
    facts.extend(run.adaptations.iter().map(|adaptation| Fact::new("Adapted", format!("after {}", adaptation.text))));
    facts.extend(run.warnings.iter().map(|warning| Fact::warning("Warning", warning)));
    if !facts.iter().any(|fact| fact.tone == Tone::Warning || fact.tone == Tone::Bad) {
        let others = match run.others_cores {
            Some(cores) => format!("; other programs used {cores:.2} cores meanwhile"),
            None => "; the system does not tell what other programs used".to_owned(),
        };
        facts.insert(0, Fact::new("Nothing", format!("no frame was dropped or failed, no replica was lost{others}")));
    }
    facts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::{Value, json};

    use super::*;

    /// A run with more of what a report may have.
    fn run(more: &Value) -> NetworkRun {
        let mut report = json!({
            "network": "net", "configuration": "B1-s1", "frames": 10, "different_frames": 4, "has_own_frames": false, "dropped_frames": 0,
            "predicted_period_seconds": 0.010, "measured_period_seconds": 0.008, "predicted_latency_seconds": 0.020,
            "measured_latency_seconds": 0.021,
            "latency": { "p50_seconds": 0.031, "p90_seconds": 0.032, "p99_seconds": 0.033, "max_seconds": 0.034 },
            "largest_difference": 0.0, "checked_frames": 10, "stages": [], "adaptations": [], "warnings": [],
        });
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_report() {
        let run = run(&json!({ "measured_joules_per_frame": 1.5 }));
        let shown: Vec<(String, String, Tone)> =
            numbers(&run, false).into_iter().map(|fact| (fact.label, fact.value, fact.tone)).collect();
        let expected = [
            ("frames per second", "125.0", Tone::Warning),
            ("through the stages", "21.0 ms", Tone::Plain),
            ("p50", "31.0 ms", Tone::Plain),
            ("p90", "32.0 ms", Tone::Plain),
            ("p99", "33.0 ms", Tone::Plain),
            ("longest", "34.0 ms", Tone::Plain),
            ("energy of a frame", "1.500 J", Tone::Plain),
        ];
        assert_eq!(shown, expected.map(|(label, value, tone)| (label.to_owned(), value.to_owned(), tone)));
        let remarks: Vec<String> = numbers(&run, false).into_iter().map(|fact| fact.remark).collect();
        assert!(remarks[0].contains("25.0 % faster") && remarks[1].contains("5.0 % slower"), "{remarks:?}");
    }

    #[test]
    fn lines_are_where_their_percentiles_are() {
        assert_eq!(levels(&run(&json!({}))), [("p50", 0.031), ("p99", 0.033)]);
        let late = levels(&run(&json!({ "deadline_seconds": 0.05 })));
        assert_eq!(late.last(), Some(&("deadline", 0.05)));
    }

    #[test]
    fn what_was_measured_of_energy_is_not_what_was_predicted() {
        let both = json!({ "measured_joules_per_frame": 1.5, "predicted_joules_per_frame": 1.25 });
        let text = energy(&run(&both)).map(|fact| fact.text);
        assert_eq!(text.as_deref(), Some("1.500 J per frame (0.67 frames/J) measured, 1.250 J predicted"));
    }

    #[test]
    fn the_rate_of_a_camera_stands_beside_what_arrived() {
        let numbers = numbers(&run(&json!({ "frames_per_second_offered": 130.0 })), false);
        assert_eq!((numbers[0].remark.as_str(), numbers[0].tone), ("of 130.0 that arrived", Tone::Plain));
    }

    #[test]
    fn whatever_went_wrong_is_told() {
        let quiet = disturbances(&run(&json!({ "others_cores": 0.04 })));
        assert_eq!((quiet.len(), quiet[0].label.as_str()), (1, "Nothing"), "{quiet:?}");
        assert!(quiet[0].text.contains("0.04 cores"), "{quiet:?}");

        let more = json!({ "warnings": ["core 1 is slow"], "failed_frames": 3, "dropped_frames": 2 });
        let told: Vec<String> = disturbances(&run(&more)).iter().map(|fact| fact.to_string()).collect();
        for part in ["core 1 is slow", "3", "2"] {
            assert!(told.iter().any(|fact| fact.contains(part)), "{part}: {told:?}");
        }
        assert!(!told.iter().any(|fact| fact.starts_with("Nothing")), "{told:?}");
    }
}
