//! The table of a latency/throughput front.

use millstream_schedule::ScheduleDocument;

use crate::align::Align;
use crate::duration::{milliseconds, rate};
use crate::energy::joules;
use crate::table::Table;

/// Rows of a long front that are shown.
const SHOWN: usize = 12;

/// One point of a latency/throughput front.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontRow {
    /// Stage configuration.
    pub configuration: String,
    /// Time between two frames.
    pub period_seconds: f64,
    /// Time of one frame through the pipeline.
    pub latency_seconds: f64,
    /// Energy of a frame, if it is known.
    pub joules_per_frame: Option<f64>,
    /// Whether a trial showed these numbers; otherwise they are predicted.
    pub is_measured: bool,
    /// What this point is chosen for, if it is.
    pub chosen_for: Vec<String>,
}

/// The row that a schedule is, if it is one of them: several may have its configuration and differ in where stages end,
/// so the one that is nearest to what it promises counts.
pub fn chosen_row(rows: &[FrontRow], document: &ScheduleDocument) -> Option<usize> {
    let predicted = &document.predicted;
    nearest(rows, &document.configuration, (predicted.period_seconds, predicted.latency_seconds))
}

fn nearest(rows: &[FrontRow], configuration: &str, (period, latency): (f64, f64)) -> Option<usize> {
    let distance =
        |row: &FrontRow| (row.period_seconds / period).ln().abs() + (row.latency_seconds / latency).ln().abs();
    let same = rows.iter().enumerate().filter(|(_, row)| row.configuration == configuration);
    same.min_by(|one, other| distance(one.1).total_cmp(&distance(other.1))).map(|(place, _)| place)
}

/// The front from the lowest latency to the highest throughput. Of a long front, chosen points and an even selection of
/// the others are shown, and the second value is how many rows were left out. Where some rows were tried, a column says
/// which.
pub fn front_table(rows: &[FrontRow]) -> (Table, usize) {
    let has_energy = rows.iter().any(|row| row.joules_per_frame.is_some());
    let mut columns = vec![
        ("stages", Align::Left),
        ("frames/s", Align::Right),
        ("period ms", Align::Right),
        ("latency ms", Align::Right),
    ];
    if has_energy {
        columns.push(("J/frame", Align::Right));
    }
    let has_trials = rows.iter().any(|row| row.is_measured);
    if has_trials {
        columns.push(("from", Align::Left));
    }
    columns.push(("best for", Align::Left));
    let mut table = Table::new(columns);

    let step = rows.len().div_ceil(SHOWN).max(1);
    let mut left_out = 0;
    for (index, row) in rows.iter().enumerate() {
        let is_end = index == 0 || index + 1 == rows.len();
        if !(is_end || index % step == 0 || !row.chosen_for.is_empty()) {
            left_out += 1;
            continue;
        }
        let mut cells = vec![
            row.configuration.clone(),
            rate(row.period_seconds),
            milliseconds(row.period_seconds),
            milliseconds(row.latency_seconds),
        ];
        if has_energy {
            cells.push(row.joules_per_frame.map_or("-".to_owned(), joules));
        }
        if has_trials {
            cells.push(if row.is_measured { "trial" } else { "costs" }.to_owned());
        }
        cells.push(row.chosen_for.join(", "));
        table.row(cells);
    }
    (table, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(configuration: &str, period_seconds: f64, latency_seconds: f64) -> FrontRow {
        FrontRow {
            configuration: configuration.to_owned(),
            period_seconds,
            latency_seconds,
            joules_per_frame: None,
            is_measured: false,
            chosen_for: Vec::new(),
        }
    }

    #[test]
    fn where_some_were_tried_each_row_says_whether_it_was() {
        let predicted = row("B1-s1", 0.010, 0.020);
        let (table, _) = front_table(std::slice::from_ref(&predicted));
        assert!(!table.to_string().contains("from"), "{table}");
        let (table, _) = front_table(&[predicted, FrontRow { is_measured: true, ..row("B2", 0.011, 0.019) }]);
        let text = table.to_string();
        let says = |name: &str, word: &str| text.lines().any(|line| line.contains(name) && line.contains(word));
        assert!(says("B1-s1", "costs") && says("B2", "trial"), "{text}");
    }

    #[test]
    fn of_rows_with_one_configuration_the_nearest_counts() {
        let rows = [row("B1-s1", 0.010, 0.020), row("B2", 0.011, 0.019), row("B1-s1", 0.011, 0.018)];
        assert_eq!(nearest(&rows, "B1-s1", (0.0101, 0.0199)), Some(0));
        assert_eq!(nearest(&rows, "B1-s1", (0.011, 0.019)), Some(2));
        assert_eq!(nearest(&rows, "B1", (0.01, 0.02)), None);
    }
}
