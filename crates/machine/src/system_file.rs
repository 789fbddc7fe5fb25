//! Files of the system that hold a line of text or a number.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// What it holds, without blanks around it; `None` where it can't be read.
pub(crate) fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The number that it holds; `None` where it holds none.
pub(crate) fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}
