//! What developers and continuous integration run.

use std::process::Command;

use crate::beside::run_both;
use crate::command::{Failure, cargo, crates, package, run};
use crate::folders::{root, target_folder};
use crate::untested::Untested;
use crate::{
    arrows, bench_record, book, certificates, chaos, circles, claims, conformance, dependencies, exhaustive, heads,
    imports, lengths, light, names, native, outside, plugin, pointers, readmes, soak, tools, variants,
};

/// All tests: unit, property, snapshot, end to end, and the examples in the documentation. Arguments narrow them down
/// as those of `cargo test` do; without a package among them, all packages are meant. What could not be tested here is
/// said at the end.
pub(crate) fn test(arguments: &[String]) -> Result<(), Failure> {
    let untested = Untested::new()?;
    let tested = test_collecting(arguments, &untested);
    untested.tell();
    tested
}

fn test_collecting(arguments: &[String], untested: &Untested) -> Result<(), Failure> {
    let library = native::prepare()?;
    let models = conformance::prepare()?;
    let (variable, plugin) = plugin::prepare()?;
    let with_environment = |mut command: Command| {
        command.envs(native::environment(library.clone()));
        command.env("MILLSTREAM_NETWORKS", &models.networks).env(variable, &plugin);
        command
    };

    let tests = || {
        let mut tests = with_environment(cargo());
        untested.collect_from(tests.args(["test", "--release"]).args(all_packages(arguments)).args(arguments));
        tests
    };
    // Arguments ask for some of the tests only.
    if !arguments.is_empty() {
        return run(&mut tests());
    }
    // Together with the tests, the library for C takes half a minute; by itself, which its tests fall back on, nearly
    // everything is compiled with other features.
    let mut build = with_environment(cargo());
    run(build.args(["build", "--release", "--workspace", "--lib", "--tests", "--examples"]))?;
    run_tests(tests)?;
    light::test()?;
    certificates::certificates(&certificates::FEW.map(str::to_owned))?;
    soak::soak(&[])?;
    chaos::chaos(&[])?;
    outside::outside()?;
    conformance::conformance(&[])?;
    conformance::with_openvino(conformance::SOME)
}

/// The integration tests in two parts, by their names: the second one takes about as long as the first together with
/// all other tests.
const HALVES: [&str; 2] = ["[a-m]*", "[!a-m]*"];

/// Runs all tests in two streams: many wait for much, and a core is idle then. All that fails is wanted from one run of
/// so many minutes, not the first of it.
fn run_tests(tests: impl Fn() -> Command) -> Result<(), Failure> {
    let of_kind = |kinds: &[&str]| {
        let mut tests = tests();
        tests.args(kinds).arg("--no-fail-fast").env("MILLSTREAM_C_LIBRARY", target_folder().join("release"));
        tests
    };
    let [mut first, other] = HALVES.map(|half| of_kind(&["--test", half]));
    let mut beside = [other, of_kind(&["--lib", "--bins"]), of_kind(&["--doc"])];
    run_both(&mut first, &mut beside, &target_folder().join("millstream/tests-beside.txt"))
}

/// What says that all packages are meant, unless arguments name some: beside it cargo would not look at these.
fn all_packages(arguments: &[String]) -> Option<&'static str> {
    let options = arguments.iter().take_while(|own| *own != "--");
    let names_one = |own: &String| own.starts_with("-p") || own.starts_with("--package");
    if options.into_iter().any(names_one) { None } else { Some("--workspace") }
}

/// Formatting, lints, documentation, licences, and the documents that must follow the code; with `--pages` only what
/// needs no compiler.
pub(crate) fn lint(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => compiled().and_then(|()| as_written()),
        [only] if only == "--pages" => as_written(),
        [other, ..] => Err(Failure(format!("'{other}' is no argument of: cargo xtask lint [--pages]"))),
    }
}

/// What the compiler and its tools find.
fn compiled() -> Result<(), Failure> {
    native::prepare()?;
    run(cargo().args(["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--release", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    run(cargo().args(clippy))?;
    light::lint()?;
    chaos::lint()?;
    let doc = ["doc", "--release", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
    run(cargo().args(doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    tools::deny()?;
    dependencies::check()
}

/// What pages and sources say, and how they are made.
fn as_written() -> Result<(), Failure> {
    readmes::check()?;
    exhaustive::check()?;
    book::check()?;
    arrows::check()?;
    claims::check()?;
    pointers::check()?;
    lengths::check()?;
    heads::check()?;
    imports::check()?;
    names::check()?;
    variants::check()?;
    circles::check()
}

/// The benchmarks of all crates that have any, or of one; or what some of them take is recorded.
pub(crate) fn bench(arguments: &[String]) -> Result<(), Failure> {
    if let [first, crates @ ..] = arguments
        && first == "--record"
    {
        return bench_record::record(crates);
    }
    native::prepare()?;
    let mut command = cargo();
    command.arg("bench");
    match arguments.first() {
        Some(name) => command.arg("--package").arg(package(name)).args(&arguments[1..]),
        None => {
            let crates = with_benchmarks()?;
            command.args(crates.iter().flat_map(|name| ["--package", name.as_str()]))
        }
    };
    run(&mut command)
}

/// The packages that have a folder of benchmarks.
fn with_benchmarks() -> Result<Vec<String>, Failure> {
    let has_benchmarks = |name: &String| root().join("crates").join(name).join("benches").is_dir();
    Ok(crates()?.iter().filter(|name| has_benchmarks(name)).map(|name| package(name)).collect())
}

/// Accepts snapshots and schemas as they are now; look at the difference before committing it.
pub(crate) fn snapshots() -> Result<(), Failure> {
    let library = native::prepare()?;
    let build = ["run", "--release", "--quiet", "--package", "millstream", "--", "schemas", "fixtures/schemas"];
    run(cargo().args(build))?;
    let test = ["test", "--release", "--workspace"];
    run(cargo().args(test).env("INSTA_UPDATE", "always").envs(native::environment(library)))
}

#[cfg(test)]
mod tests {
    use super::all_packages;

    #[test]
    fn tests_of_a_package_are_not_those_of_all() {
        let all = |arguments: &[&str]| all_packages(&arguments.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>());
        assert_eq!(all(&[]), Some("--workspace"));
        assert_eq!(all(&["--test", "memory", "--", "-p"]), Some("--workspace"));
        for package in [&["-p", "millstream-sim"][..], &["--package=millstream-sim"], &["-pmillstream-sim"]] {
            assert_eq!(all(package), None);
        }
    }
}
