//! Algorithms beside each other.

use crate::align::Align;
use crate::duration::milliseconds;
use crate::energy::joules;
use crate::table::Table;
use crate::wrapped::{WIDTH, wrapped};

/// Characters of a configuration that are shown.
const LONGEST_CONFIGURATION: usize = 32;

/// What an algorithm made of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgorithmRow {
    /// Its name.
    pub name: String,
    /// What came of it, or why nothing did.
    pub outcome: Result<AlgorithmOutcome, String>,
}

/// A schedule that an algorithm made.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgorithmOutcome {
    /// Its stages in short.
    pub configuration: String,
    /// Time between two frames.
    pub period_seconds: f64,
    /// Time of one frame through all stages.
    pub latency_seconds: f64,
    /// Energy of a frame, if it is known.
    pub joules_per_frame: Option<f64>,
    /// By what part it is worse than what our own search found, if that can be said.
    pub beside_ours: Option<f64>,
    /// What the algorithm looked at, such as `66 operators`.
    pub searched: String,
}

/// A table of what algorithms achieve, one of their stages and of what they looked at, and below why some have no
/// schedule. No line has more than 80 characters.
pub fn algorithm_tables(rows: &[AlgorithmRow]) -> String {
    let reasons = Reason::of(rows);
    let notes: Vec<String> = reasons.iter().enumerate().map(|(place, reason)| reason.note(place + 1)).collect();
    let tables = format!("{}\n\n{}", numbers(rows, &reasons), stages(rows));
    if notes.is_empty() { tables } else { format!("{tables}\n\n{}", notes.join("\n")) }
}

/// The same in one table, for where there is room: why an algorithm has no schedule stands in its row.
pub fn algorithm_table(rows: &[AlgorithmRow]) -> Table {
    let mut table = Table::new([
        ("algorithm", Align::Left),
        ("stages", Align::Left),
        ("frames/s", Align::Right),
        ("latency ms", Align::Right),
        ("J/frame", Align::Right),
        ("vs ours", Align::Right),
        ("looked at", Align::Right),
    ]);

    for row in rows {
        let found = match &row.outcome {
            Ok(found) => found,
            Err(reason) => {
                table.row([row.name.clone(), reason.clone()].into_iter().chain(std::iter::repeat_n("-".to_owned(), 5)));
                continue;
            }
        };
        table.row([
            row.name.clone(),
            found.configuration.clone(),
            rate(1.0 / found.period_seconds),
            milliseconds(found.latency_seconds),
            found.joules_per_frame.map_or("-".to_owned(), joules),
            found.beside_ours.map_or("-".to_owned(), |beside_ours| format!("{:+.1} %", 100.0 * beside_ours)),
            found.searched.clone(),
        ]);
    }
    table
}

/// Why some algorithms have no schedule.
struct Reason<'a> {
    algorithms: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Reason<'a> {
    /// Different ones, in the order of the rows.
    fn of(rows: &'a [AlgorithmRow]) -> Vec<Self> {
        let mut reasons: Vec<Self> = Vec::new();
        for row in rows {
            let Err(text) = &row.outcome else { continue };
            // What an algorithm says of itself begins with its name.
            let text = text.strip_prefix(row.name.as_str()).map_or(text.as_str(), str::trim_start);
            match reasons.iter_mut().find(|reason| reason.text == text) {
                Some(known) => known.algorithms.push(&row.name),
                None => reasons.push(Self { algorithms: vec![&row.name], text }),
            }
        }
        reasons
    }

    fn note(&self, number: usize) -> String {
        let text = match self.algorithms.as_slice() {
            [only] => format!("{only} {}", self.text),
            several => format!("{}: each {}", several.join(", "), self.text),
        };
        wrapped("", &format!("[{number}] {text}"), "    ", WIDTH)
    }
}

fn numbers(rows: &[AlgorithmRow], reasons: &[Reason<'_>]) -> Table {
    let has_energy = rows.iter().flat_map(|row| &row.outcome).any(|found| found.joules_per_frame.is_some());
    let mut columns = vec![
        ("algorithm", Align::Left),
        ("frames/s", Align::Right),
        ("period ms", Align::Right),
        ("latency ms", Align::Right),
    ];
    columns.extend(has_energy.then_some(("J/frame", Align::Right)));
    columns.push(("vs ours", Align::Right));
    let mut table = Table::new(columns);

    for row in rows {
        let Ok(found) = &row.outcome else {
            let note = reasons
                .iter()
                .position(|reason| reason.algorithms.contains(&row.name.as_str()))
                .map_or(0, |place| place + 1);
            let blanks = std::iter::repeat_n("-".to_owned(), 3 + usize::from(has_energy));
            table.row(std::iter::once(row.name.clone()).chain(blanks).chain([format!("see [{note}]")]));
            continue;
        };
        let mut cells = vec![
            row.name.clone(),
            rate(1.0 / found.period_seconds),
            milliseconds(found.period_seconds),
            milliseconds(found.latency_seconds),
        ];
        if has_energy {
            cells.push(found.joules_per_frame.map_or("-".to_owned(), joules));
        }
        cells.push(found.beside_ours.map_or("-".to_owned(), |beside_ours| format!("{:+.1} %", 100.0 * beside_ours)));
        table.row(cells);
    }
    table
}

/// Three digits of what is slow.
fn rate(hertz: f64) -> String {
    match hertz {
        slow if slow < 1.0 => format!("{slow:.3}"),
        middle if middle < 10.0 => format!("{middle:.2}"),
        fast => format!("{fast:.1}"),
    }
}

fn stages(rows: &[AlgorithmRow]) -> Table {
    let mut table = Table::new([("algorithm", Align::Left), ("stages", Align::Left), ("looked at", Align::Right)]);
    for row in rows {
        let Ok(found) = &row.outcome else { continue };
        table.row([row.name.clone(), shortened(&found.configuration), found.searched.clone()]);
    }
    table
}

fn shortened(configuration: &str) -> String {
    if configuration.chars().count() <= LONGEST_CONFIGURATION {
        return configuration.to_owned();
    }
    let start: String = configuration.chars().take(LONGEST_CONFIGURATION - 3).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, beside_ours: Option<f64>) -> AlgorithmRow {
        let outcome = AlgorithmOutcome {
            configuration: "(B1|B1|B1|B1|s1|s1|s1|s1)-(G1|s1|s1|s1)".to_owned(),
            period_seconds: 0.0123,
            latency_seconds: 0.456,
            joules_per_frame: Some(0.0789),
            beside_ours,
            searched: "123456789 pipelines".to_owned(),
        };
        AlgorithmRow { name: name.to_owned(), outcome: Ok(outcome) }
    }

    #[test]
    fn tables_fit_into_80_columns_and_reasons_stand_below() {
        let reason = "needs three processors or more, and there are only B4, s4; name others, such as B2-B2-s4";
        let rows = [
            row("para-pipe-para-only", Some(0.1234)),
            AlgorithmRow { name: "hybrid-l".to_owned(), outcome: Err(format!("hybrid-l {reason}")) },
            row("millstream", None),
            AlgorithmRow { name: "fine-ilp".to_owned(), outcome: Err("fine-ilp needs the solver".to_owned()) },
            AlgorithmRow { name: "hybrid-t".to_owned(), outcome: Err(format!("hybrid-t {reason}")) },
        ];
        let text = algorithm_tables(&rows);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        insta::assert_snapshot!(text);
    }
}
