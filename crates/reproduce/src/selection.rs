//! Tables and figures of a paper, and which of them are wanted.

use std::fmt;

/// What of a paper a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperItem {
    /// The table of this number.
    Table(u32),
    /// The figure of this number.
    Figure(u32),
    /// Something else, by its name: equations, or what the paper does not have.
    Other(&'static str),
}

impl fmt::Display for PaperItem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(number) => write!(formatter, "Table {number}"),
            Self::Figure(number) => write!(formatter, "Figure {number}"),
            Self::Other(name) => formatter.write_str(name),
        }
    }
}

/// Which tables and figures are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only the table of this number.
    pub table: Option<u32>,
    /// Only the figure of this number.
    pub figure: Option<u32>,
}

impl Selection {
    /// Whether everything is wanted.
    pub fn is_everything(self) -> bool {
        self == Self::default()
    }

    /// Whether a table is among them.
    pub fn wants_table(self, number: u32) -> bool {
        self.wants(PaperItem::Table(number))
    }

    /// Whether a figure is among them.
    pub fn wants_figure(self, number: u32) -> bool {
        self.wants(PaperItem::Figure(number))
    }

    /// Whether this is among them. What is neither a table nor a figure is wanted with everything only.
    pub fn wants(self, item: PaperItem) -> bool {
        let is_named = match item {
            PaperItem::Table(number) => self.table == Some(number),
            PaperItem::Figure(number) => self.figure == Some(number),
            PaperItem::Other(_) => false,
        };
        self.is_everything() || is_named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_by_kind_and_number() {
        let four = Selection { table: Some(4), figure: None };
        assert!(four.wants_table(4) && !four.wants_table(40) && !four.wants_figure(4));
        let equation = PaperItem::Other("Equation 4");
        assert!(!four.wants(equation) && Selection::default().wants(equation));
    }
}
