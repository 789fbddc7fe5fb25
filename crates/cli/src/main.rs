//! The `millstream` command: profile a board, schedule a network on it, run it, compare it.

use std::process::ExitCode;

mod adaptive;
mod arguments;
mod backends;
mod busy;
mod clocks;
mod commands;
mod contender;
mod duration;
mod files;
mod interrupt;
mod machine;
mod model;
mod output;
mod places;
mod planning;
mod profiling;
mod progress;
mod reference;
mod run_trace;
mod scheduled;
mod sharing;
mod simulated;
mod steady;
mod sweeping;
mod trial;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    output::start_logging(arguments.verbose);
    let result = match &arguments.command {
        Command::Board(command) => commands::board::run(command),
        Command::Profile(command) => commands::profile::run(command),
        Command::Fit(command) => commands::fit::run(command),
        Command::Calibrate(command) => commands::calibrate::run(command),
        Command::Schedule(command) => commands::schedule::run(command),
        Command::Run(command) => commands::run::run(command),
        Command::Tune(command) => commands::tune::run(command),
        Command::Simulate(command) => commands::simulate::run(command),
        Command::Compare(command) => commands::compare::run(command),
        Command::Reproduce(command) => commands::reproduce::run(command),
        Command::Schemas(command) => commands::schemas::run(command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}
