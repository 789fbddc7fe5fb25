//! One network's contenders beside each other, as tables and facts.

use millstream::{ContenderReport, NetworkContest};
use millstream_report::{Align, Fact, Table, beside, milliseconds, rate_beside, than_expected};

/// What passed, and how much more ours did.
pub(super) fn rates(report: &NetworkContest) -> Table {
    let mut table = Table::new([
        ("contender", Align::Left),
        ("frames/s", Align::Right),
        ("p25 - p75", Align::Right),
        ("ours is", Align::Right),
    ]);
    let ours = report.contenders.first();
    for contender in &report.contenders {
        table.row([
            contender.name.clone(),
            format!("{:.1}", contender.frames_per_second),
            format!("{:.1} - {:.1}", contender.frames_per_second_p25, contender.frames_per_second_p75),
            ours.map_or(String::new(), |ours| over(ours, contender)),
        ]);
    }
    table
}

/// What everybody runs on, and how long a frame takes there, beside our schedule for latency, the last of ours.
pub(super) fn times(report: &NetworkContest) -> Table {
    let mut table = Table::new([
        ("contender", Align::Left),
        ("processors", Align::Left),
        ("frame ms", Align::Right),
        ("p25 - p75", Align::Right),
        ("ours is", Align::Right),
        ("worst ms", Align::Right),
    ]);
    let ours = report.contenders.iter().rev().find(|contender| contender.rival.is_none());
    for contender in &report.contenders {
        let (p25, p75) = (contender.frame_seconds_p25, contender.frame_seconds_p75);
        table.row([
            contender.name.clone(),
            contender.configuration.clone(),
            milliseconds(contender.median_frame_seconds),
            format!("{} - {}", milliseconds(p25), milliseconds(p75)),
            ours.map_or(String::new(), |ours| quicker_than(ours, contender)),
            milliseconds(contender.worst_frame_seconds),
        ]);
    }
    table
}

/// What to know when reading these: signs, order, predictions, disturbance.
pub(super) fn notes(report: &NetworkContest) -> Vec<Fact> {
    let mut facts = Vec::new();
    let Some(ours) = report.contenders.first() else { return facts };
    facts.push(Fact::new("Ours is", "the median over the rounds of each round's ratio, not the ratio of the medians"));
    if report.contenders.iter().skip(1).any(|contender| ours.is_within_noise_of(contender)) {
        let text = match ours.rounds.len() {
            0..6 => "fewer than six rounds tell no difference from noise with 95 %",
            _ => "too small a difference for these rounds to tell (95 % interval of the median of their ratios)",
        };
        facts.push(Fact::new("Marked =", text));
    }
    let unordered: Vec<&str> = report
        .contenders
        .iter()
        .filter(|contender| !contender.in_order)
        .map(|contender| contender.name.as_str())
        .collect();
    if !unordered.is_empty() {
        facts.push(Fact::new("Order", format!("kept by all but {}", unordered.join("; "))));
    }
    if let Some(alone) = report.contenders.iter().find(|contender| contender.is_one_at_a_time) {
        facts.push(Fact::new("One frame", format!("{} starts a frame when the last one is done", alone.name)));
    }
    facts.extend(report.contenders.iter().filter_map(prediction));

    if let Some(disturbed) = disturbed(&report.contenders) {
        let text = format!(
            "also when repeated: {disturbed}; other programs used more than a tenth of a core, or clocks were lowered \
             because of heat"
        );
        facts.push(Fact::warning("Disturbed", text));
    }
    facts
}

/// How one of our schedules came out beside what its file says.
fn prediction(contender: &ContenderReport) -> Option<Fact> {
    let rate = rate_beside(contender.frames_per_second, 1.0 / contender.predicted_period_seconds?);
    let latency = beside(contender.measured_latency_seconds?, contender.predicted_latency_seconds?);
    let (rate, latency) = (than_expected(&rate), than_expected(&latency));
    Some(Fact::new("Expected", format!("{}: frames per second {rate}, latency {latency}", contender.name)))
}

/// Which rounds of which contenders stayed disturbed; `None` if none did.
fn disturbed(contenders: &[ContenderReport]) -> Option<String> {
    let rounds =
        |contender: &ContenderReport| format!("{} of {} rounds", contender.disturbed_rounds, contender.rounds.len());
    let concerned: Vec<&ContenderReport> =
        contenders.iter().filter(|contender| contender.disturbed_rounds > 0).collect();
    let first = concerned.first()?;
    let is_same = contenders.iter().all(|contender| contender.disturbed_rounds == first.disturbed_rounds);
    Some(if is_same {
        format!("{} of every contender", rounds(first))
    } else {
        concerned
            .iter()
            .map(|contender| format!("{} of '{}'", rounds(contender), contender.name))
            .collect::<Vec<_>>()
            .join(", ")
    })
}

/// How many times as many frames ours passed, and whether that is more than noise.
pub(super) fn over(ours: &ContenderReport, other: &ContenderReport) -> String {
    let is_noise = !std::ptr::eq(ours, other) && ours.is_within_noise_of(other);
    marked(ours.frames_over(other), is_noise)
}

/// How many times as long a frame takes there as with ours, and whether that is more than noise.
pub(super) fn quicker_than(ours: &ContenderReport, other: &ContenderReport) -> String {
    let is_noise = !std::ptr::eq(ours, other) && ours.frames_are_within_noise_of(other);
    marked(other.frame_time_over(ours), is_noise)
}

/// The one that passed most frames beside ours, round by round.
pub(super) fn of_most_frames<'a>(
    ours: &ContenderReport,
    rivals: impl Iterator<Item = &'a ContenderReport>,
) -> Option<&'a ContenderReport> {
    rivals.min_by(|one, other| ours.frames_over(one).total_cmp(&ours.frames_over(other)))
}

/// The one that took the least time for a frame beside ours, round by round.
pub(super) fn of_quickest_frames<'a>(
    ours: &ContenderReport,
    rivals: impl Iterator<Item = &'a ContenderReport>,
) -> Option<&'a ContenderReport> {
    rivals.min_by(|one, other| one.frame_time_over(ours).total_cmp(&other.frame_time_over(ours)))
}

/// A ratio, with a sign where it is no more than noise.
fn marked(ratio: f64, is_noise: bool) -> String {
    format!("{ratio:.2}x{}", if is_noise { " =" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::contender;
    use super::*;

    #[test]
    fn it_is_said_where_a_pipeline_takes_one_frame_at_a_time() {
        let mut alone = contender("millstream for latency", None, 200.0, 0.005);
        let said = |alone: &ContenderReport| {
            let contenders = vec![alone.clone()];
            let facts = notes(&NetworkContest { network: "net".to_owned(), contenders });
            facts.iter().any(|fact| fact.text == "millstream for latency starts a frame when the last one is done")
        };
        assert!(!said(&alone));
        alone.is_one_at_a_time = true;
        assert!(said(&alone));
    }
}
