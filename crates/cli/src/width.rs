//! How wide the terminal is.

/// Characters of a line by default.
pub(crate) const USUAL_WIDTH: usize = 80;

/// Tables are never made narrower.
pub(crate) const LEAST_WIDTH: usize = 60;

/// How many characters a line has: as many as the terminal, and 80 elsewhere.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || Some(usize::from(terminal_size::terminal_size_of(std::io::stdout())?.0.0));
    // Narrower ones would break numbers apart.
    asked.or_else(seen).map_or(USUAL_WIDTH, |width: usize| width.max(LEAST_WIDTH))
}
