//! `cargo xtask <verb>`: makes sure that what the project needs is there, and runs it.
//!
//! Verbs of the `millstream` command ([`FORWARDED`]) are forwarded to it, built with optimisation. Developer verbs, which [`HELP`] lists behind them, are run here.
//! This crate has no dependencies, so that it compiles in a second.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

mod arrows;
mod benchmarks;
mod book;
mod certificates;
mod chaos;
mod ci;
mod circles;
mod claims;
mod command;
mod conformance;
mod cross;
mod dependencies;
mod exhaustive;
mod files;
mod fuzz;
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
mod pinned;
mod plugin;
mod readmes;
mod release;
mod sanitize;
mod scratch;
mod semver;
mod signals;
mod soak;
mod solver;
mod tools;
mod wheel;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

use command::{Failure, cargo, run, run_forwarding};

const FORWARDED: &[&str] = &[
    "board",
    "boards",
    "profile",
    "fit",
    "calibrate",
    "schedule",
    "certify",
    "run",
    "deploy",
    "tune",
    "simulate",
    "compare",
    "session-options",
    "reproduce",
    "schemas",
];

const HELP: &str = "Usage: cargo xtask <VERB> [ARGUMENTS]

Use Millstream (all take --help):
  board       show what was detected of this machine
  boards      list the boards that --board and --cost know by name
  profile     measure layers of many shapes, and networks, on every number of cores of every cluster
  fit         fit cost models to a profile and show how well they predict
  calibrate   make cost models of a board that you do not have from what was published of it
  schedule    find a schedule for a network on this board, and say how much faster any could be
  certify     check what is proven of a schedule, without searching
  run         stream frames through a schedule and check the results
  deploy      copy a package and a network to a board, measure, plan and run there, and bring the reports back
  tune        search for a better schedule by running schedules while frames flow
  simulate    simulate frames through a schedule, also on a board that you do not have
  compare     measure our schedules beside ONNX Runtime and OpenVINO as one would use them
  session-options
              measure how one session of plain ONNX Runtime had best be set up here
  reproduce   compute a paper's tables and figures beside the printed numbers

Work on Millstream:
  setup       fetch ONNX Runtime, OpenVINO, HiGHS and libclang (every other verb does it when needed); MILLSTREAM_HIGHS=compile has
              HiGHS compiled instead, until MILLSTREAM_HIGHS=wheel
  test        run all tests, ONNX's own test models and real networks among them
  long-tests  run the tests that take minutes, which `test` leaves out: proofs and predicted periods for every pair of a network of the
              zoo and a board of the fixtures, the networks with the most weights, and all of the zoo on OpenVINO and on a graphics device
              [part of a name]
  conformance run ONNX's own test models in every way [--engine openvino] [part of a name]
  certificates
              plan the zoo's networks on the fixtures' boards, check each certificate, also with numbers changed, and print what both
              took [--shard 0/20, the first twentieth]; all of them take two hours
  chaos       run the engine in a simulation of threads, time and faults, for a minute; [--long] for an hour or two;
              scenarios of faults [--seeds 100] [--from 0, the first seed] [--frames 1000, of each], or interleavings of a part
              [--model sleeper, team, generations, results or supervision] [--schedules 10000] [--from 0, the first hundred]
  features    lint and run the tests of the front door and the command with each feature left out
  node        run a network over several machines, on dora-rs: builds millstream-node, fetches dora-rs with pip, and hands arguments on;
              the first time takes a quarter of an hour
  node-test   build millstream-node and run its tests, two hosts as processes of this computer among them
  node-lint   check formatting, clippy, documentation and licences of millstream-node
  node-soak   end processes of hosts at random moments while frames flow, and see that each frame is answered once [--kills 20] [--seed 1]
  outside     build and run projects outside the workspace that depend on its crates
  lint        check formatting, clippy, documentation, licences, the crate map and what crates pull in
  book        build the book from docs into target/book, and see that no link leads nowhere
  ci          lint and test, as continuous integration does first; CONTRIBUTING.md says what else CI runs
  bench       run the benchmarks [name of a crate]
  bench-mapper
              map others' benchmark problems, which pip fetches, beside others' schedulers, and write docs/mapper-benchmarks.md
              [--steps 20000000, for each problem] [--most 3, of each group]
  fuzz        give targets random inputs, guided by the code that they reach: TARGET or all [--time 60s, for each target]
              [--runs N, of each at most] [--jobs N, beside each other]; --merge keeps of the corpus what is needed; files after a
              target are given to it, as to see a find again
  package     make what a computer without a compiler needs, as .tar.gz below target/package [--target x86_64 or aarch64]
              [--deb, a package for Debian as well] [--check, use it where nothing else is]
  mutants     put faults into crates and see that nine in ten are noticed by the crate's own tests [names of crates]
              [--shard 0/20, the first twentieth]; all of them take a day
  readmes     make the READMEs of the crates from their front pages
  release     see that a tag, the version, the changelog and CITATION.cff belong together: release v0.1.0
  soak        replace schedules and put faults in for hours while frames flow, and see that none is lost and nothing grows
              [--hours 0.5] [--minutes 0.5] [--seed 1]
  signals     send signals to commands at random moments and print a table of how they ended [--times 200]
  sanitize    run tests under AddressSanitizer (address), ThreadSanitizer (thread) or Miri (miri), on a nightly toolchain
              [arguments of cargo test]
  semver      see that what the crates offer changed no more than their version says, since the last release
  snapshots   accept changed snapshots and schemas
  wheel       build the Python package into target/wheels, for this computer, or with [--target x86_64 or aarch64] for others with as old a C
              library as packages need; [--check, install it where nothing else is and run its tests there] [arguments of pytest]
  solver-from-source
              compile HiGHS apart from all else and run the tests of what uses it

