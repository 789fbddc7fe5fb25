//! The verbs: what each is called, what the help says of it and what it does.

use std::process::ExitCode;

use crate::command::Failure;
use crate::{
    benchmarks, book, certificates, chaos, ci, conformance, fuzz, light, long_tests, mutants, native, node, outside,
    package, readmes, release, sanitize, semver, signals, soak, solver, wheel,
};

/// One of the words behind `cargo xtask`.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// Its lines in the help; empty if the help does not name it.
    help: &'static str,
    pub(crate) action: Action,
}

/// What a verb does with the arguments behind it.
pub(crate) enum Action {
    /// The `millstream` command has the same verb, and gets them.
    Forward,
    Run(fn(&[String]) -> Result<(), Failure>),
    /// What it runs ends with a status of its own.
    RunWithStatus(fn(&[String]) -> Result<ExitCode, Failure>),
}

const fn forwarded(name: &'static str, help: &'static str) -> Verb {
    Verb { name, help, action: Action::Forward }
}

const fn developers(name: &'static str, help: &'static str, run: fn(&[String]) -> Result<(), Failure>) -> Verb {
    Verb { name, help, action: Action::Run(run) }
}

/// All of them, in the order of the help.
pub(crate) const VERBS: &[Verb] = &[
    forwarded("board", "show what was detected of this machine"),
    forwarded("boards", "list the boards that --board and --cost know by name"),
    forwarded("profile", "measure layers of many shapes, and networks, on every number of cores of every cluster"),
    forwarded("fit", "fit cost models to a profile and show how well they predict"),
    forwarded("calibrate", "make cost models of a board that you do not have from what was published of it"),
    forwarded(
        "schedule",
        "find a schedule for a network on this board, and say how much shorter any period could be by the same costs",
    ),
    forwarded("certify", "check what is proven of a schedule, without searching"),
    forwarded("run", "stream frames through a schedule and check the results"),
    forwarded(
        "deploy",
        "copy a package and a network to a board, measure, plan and run there, and bring the reports back",
    ),
    forwarded("tune", "search for a better schedule by running schedules while frames flow"),
    forwarded("simulate", "simulate frames through a schedule, also on a board that you do not have"),
    forwarded("compare", "measure our schedules beside ONNX Runtime and OpenVINO as one would use them"),
    forwarded("session-options", "measure how one session of plain ONNX Runtime had best be set up here"),
    forwarded("reproduce", "compute a paper's tables and figures beside the printed numbers"),
    // What writes schemas is for `snapshots`.
    forwarded("schemas", ""),
    developers(
        "setup",
        "fetch ONNX Runtime, OpenVINO, HiGHS and libclang (every other verb does it when needed); MILLSTREAM_HIGHS=compile has\n\
         HiGHS compiled instead, until MILLSTREAM_HIGHS=wheel",
        |_| native::prepare().map(drop),
    ),
    developers(
        "test",
        "run the tests, ONNX's own test models and real networks among them; long-tests has the rest",
        ci::test,
    ),
    developers(
        "long-tests",
        "run the tests that take minutes, which `test` leaves out: proofs and predicted periods for every pair of a network of the\n\
         zoo and a board of the fixtures, the networks with the most weights, and all of the zoo on OpenVINO and on a graphics device\n\
         [part of a name]",
        long_tests::long_tests,
    ),
    developers(
        "conformance",
        "run ONNX's own test models in every way [--engine openvino] [part of a name]",
        conformance::conformance,
    ),
    developers(
        "certificates",
        "plan the zoo's networks on the fixtures' boards, check each certificate, also with numbers changed, and print what both\n\
         took [--shard 0/20, the first twentieth]; all of them take about an hour",
        certificates::certificates,
    ),
    developers(
        "chaos",
        "run the engine in a simulation of threads, time and faults, for a minute; [--long] for an hour or two;\n\
         scenarios of faults [--seeds 100] [--from 0, the first seed] [--frames 1000, of each], or interleavings of a part\n\
         [--model sleeper, team, generations, results or supervision] [--schedules 10000] [--from 0, the first hundred]",
        chaos::chaos,
    ),
    developers(
        "features",
        "lint and run the tests of the front door and the command with each feature left out",
        |_| light::features(),
    ),
    Verb {
        name: "node",
        help: "run a network over several machines, on dora-rs: builds millstream-node, fetches dora-rs with pip, and hands arguments on;\n\
         the first time takes a quarter of an hour",
        action: Action::RunWithStatus(node::node),
    },
    developers(
        "node-test",
        "build millstream-node and run its tests, two hosts as processes of this computer among them",
        node::test,
    ),
    developers("node-lint", "check formatting, clippy, documentation and licences of millstream-node", |_| {
        node::lint()
    }),
    developers(
        "node-soak",
        "end hosts and daemons at random moments while frames flow, and see that each frame is answered once [--kills 20] [--seed 1]",
        node::soak,
    ),
    developers("outside", "build and run projects outside the workspace that depend on its crates", |_| {
        outside::outside()
    }),
    developers(
        "lint",
        "check formatting, clippy, documentation, licences, the crate map and what crates pull in\n\
         [--pages, only claims, pointers, lengths, names and circles, in seconds]",
        ci::lint,
    ),
    developers("book", "build the book from docs into target/book, and see that no link leads nowhere", book::book),
    developers(
        "ci",
        "lint and test, as continuous integration does first; CONTRIBUTING.md says what else CI runs",
        |rest| ci::lint(&[]).and_then(|()| ci::test(rest)),
    ),
    developers(
        "bench",
        "run the benchmarks [name of a crate], or [--record] add what some of them take here to docs/benchmarks.csv [names of crates]",
        ci::bench,
    ),
    developers(
        "bench-mapper",
        "map others' benchmark problems, which pip fetches, beside others' schedulers, and write docs/mapper-benchmarks.md\n\
         [--steps 20000000, for each problem] [--most 3, of each group]",
        benchmarks::mapper,
    ),
    developers(
        "fuzz",
        "give targets random inputs, guided by the code that they reach: TARGET or all [--time 60s, for each target]\n\
         [--runs N, of each at most] [--jobs N, beside each other]; --merge keeps of the corpus what is needed; files after a\n\
         target are given to it, as to see a find again",
        fuzz::fuzz,
    ),
    developers(
        "package",
        "make what a computer without a compiler needs, as .tar.gz below target/package [--target x86_64 or aarch64]\n\
         [--deb, a package for Debian as well] [--check, use it where nothing else is]",
        package::package,
    ),
    developers(
        "mutants",
        "put faults into crates and see that nine in ten are noticed by the crate's own tests [names of crates]\n\
         [--shard 0/20, the first twentieth]; all of them take more than a day",
        mutants::mutants,
    ),
    developers("readmes", "make the READMEs of the crates from their front pages", |_| readmes::write()),
    developers(
        "release",
        "see that a tag, the version, the changelog and CITATION.cff belong together: release v0.1.0",
        release::release,
    ),
    developers(
        "soak",
        "replace schedules and put faults in for hours while frames flow, and see that none is lost and nothing grows\n\
         [--hours 0.5] [--minutes 0.5] [--seed 1]",
        soak::soak,
    ),
    developers(
        "signals",
        "send signals to commands at random moments and print a table of how they ended [--times 200]",
        signals::signals,
    ),
    developers(
        "sanitize",
        "run tests under AddressSanitizer (address), ThreadSanitizer (thread) or Miri (miri), on a nightly toolchain\n\
         [arguments of cargo test]",
        sanitize::sanitize,
    ),
    developers(
        "semver",
        "see that what the crates offer changed no more than their version says, since the last release",
        |_| semver::semver(),
    ),
    developers("snapshots", "accept changed snapshots and schemas", |_| ci::snapshots()),
    developers(
        "wheel",
        "build the Python package into target/wheels, for this computer, or with [--target x86_64 or aarch64] for others with as old a C\n\
         library as packages need; [--check, install it where nothing else is and run its tests there] [arguments of pytest]",
        wheel::wheel,
    ),
    developers("solver-from-source", "compile HiGHS apart from all else and run the tests of what uses it", |_| {
        solver::from_source()
    }),
];

