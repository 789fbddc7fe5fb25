//! A comparison as a part of a page.

use millstream::{ContenderReport, Network, NetworkContest};
use millstream_report::{
    ContestBar, Fact, Number, Part, ReportChapter, ReportSection, Tone, contest_drawing, in_words, milliseconds,
    network_drawing,
};

use super::tables::{notes, of_most_frames, of_quickest_frames, rates, times};

const LEGEND: [&str; 2] = ["our schedules", "plain ONNX Runtime and OpenVINO"];

/// What there is to tell of one network.
pub(super) fn chapter(network: &Network, report: &NetworkContest, conditions: &str) -> ReportChapter {
    let rate_bar = |contender: &ContenderReport| {
        let text = format!("{:.1}", contender.frames_per_second);
        bar(contender, contender.frames_per_second, text, contender.rounds.clone())
    };
    let time_bar = |contender: &ContenderReport| {
        bar(contender, 1e3 * contender.median_frame_seconds, milliseconds(contender.median_frame_seconds), Vec::new())
    };
    let rate_bars: Vec<ContestBar> = report.contenders.iter().map(rate_bar).collect();
    let time_bars: Vec<ContestBar> = report.contenders.iter().map(time_bar).collect();
    let rate_caption = "Frames per second, longer is better: bars for the median over the rounds, dots for each round.";
    let time_caption =
        "Milliseconds from the start of work on a frame to its result, in the median: shorter is better.";
    let drawn = |bars: &[ContestBar], caption: &str| contest_drawing(bars, caption, LEGEND).map(Part::Drawing);

    let mut sections = vec![
        ReportSection::new(
            "What was measured",
            vec![Part::Numbers(numbers(report)), Part::Facts(facts(report, conditions))],
        ),
        ReportSection::new(
            "Frames per second",
            drawn(&rate_bars, rate_caption).into_iter().chain([Part::Table(rates(report))]).collect(),
        ),
        ReportSection::new(
            "Time of a frame",
            drawn(&time_bars, time_caption).into_iter().chain([Part::Table(times(report))]).collect(),
        ),
    ];

    for contender in &report.contenders {
        if let Some(schedule) = &contender.schedule {
            let title = format!("The network in '{}', {}", contender.name, contender.configuration);
            let drawing = Part::Drawing(network_drawing(network.graph(), schedule));
            sections.push(ReportSection::new(title, vec![drawing]));
        }
    }
    ReportChapter { title: format!("{}, {conditions}", report.network), sections }
}

fn bar(contender: &ContenderReport, value: f64, text: String, rounds: Vec<f64>) -> ContestBar {
    let order = if contender.in_order { "" } else { " (order not kept)" };
    ContestBar { name: format!("{}{order}", contender.name), is_ours: contender.rival.is_none(), value, text, rounds }
}

fn facts(report: &NetworkContest, conditions: &str) -> Vec<Fact> {
    let rounds = report.contenders.first().map_or(0, |contender| contender.rounds.len());
    let mut facts = vec![
        Fact::new("Conditions", conditions),
        Fact::new("Rounds", format!("{rounds}, in which all took turns; numbers, ratios too, are medians over them")),
    ];
    let notes = notes(report);
    let is_disturbed = notes.iter().any(|note| note.tone == Tone::Warning);
    facts.extend(notes);
    if !is_disturbed {
        let text = "no round, as far as the system tells what other programs used and how hot it is";
        facts.push(Fact::new("Disturbed", text));
    }
    facts
}

/// Ours beside the best of the others, in what each of ours is for.
fn numbers(report: &NetworkContest) -> Vec<Number> {
    let rivals = || report.contenders.iter().filter(|contender| contender.rival.is_some());
    let ours = || report.contenders.iter().filter(|contender| contender.rival.is_none());
    let best_rate =
        |one: &&ContenderReport, other: &&ContenderReport| one.frames_per_second.total_cmp(&other.frames_per_second);
    let best_time = |one: &&ContenderReport, other: &&ContenderReport| {
        one.median_frame_seconds.total_cmp(&other.median_frame_seconds)
    };

    let mut numbers = Vec::new();
    let beside = |ours| Some((ours, of_most_frames(ours, rivals())?));
    if let Some((contender, rival)) = ours().max_by(best_rate).and_then(beside) {
        let ratio = contender.frames_over(rival);
        let difference = in_words(ratio - 1.0, ["more", "fewer"]);
        let is_noise = contender.is_within_noise_of(rival);
        numbers.push(Number {
            label: "our most frames per second".to_owned(),
            value: format!("{:.1}", contender.frames_per_second),
            remark: beside_rival(&difference, rival, is_noise),
            tone: tone(ratio > 1.0, is_noise),
        });
    }
    let beside = |ours| Some((ours, of_quickest_frames(ours, rivals())?));
    if let Some((contender, rival)) = ours().min_by(best_time).and_then(beside) {
        let difference = in_words(contender.frame_time_over(rival) - 1.0, ["longer", "shorter"]);
        numbers.push(Number {
            label: "our shortest time of a frame".to_owned(),
            value: format!("{} ms", milliseconds(contender.median_frame_seconds)),
            remark: beside_rival(&difference, rival, false),
            tone: Tone::Plain,
        });
    }
    numbers
}

fn beside_rival(difference: &str, rival: &ContenderReport, is_noise: bool) -> String {
    let noise = if is_noise { ", which these rounds can't tell from noise" } else { "" };
    match difference {
        "the same" => format!("the same as the best rival's, {}", rival.name),
        other => format!("{other} than the best rival's, {}{noise}", rival.name),
    }
}

fn tone(is_better: bool, is_noise: bool) -> Tone {
    match (is_noise, is_better) {
        (true, _) => Tone::Plain,
        (false, true) => Tone::Good,
        (false, false) => Tone::Warning,
    }
}

#[cfg(test)]
mod tests {
    use millstream::EngineName;

    use super::super::summary::tests::contender;
    use super::*;

    #[test]
    fn our_best_stands_beside_the_best_rival() {
        let engine = Some(EngineName::OnnxRuntime);
        let mut contenders = vec![
            contender("ours for throughput", None, 60.0, 0.040),
            contender("ours for latency", None, 50.0, 0.020),
            contender("all cores", engine, 40.0, 0.016),
            contender("an instance per core", engine, 48.0, 0.050),
        ];
        // Enough rounds for the difference to be told.
        contenders.iter_mut().for_each(|contender| contender.rounds = vec![contender.frames_per_second; 12]);
        let shown = numbers(&NetworkContest { network: "net".to_owned(), contenders });
        let [rate, time] = shown.as_slice() else { panic!("{shown:?}") };
        assert_eq!((rate.value.as_str(), rate.tone), ("60.0", Tone::Good));
        assert_eq!(rate.remark, "25.0 % more than the best rival's, an instance per core");
        assert_eq!((time.value.as_str(), time.tone), ("20.0 ms", Tone::Plain));
        assert_eq!(time.remark, "25.0 % longer than the best rival's, all cores");
    }

    #[test]
    fn only_what_rounds_can_tell_is_good_or_bad() {
        assert_eq!(
            [(true, false), (false, false)].map(|(is_better, is_noise)| tone(is_better, is_noise)),
            [Tone::Good, Tone::Warning]
        );
        assert_eq!([true, false].map(|is_better| tone(is_better, true)), [Tone::Plain; 2]);
    }
}
