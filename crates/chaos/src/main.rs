//! The engine in a simulation where one seed decides threads, time and faults: `cargo xtask chaos`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

#[cfg(millstream_shuttle)]
mod simulated;

use std::process::ExitCode;

#[cfg(millstream_shuttle)]
fn main() -> ExitCode {
    // Assertions that fail are told with their seeds.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match simulated::arguments::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(millstream_shuttle))]
fn main() -> ExitCode {
    eprintln!("error: this program needs an engine whose threads and time are simulated; run `cargo xtask chaos`");
    ExitCode::FAILURE
}
