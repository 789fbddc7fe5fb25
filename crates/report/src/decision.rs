//! What was decided for a network, and why, in words.

use millstream_schedule::{Objective, Prediction, ScheduleDocument, StatedConstraints};

use crate::difference::in_words;
use crate::duration::{milliseconds, rate};
use crate::facts::Fact;
use crate::plan::{FrontRow, chosen_row};

/// Says what a schedule is, what it was chosen for, by whom and within what, and what `bound` says of others. With a
/// front, also what was given up for it.
pub fn decision_facts(document: &ScheduleDocument, bound: &str, front: &[FrontRow]) -> Vec<Fact> {
    let predicted = &document.predicted;
    let what = match document.objective {
        Objective::Throughput => "to pass most frames per second; up to 1 % of them may go for a shorter latency",
        Objective::Latency => "to have each frame done soonest",
        Objective::Balanced => "to pass many frames per second and have each done soon",
        Objective::Energy => "to need the least energy for a frame",
    };

    let mut facts = vec![
        Fact::new("Schedule", format!("{} on {}", document.configuration, document.board.name)),
        Fact::new("Chosen", format!("{what} ({}), by {}", document.objective, document.algorithm)),
    ];
    facts.extend(limits(&document.constraints).map(|limits| Fact::new("Within", limits)));
    let (label, source) = expectation(predicted);
    facts.push(Fact::new(
        label,
        format!(
            "{} frames/s (a frame every {} ms), latency {} ms{source}",
            rate(predicted.period_seconds),
            milliseconds(predicted.period_seconds),
            milliseconds(predicted.latency_seconds)
        ),
    ));

    facts.push(Fact::new("Bound", bound));
    let chosen = chosen_row(front, document);
    let others = front.iter().enumerate().filter(|(place, _)| chosen != Some(*place)).map(|(_, row)| row);
    let of_chosen = (predicted.period_seconds, predicted.latency_seconds);
    facts.extend(others.filter(|row| !row.chosen_for.is_empty()).map(|row| instead(of_chosen, row)));
    facts
}

/// What the numbers of a schedule's file are called, and what is said behind them of where they come from.
pub fn expectation(predicted: &Prediction) -> (&'static str, &'static str) {
    if predicted.is_measured { ("Expected", ", as measured in a trial") } else { ("Predicted", "") }
}

/// What another row would have given, beside a period and a latency in seconds.
fn instead((period, latency): (f64, f64), row: &FrontRow) -> Fact {
    let rate = in_words(period / row.period_seconds - 1.0, ["more", "fewer"]);
    let latency = in_words(row.latency_seconds / latency - 1.0, ["longer", "shorter"]);
    let best = row.chosen_for.join(", ");
    Fact::new("Instead", format!("{}, best for {best}: frames per second {rate}, latency {latency}", row.configuration))
}

/// `None` if there are none.
fn limits(constraints: &StatedConstraints) -> Option<String> {
    let latency = constraints.max_latency_seconds.map(|most| format!("a latency of {} ms", milliseconds(most)));
    let rate = constraints.min_throughput_hertz.map(|least| format!("at least {least:.1} frames/s"));
    let power = constraints.max_watts.map(|most| format!("{most:.2} W"));
    let all: Vec<String> = [latency, rate, power].into_iter().flatten().collect();
    let margin = match constraints.margin {
        margin if margin > 0.0 => format!(", predicted to be better by {:.1} %", 100.0 * margin),
        _ => String::new(),
    };
    (!all.is_empty()).then(|| all.join(", ") + &margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_said_the_right_way_round() {
        let row = FrontRow {
            configuration: "B2".to_owned(),
            period_seconds: 0.02,
            latency_seconds: 0.02,
            joules_per_frame: None,
            is_measured: false,
            chosen_for: vec!["latency".to_owned()],
        };
        let text = instead((0.01, 0.04), &row).text;
        assert_eq!(text, "B2, best for latency: frames per second 50.0 % fewer, latency 50.0 % shorter");
        let text = instead((0.04, 0.01), &row).text;
        assert_eq!(text, "B2, best for latency: frames per second 100.0 % more, latency 100.0 % longer");
    }

    #[test]
    fn all_limits_are_said() {
        let constraints = StatedConstraints {
            max_latency_seconds: Some(0.02),
            min_throughput_hertz: Some(30.0),
            max_watts: Some(2.5),
            margin: 0.1,
        };
        let expected = "a latency of 20.0 ms, at least 30.0 frames/s, 2.50 W, predicted to be better by 10.0 %";
        assert_eq!(limits(&constraints).as_deref(), Some(expected));
        assert_eq!(limits(&StatedConstraints::default()), None);
    }
}
