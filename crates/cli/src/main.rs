//! The `millstream` command: profile a board, schedule a network on it, run it, compare it.
//!
//! It parses, shows progress and prints; what it does is in the library.

use std::process::ExitCode;

mod arguments;
mod colours;
mod commands;
mod control;
mod distinct;
mod duration;
mod hint;
mod html;
mod interrupt;
mod output;
mod program;
mod progress;
mod remarks;
mod run_trace;
mod width;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches};

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    // Before there are any threads.
    millstream::share_heaps();
    keep_drivers_quiet();
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(help_or_error) => return output::usage(&help_or_error),
    };
    output::start_logging(arguments.verbose);
    let done = interrupt::install().and_then(|()| run(&arguments.command));
    let code = match &done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(error);
            ExitCode::FAILURE
        }
    };
    interrupt::end_if_requested();
    code
}

/// A layer of Mesa's looks for a desktop when graphics devices are asked for, and prints errors where there is no
/// session, as on a board that one logs in to.
#[cfg_attr(target_os = "linux", expect(unsafe_code, reason = "the layer is told by nothing but the environment"))]
fn keep_drivers_quiet() {
    #[cfg(target_os = "linux")]
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the only thread, so nobody reads the environment meanwhile.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
}

fn parse() -> Result<Arguments, clap::Error> {
    // A negative number is a value that is refused with its reason, not an option that nobody knows.
    let definition = || negative_numbers_are_values(program::with_own_name(Arguments::command()));
    definition()
        .try_get_matches()
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches))
        .map_err(|error| error.format(&mut definition()))
}

fn negative_numbers_are_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        if argument.get_action().takes_values() { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(negative_numbers_are_values)
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Board(command) => commands::board::run(command),
        Command::Boards(command) => commands::boards::run(command),
        Command::Profile(command) => commands::profile::run(command),
        Command::Fit(command) => commands::fit::run(command),
        Command::Calibrate(command) => commands::calibrate::run(command),
        Command::Schedule(command) => commands::schedule::run(command),
        Command::Certify(command) => commands::certify::run(command),
        Command::Run(command) => commands::run::run(command),
        #[cfg(unix)]
        Command::Deploy(command) => commands::deploy::run(command),
        Command::Tune(command) => commands::tune::run(command),
        Command::Simulate(command) => commands::simulate::run(command),
        Command::Compare(command) => commands::compare::run(command),
        Command::SessionOptions(command) => commands::session_options::run(command),
        #[cfg(feature = "highs")]
        Command::Reproduce(command) => commands::reproduce::run(command),
        Command::Manual(command) => commands::manual::run(command),
        Command::Schemas(command) => commands::schemas::run(command),
    }
}