Example: cargo xtask schedule --model zoo:googlenet && cargo xtask run";

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

fn dispatch(verb: &str, rest: &[String]) -> Result<ExitCode, Failure> {
    match verb {
        verb if FORWARDED.contains(&verb) => forward(verb, rest),
        "setup" => native::prepare().map(|_| ExitCode::SUCCESS),
        "test" => ci::test(rest).map(|()| ExitCode::SUCCESS),
        "lint" => ci::lint().map(|()| ExitCode::SUCCESS),
        "ci" => ci::lint().and_then(|()| ci::test(rest)).map(|()| ExitCode::SUCCESS),
        "book" => book::book(rest).map(|()| ExitCode::SUCCESS),
        "release" => release::release(rest).map(|()| ExitCode::SUCCESS),
        "semver" => semver::semver().map(|()| ExitCode::SUCCESS),
        "bench" => ci::bench(rest).map(|()| ExitCode::SUCCESS),
        "mutants" => mutants::mutants(rest).map(|()| ExitCode::SUCCESS),
        "fuzz" => fuzz::fuzz(rest).map(|()| ExitCode::SUCCESS),
        "bench-mapper" => benchmarks::mapper(rest).map(|()| ExitCode::SUCCESS),
        "node" => node::node(rest),
        "node-lint" => node::lint().map(|()| ExitCode::SUCCESS),
        "node-soak" => node::soak(rest).map(|()| ExitCode::SUCCESS),
        "node-test" => node::test(rest).map(|()| ExitCode::SUCCESS),
        "long-tests" => long_tests::long_tests(rest).map(|()| ExitCode::SUCCESS),
        "conformance" => conformance::conformance(rest).map(|()| ExitCode::SUCCESS),
        "certificates" => certificates::certificates(rest).map(|()| ExitCode::SUCCESS),
        "soak" => soak::soak(rest).map(|()| ExitCode::SUCCESS),
        "sanitize" => sanitize::sanitize(rest).map(|()| ExitCode::SUCCESS),
        "chaos" => chaos::chaos(rest).map(|()| ExitCode::SUCCESS),
        "features" => light::features().map(|()| ExitCode::SUCCESS),
        "outside" => outside::outside().map(|()| ExitCode::SUCCESS),
        "package" => package::package(rest).map(|()| ExitCode::SUCCESS),
        "solver-from-source" => solver::from_source().map(|()| ExitCode::SUCCESS),
        "signals" => signals::signals(rest).map(|()| ExitCode::SUCCESS),
        "wheel" => wheel::wheel(rest).map(|()| ExitCode::SUCCESS),
        "readmes" => readmes::write().map(|()| ExitCode::SUCCESS),
        "snapshots" => ci::snapshots().map(|()| ExitCode::SUCCESS),
        "" | "help" | "-h" | "--help" => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(Failure(format!("there is no verb '{other}'\n\n{HELP}"))),
    }
}

/// Builds the `millstream` command and runs it in the caller's folder.
fn forward(verb: &str, rest: &[String]) -> Result<ExitCode, Failure> {
    let library = native::prepare()?;
    let binary = native::target_folder().join("release").join(format!("millstream{}", std::env::consts::EXE_SUFFIX));
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
    run_forwarding(&mut command)
}

#[cfg(test)]
mod tests {
    use super::{FORWARDED, HELP};

    /// The verbs that `dispatch` knows, by its source.
    fn verbs() -> Vec<&'static str> {
        let (_, dispatch) = include_str!("main.rs").split_once("match verb {").unwrap_or_default();
        let own = dispatch.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"));
        own.map(|(verb, _)| verb).filter(|verb| !verb.is_empty() && !verb.contains('"')).collect()
    }

    #[test]
    fn the_help_names_every_verb() {
        assert!(verbs().len() > 15, "{:?}", verbs());
        // What writes schemas is for `snapshots`.
        for verb in FORWARDED.iter().copied().filter(|verb| *verb != "schemas").chain(verbs()) {
            let is_named = HELP.lines().any(|line| line.trim_start().split(' ').next() == Some(verb));
            assert!(is_named, "{verb} is not in the help");
        }
    }

    #[test]
    fn contributing_names_every_verb_of_developers() {
        let page = include_str!("../../CONTRIBUTING.md");
        // A verb ends where its word does: `node` is not in `node-test`.
        let words = page.split("cargo xtask").skip(1).filter_map(|rest| {
            rest.trim_start().split(|next: char| !next.is_ascii_alphanumeric() && next != '-').next()
        });
        let named: Vec<&str> = words.collect();
        for verb in verbs().into_iter().filter(|verb| !["ci"].contains(verb)) {
            assert!(named.contains(&verb), "CONTRIBUTING.md says nothing of {verb}");
        }
    }
}
