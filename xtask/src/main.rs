//! `cargo xtask <verb>`: makes sure that what the project needs is there, and runs it.
//!
//! Verbs of the `millstream` command are forwarded to it, built with optimisation. Developer verbs are run here. All of
//! them are [`verbs::VERBS`]. This crate has no dependencies, so that it compiles in a second.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

mod arrows;
mod bench_record;
mod benchmarks;
mod beside;
mod book;
mod certificates;
mod chaos;
mod ci;
mod circles;
mod claims;
mod command;
mod commit;
mod conformance;
mod cross;
mod dependencies;
mod exhaustive;
mod files;
mod folders;
mod fuzz;
mod heads;
mod imports;
mod lengths;
mod light;
mod long_tests;
mod mutants;
mod names;
mod native;
mod node;
mod openvino;
mod outside;
mod package;
mod pages;
mod pinned;
mod plugin;
mod pointers;
mod python;
mod readmes;
mod release;
mod sanitize;
mod scratch;
mod semver;
mod signals;
mod soak;
mod solver;
mod tools;
mod untested;
mod variants;
mod verbs;
mod wheel;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

use command::{Failure, cargo, run, run_forwarding};
use verbs::Action;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    match dispatch(&verb, &rest) {
        Ok(code) => code,
        Err(Failure(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(name: &str, rest: &[String]) -> Result<ExitCode, Failure> {
    if ["", "help", "-h", "--help"].contains(&name) {
        println!("{}", verbs::help());
        return Ok(ExitCode::SUCCESS);
    }
    let unknown = || Failure(format!("there is no verb '{name}'\n\n{}", verbs::help()));
    match verbs::find(name).ok_or_else(unknown)?.action {
        Action::Forward => forward(name, rest),
        Action::Run(run) => run(rest).map(|()| ExitCode::SUCCESS),
        Action::RunWithStatus(run) => run(rest),
    }
}

/// Builds the `millstream` command and runs it in the caller's folder.
fn forward(verb: &str, rest: &[String]) -> Result<ExitCode, Failure> {
    let library = native::prepare()?;
    let binary = folders::target_folder().join("release").join(format!("millstream{}", std::env::consts::EXE_SUFFIX));
    let mut build = cargo();
    build.args(["build", "--release", "--package", "millstream"]);
    // The first build takes minutes and should be seen; later ones are over before anybody wonders.
    if binary.is_file() {
        build.arg("--quiet");
    }
    run(&mut build)?;
    let mut command = std::process::Command::new(binary);
    command.arg(verb).args(rest);
    // What the caller set wins; the value that cargo itself sets from its configuration is the same file.
    command.envs(native::environment(library));
    if verb == "deploy" && rest.iter().any(|word| word == "--system" || word.starts_with("--system=")) {
        let built = node::built()?.into_iter();
        command.envs(built.filter(|(name, _)| std::env::var_os(name).is_none() || *name == "PYTHONPATH"));
    }
    run_forwarding(&mut command)
}
