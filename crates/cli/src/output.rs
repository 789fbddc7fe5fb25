//! The only place that prints.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use millstream_report::{Fact, Table};
use serde::Serialize;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use crate::hint::hint;
pub(crate) use crate::remarks::remark;
use crate::remarks::visible;
pub(crate) use crate::width::width;
use crate::{colours, interrupt};

/// Set once the reader of standard output has gone away.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Prints a line to standard output. Without a reader (`| head`) nothing more is printed, but the work goes on: files
/// are still to be written. Anything else that keeps it from being written, such as a full disk, ends the program with
/// an error.
pub(crate) fn line(text: impl std::fmt::Display) {
    write(&colours::painted(&visible(&text), colours::are_shown_by(&std::io::stdout())));
}

fn write(text: &str) {
    if IS_UNREAD.load(Ordering::Relaxed) {
        return;
    }
    let mut stdout = std::io::stdout();
    // At once, so that other programs that write there don't come in between.
    match stdout.write_all(format!("{text}\n").as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => IS_UNREAD.store(true, Ordering::Relaxed),
        Err(error) => {
            remark(format!("error: cannot write to standard output: {error}"));
            interrupt::leave(1);
        }
    }
}

/// Prints facts, each in lines of its own.
pub(crate) fn facts(facts: &[Fact]) {
    facts.iter().for_each(fact);
}

/// Prints a fact, its label in the colour of what it means.
pub(crate) fn fact(fact: &Fact) {
    let text = visible(fact);
    write(&if colours::are_shown_by(&std::io::stdout()) { colours::painted_fact(&text, fact.tone) } else { text });
}

/// Prints sentences so that they fit the terminal.
pub(crate) fn prose(text: impl std::fmt::Display) {
    line(millstream_report::prose(&text.to_string(), width()));
}

/// Prints a table so that it fits the terminal.
pub(crate) fn table(table: &Table) {
    line(fitted(table));
}

/// A table as wide as can be shown: as wide as the terminal is, and 80 characters elsewhere.
pub(crate) fn fitted(table: &Table) -> String {
    table.within(width())
}

/// Prints a value as JSON to standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    line(serde_json::to_string_pretty(value)?);
    Ok(())
}

/// Prints an error with its causes to standard error. Causes that the message already contains are not repeated.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let hint = hint(error).map_or_else(String::new, |hint| format!("; {hint}"));
    remark(format!("error: {text}{hint}"));
}

/// Prints help that was asked for, or what is wrong with the arguments.
pub(crate) fn usage(help_or_error: &clap::Error) -> ExitCode {
    let printed = help_or_error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(error) if !help_or_error.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            remark(format!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => u8::try_from(help_or_error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Sends log records to standard error: warnings, or more with `-v`, or what `MILLSTREAM_LOG` asks for.
pub(crate) fn start_logging(verbosity: u8) {
    let default = match verbosity {
        // The solver warns of models that can not be solved, which is an answer.
        0 => "warn,ort=off,highs=error",
        1 => "info,ort=off,highs=error",
        _ => "debug",
    };
    let asked = std::env::var("MILLSTREAM_LOG").ok().and_then(|directives| Targets::from_str(&directives).ok());
    let filter = asked.unwrap_or_else(|| Targets::from_str(default).unwrap_or_default());
    // What can't be written is no reason to panic.
    let records =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time().log_internal_errors(false);
    let records = records.with_ansi(colours::are_shown_by(&std::io::stderr()));
    tracing_subscriber::registry().with(records.with_filter(filter)).init();
}

#[cfg(test)]
mod tests {
    use crate::remarks::visible;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(visible(&"a\tb\nc \u{1b}[31m\u{7}\0 \r\u{9b}é"), "a\tb\nc \\u{1b}[31m\\u{7}\\u{0} \\r\\u{9b}é");
    }
}
