//! What this program is called where it names commands: in the repository, `cargo xtask` runs it; an installed one is
//! run by its own name.

use crate::width::width;

/// The variable that says so; `.cargo/config.toml` sets it in the repository.
const VARIABLE: &str = "MILLSTREAM_COMMAND";
/// How commands stand in messages and help.
const WRITTEN: &str = "cargo xtask ";
/// What only the repository can do, wherever this program is.
const ONLY_THERE: &str = "package";

/// Whether it was built and is run where its sources are.
pub(crate) fn is_in_repository() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|command| !command.is_empty())
}

/// A text with the commands in it as the reader would type them.
pub(crate) fn as_typed(text: &str) -> String {
    as_run_by(&std::env::var(VARIABLE).unwrap_or_default(), text)
}

fn as_run_by(command: &str, text: &str) -> String {
    let command = if command.is_empty() { "millstream" } else { command };
    let mut pieces = text.split(WRITTEN);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |typed, piece| {
        if piece.starts_with(ONLY_THERE) {
            format!("{typed}{WRITTEN}{piece}")
        } else {
            format!("{typed}{command} {piece}")
        }
    })
}

/// Help is never wider than this.
const MOST_HELP_WIDTH: usize = 110;

/// The command's definition with examples as the reader would type them, and help that fits the terminal.
pub(crate) fn with_own_name(command: clap::Command) -> clap::Command {
    let command = match std::env::var(VARIABLE) {
        Ok(typed) if !typed.is_empty() => command.bin_name(typed),
        _ => command,
    };
    command.term_width(width().min(MOST_HELP_WIDTH)).mut_subcommands(|command| {
        match command.get_after_help().map(|text| as_typed(&text.to_string())) {
            Some(text) => command.after_help(text),
            None => command,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::as_run_by;

    #[test]
    fn commands_are_named_as_they_are_run() {
        let text = "run it with: cargo xtask run --frames 2";
        assert_eq!(as_run_by("", text), "run it with: millstream run --frames 2");
        assert_eq!(as_run_by("cargo xtask", text), text);
        let both = "cargo xtask package\ncargo xtask deploy board";
        assert_eq!(
            as_run_by("", both),
            "cargo xtask package\nmillstream deploy board",
            "packages are made in the repository"
        );
        assert_eq!(as_run_by("", "text"), "text");
    }
}