/// Longer names have a line of the help to themselves.
const LONGEST_BESIDE_HELP: usize = 11;

/// The verb of a name.
pub(crate) fn find(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// What `cargo xtask help` prints.
pub(crate) fn help() -> String {
    let lines = |is_forwarded: bool| -> String {
        let named = VERBS.iter().filter(|verb| !verb.help.is_empty());
        named.filter(|verb| matches!(verb.action, Action::Forward) == is_forwarded).map(Verb::lines).collect()
    };
    format!(
        "Usage: cargo xtask <VERB> [ARGUMENTS]\n\n\
         Use Millstream (all take --help):\n{}\n\
         Work on Millstream:\n{}\n\
         Example: cargo xtask schedule --model zoo:googlenet && cargo xtask run",
        lines(true),
        lines(false)
    )
}

impl Verb {
    /// Its lines of the help.
    fn lines(&self) -> String {
        let indent = " ".repeat(LONGEST_BESIDE_HELP + 3);
        let help = self.help.replace('\n', &format!("\n{indent}"));
        if self.name.len() > LONGEST_BESIDE_HELP {
            format!("  {}\n{indent}{help}\n", self.name)
        } else {
            format!("  {:LONGEST_BESIDE_HELP$} {help}\n", self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Action, VERBS, help};

    #[test]
    fn each_verb_is_there_once_and_in_the_help() {
        let names: BTreeSet<&str> = VERBS.iter().map(|verb| verb.name).collect();
        assert_eq!(names.len(), VERBS.len());
        let help = help();
        for name in names.into_iter().filter(|name| *name != "schemas") {
            let is_named = help.lines().any(|line| line.trim_start().split(' ').next() == Some(name));
            assert!(is_named, "{name} is not in the help");
        }
    }

    #[test]
    fn long_names_have_a_line_to_themselves() {
        let help = help();
        assert!(help.contains("\n  node-lint   check formatting"), "{help}");
        assert!(help.contains("\n  session-options\n              measure how"), "{help}");
        assert!(help.contains(" dora-rs with pip, and hands arguments on;\n              the first time"), "{help}");
    }

    #[test]
    fn contributing_names_every_verb_of_developers() {
        let page = include_str!("../../CONTRIBUTING.md");
        // A verb ends where its word does: `node` is not in `node-test`.
        let words = page.split("cargo xtask").skip(1).filter_map(|rest| {
            rest.trim_start().split(|next: char| !next.is_ascii_alphanumeric() && next != '-').next()
        });
        let named: Vec<&str> = words.collect();
        for verb in VERBS.iter().filter(|verb| !matches!(verb.action, Action::Forward) && verb.name != "ci") {
            assert!(named.contains(&verb.name), "CONTRIBUTING.md says nothing of {}", verb.name);
        }
    }
}
