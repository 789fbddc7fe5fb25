//! The engine in a simulation where one seed decides threads, time and faults: `cargo xtask chaos`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

#[cfg(millstream_shuttle)]
mod arguments;
#[cfg(millstream_shuttle)]
mod backend;
#[cfg(millstream_shuttle)]
mod callers;
#[cfg(millstream_shuttle)]
mod chaos;
#[cfg(millstream_shuttle)]
mod faults;
#[cfg(millstream_shuttle)]
mod interleavings;
#[cfg(millstream_shuttle)]
mod network;
#[cfg(millstream_shuttle)]
mod scenario;
#[cfg(millstream_shuttle)]
mod schedules;
#[cfg(millstream_shuttle)]
mod simulation;
#[cfg(millstream_shuttle)]
mod verdict;

use std::process::ExitCode;

#[cfg(millstream_shuttle)]
fn main() -> ExitCode {
    // Assertions that fail are told with their seeds.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments::run(&arguments) {
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
