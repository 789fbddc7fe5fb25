//! The program that `cargo xtask fuzz` runs; `MILLSTREAM_FUZZ_TARGET` names the target. Built in the ordinary way, it
//! gives files to a target: `cargo run --release --package millstream-fuzz -- TARGET FILE...`.

#![cfg_attr(fuzzing, no_main)]
#![allow(clippy::print_stderr, reason = "a command-line tool prints")]

#[cfg(fuzzing)]
mod fuzzing {
    use std::sync::OnceLock;

    use millstream_fuzz::{TARGETS, Target};

    static TARGET: OnceLock<&'static Target> = OnceLock::new();

    /// Finds the target, and lets panics unwind that code under test catches: libfuzzer-sys ends the process at each,
    /// and it also does where one leaves the target.
    fn start() {
        let name = std::env::var("MILLSTREAM_FUZZ_TARGET").unwrap_or_default();
        let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
            eprintln!("MILLSTREAM_FUZZ_TARGET is '{name}', which is no target");
            std::process::exit(2);
        };
        let _ = TARGET.set(target);
        drop(std::panic::take_hook());
    }

    libfuzzer_sys::fuzz_target!(init: start(), |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.body)(data);
        }
    });
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(target) = millstream_fuzz::TARGETS.iter().find(|target| target.name == name) else {
        let names: Vec<&str> = millstream_fuzz::TARGETS.iter().map(|target| target.name).collect();
        eprintln!("error: there is no target '{name}'; there are {}", names.join(", "));
        return std::process::ExitCode::FAILURE;
    };
    for path in arguments {
        match std::fs::read(&path) {
            Ok(bytes) => (target.body)(&bytes),
            Err(error) => {
                eprintln!("error: cannot read {path}: {error}");
                return std::process::ExitCode::FAILURE;
            }
        }
    }
    std::process::ExitCode::SUCCESS
}
