//! Remarks beside a command's own output.

use std::io::Write;

use crate::colours;
use crate::program::as_typed;

/// Prints a remark to standard error. Work goes on if it can't be written.
pub(crate) fn remark(text: impl std::fmt::Display) {
    let stderr = std::io::stderr();
    let text = colours::painted(&visible(&as_typed(&text.to_string())), colours::are_shown_by(&stderr));
    let _ = (&stderr).write_all(format!("{text}\n").as_bytes());
}

/// The text without what a terminal would obey: names come from models that may be anybody's.
pub(crate) fn visible(text: &impl std::fmt::Display) -> String {
    let mut shown = String::new();
    for character in text.to_string().chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}
