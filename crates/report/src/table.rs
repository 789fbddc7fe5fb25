use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Cell, CellAlignment};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A terminal table that is a Markdown table as well, so that it can be pasted anywhere.
#[derive(Debug)]
pub struct Table {
    inner: comfy_table::Table,
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns: Vec<_> = columns.into_iter().collect();
        let mut inner = comfy_table::Table::new();
        inner.load_style(ASCII_MARKDOWN);
        inner.set_header(columns.iter().map(|(title, align)| Cell::new(title).set_alignment(alignment(*align))));
        for (column, (_, align)) in inner.column_iter_mut().zip(&columns) {
            column.set_cell_alignment(alignment(*align));
        }
        let columns = columns.into_iter().map(|(title, align)| (title.to_owned(), align)).collect();
        Self { inner, columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        self.inner.add_row(&cells);
        self.rows.push(cells);
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
        // Blanks that only fill the last column are noise in logs.
        let text = self.inner.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        formatter.write_str(&lines.join("\n"))
    }
}
