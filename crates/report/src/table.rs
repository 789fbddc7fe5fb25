//! Tables for terminals, which are Markdown as well.

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Cell, CellAlignment};

use crate::align::Align;
use crate::fitting::{in_lines, widths};
use crate::parting::parts;

/// A terminal table that is a Markdown table as well, so that it can be pasted anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns.into_iter().map(|(title, align)| (title.to_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text of which no line has more than so many characters: what is too long for that goes on in the
    /// next lines of its row, and where that is not enough, further columns stand in further tables below, each with
    /// the columns that tell the rows apart. Only where no columns do that, and for single columns that have no room,
    /// lines are longer.
    pub fn within(&self, width: usize) -> String {
        let fits = |text: &str| text.lines().all(|line| line.chars().count() <= width);
        let whole = self.broken(width);
        if fits(&whole) {
            return whole;
        }
        match parts(&self.columns, &self.rows, |columns| fits(&self.of(columns).broken(width))) {
            Some(parts) => {
                let texts: Vec<String> = parts.iter().map(|columns| self.of(columns).broken(width)).collect();
                texts.join("\n\n")
            }
            None => whole,
        }
    }

    /// The table as text with cells that take several lines, so that it is no wider than this if its columns allow it.
    fn broken(&self, width: usize) -> String {
        if self.to_string().lines().all(|line| line.chars().count() <= width) {
            return self.to_string();
        }
        let widths = widths(&self.columns, &self.rows, width);
        let cell = |(text, width): (&String, &usize)| in_lines(text, *width);
        let titles: Vec<String> = self.columns.iter().map(|column| &column.0).zip(&widths).map(cell).collect();
        let aligns = self.columns.iter().map(|column| column.1);
        let mut fitted = Self::new(titles.iter().map(String::as_str).zip(aligns));
        self.rows.iter().for_each(|row| fitted.row(row.iter().zip(&widths).map(cell)));
        fitted.to_string()
    }

    /// The table of some of its columns.
    fn of(&self, columns: &[usize]) -> Self {
        let rows = self.rows.iter();
        Self {
            columns: columns.iter().filter_map(|&place| self.columns.get(place).cloned()).collect(),
            rows: rows.map(|row| columns.iter().filter_map(|&place| row.get(place).cloned()).collect()).collect(),
        }
    }

    /// Titles of the columns, and how each is aligned.
    pub fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    /// The cells, row by row.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }
}

fn alignment(align: Align) -> CellAlignment {
    match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(self.columns.iter().map(|(title, align)| Cell::new(title).set_alignment(alignment(*align))));
        for (column, (_, align)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(alignment(*align));
        }
        table.add_rows(&self.rows);
        // Blanks that only fill the last column are noise in logs.
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_for_a_line_goes_on_in_the_next() {
        let mut table =
            Table::new([("contender", Align::Left), ("processors", Align::Left), ("frames/s", Align::Right)]);
        table.row(["an instance of the engine per core".into(), "B1@openvino s1@openvino G1".into(), "25.6".into()]);
        let text = table.within(60);
        assert!(text.lines().all(|line| line.chars().count() <= 60) && text.lines().count() > 3, "{text}");
        for word in ["instance", "s1@openvino", "25.6", "processors", "frames/s"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(table.within(200), table.to_string());
        assert_eq!(table.to_string().lines().count(), 3);
        // Nothing can be broken any further: the rest stands below, with what tells the rows apart.
        let narrow = table.within(26);
        let (upper, lower) = narrow.split_once("\n\n").unwrap_or_default();
        assert!(narrow.lines().all(|line| line.chars().count() <= 26), "{narrow}");
        assert!(upper.contains("s1@") && !upper.contains("25.6"), "{narrow}");
        assert!(lower.contains("instance") && lower.contains("25.6"), "{narrow}");
    }
}
