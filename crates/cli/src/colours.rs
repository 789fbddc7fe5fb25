//! Colours where a terminal shows them, unless they are turned off (`NO_COLOR`, `TERM=dumb`).

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use millstream_report::Tone;

const LABEL: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const FRAME: Style = Style::new().dimmed();

/// The words that begin a remark that reports a failure, and of one that gives a hint.
const BAD_LABELS: [&str; 1] = ["error"];
const WARNING_LABELS: [&str; 2] = ["warning", "Warning"];
/// Longer ones are no labels but sentences with a colon.
const LONGEST_LABEL: usize = 10;

/// Whether a stream shows colours: a terminal that can, unless colours are turned off.
pub(crate) fn are_shown_by(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Text with its labels and the titles of its tables set apart, if colours are shown.
pub(crate) fn painted(text: &str, are_shown: bool) -> String {
    if !are_shown {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split('\n').collect();
    // The titles of a table may take several lines; below them is a rule.
    let rule = |line: &str| line.starts_with("|-") || line.starts_with("|:");
    let is_title = |at: usize| {
        let below = lines.iter().skip(at).take_while(|line| line.starts_with('|'));
        let is_first = |from: usize| from == 0 || !lines[from - 1].starts_with('|');
        let top = (0..=at).rev().find(|from| is_first(*from)).unwrap_or(at);
        below.into_iter().any(|line| rule(line)) && !lines[top..at].iter().any(|line| rule(line))
    };
    let paint = |(at, line): (usize, &&str)| match line.starts_with('|') {
        true if rule(line) => styled(line, FRAME),
        true if is_title(at) => styled(line, LABEL),
        true => (*line).to_owned(),
        false => labelled(line),
    };
    lines.iter().enumerate().map(paint).collect::<Vec<_>>().join("\n")
}

/// The text of a fact with its label in the colour of its tone.
pub(crate) fn painted_fact(text: &str, tone: Tone) -> String {
    let style = match tone {
        Tone::Bad => BAD,
        Tone::Warning => WARNING,
        _ => LABEL,
    };
    match text.split_once(':') {
        // Without a label, it begins with blanks.
        Some((label, rest)) if !text.starts_with(' ') => format!("{}{rest}", styled(&format!("{label}:"), style)),
        _ => text.to_owned(),
    }
}

fn labelled(line: &str) -> String {
    let Some((label, rest)) = line.split_once(':') else { return line.to_owned() };
    let is_label =
        !label.is_empty() && label.chars().all(|character| character.is_ascii_alphabetic() || character == '-');
    let style = match label {
        bad if BAD_LABELS.contains(&bad) => BAD,
        warning if WARNING_LABELS.contains(&warning) => WARNING,
        _ => LABEL,
    };
    // What a network is called is not what is said of it.
    let is_known = style != LABEL || label.starts_with(char::is_uppercase) && label.len() <= LONGEST_LABEL;
    if is_label && is_known && rest.starts_with(' ') {
        format!("{}{rest}", styled(&format!("{label}:"), style))
    } else {
        line.to_owned()
    }
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use millstream_report::Fact;

    use super::*;

    #[test]
    fn the_label_of_a_fact_has_the_colour_of_its_tone() {
        let painted = |fact: &Fact| painted_fact(&fact.to_string(), fact.tone);
        let missed = painted(&Fact::bad("Deadline", "8 of 8 frames: late"));
        assert_eq!(missed, format!("{BAD}Deadline:{BAD:#}   8 of 8 frames: late"));
        assert!(painted(&Fact::warning("Not drawn", "it")).starts_with(&WARNING.render().to_string()));
        assert!(painted(&Fact::new("Latency", "8 ms")).starts_with(&LABEL.render().to_string()));
        assert_eq!(painted(&Fact::bad("", "goes on: here")), "            goes on: here");
    }

    #[test]
    fn labels_and_titles_are_set_apart_and_nothing_else() {
        let text = "squeezenet: 3 frames\nLatency:    8 ms\nWarning:    hot\nerror: no such file: x\n\n| a |\n| b |\n|---|\n| 1 |";
        assert_eq!(painted(text, false), text);
        let shown = painted(text, true);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "squeezenet: 3 frames");
        assert_eq!(lines[1], format!("{LABEL}Latency:{LABEL:#}    8 ms"));
        assert!(lines[2].starts_with(&WARNING.render().to_string()), "{shown}");
        assert_eq!(lines[3], format!("{BAD}error:{BAD:#} no such file: x"));
        assert_eq!([lines[5], lines[6]], [styled("| a |", LABEL), styled("| b |", LABEL)]);
        assert_eq!([lines[7], lines[8]], [styled("|---|", FRAME), "| 1 |".to_owned()]);
    }
}
