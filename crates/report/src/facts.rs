//! What is to be said, each with a word before it.

use std::fmt;

use crate::wrapped::{WIDTH, wrapped};

/// How important a fact is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// It is as it should be, or just so.
    #[default]
    Plain,
    /// Better than it had to be.
    Good,
    /// Something to know before one relies on the rest.
    Warning,
    /// Something went wrong.
    Bad,
}

/// Something to know: `Latency: 8.5 ms`. Prints as lines of at most 80 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub label: String,
    /// What there is to know, in a sentence or several; those that begin in a new line do so where it is printed.
    pub text: String,
    /// How important it is to the reader.
    pub tone: Tone,
}

/// Where the texts of facts begin in a line.
const INDENT: usize = 12;

impl Fact {
    /// A plain fact.
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into(), tone: Tone::Plain }
    }

    /// Something to know before one relies on the rest.
    pub fn warning(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone: Tone::Warning, ..Self::new(label, text) }
    }

    /// Something that went wrong.
    pub fn bad(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone: Tone::Bad, ..Self::new(label, text) }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = if self.label.is_empty() { String::new() } else { format!("{}:", self.label) };
        let indent = " ".repeat(INDENT);
        let mut start = format!("{label:<INDENT$}");
        let mut lines = Vec::new();
        for line in self.text.lines() {
            lines.push(wrapped(&std::mem::replace(&mut start, indent.clone()), line, &indent, WIDTH));
        }
        formatter.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_facts_go_on_below_their_beginning() {
        let fact = Fact::new("Latency", "a word and ".repeat(10));
        let text = fact.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("Latency:    a word") && lines[1].starts_with("            word"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(Fact::new("Bound", "one\ntwo").to_string(), "Bound:      one\n            two");
    }
}
